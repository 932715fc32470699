package main

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/capture/fakecf"
)

// expressions are all PromQL of the dashboard and the alerts, by where it stands.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	files := deployed(t)
	var board struct {
		Panels []struct {
			Title       string
			Description string
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(files["monitoring/dashboard.json"]), &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for i, target := range p.Targets {
			out["panel "+p.Title+string(rune('A'+i))] = target.Expr
			if p.Description == "" {
				t.Errorf("panel %s does not say what it shows", p.Title)
			}
		}
	}
	var alerts struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Expr        string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(files["monitoring/alerts.yaml"]), &alerts); err != nil {
		t.Fatal(err)
	}
	for _, g := range alerts.Groups {
		for _, r := range g.Rules {
			out["alert "+r.Alert] = r.Expr
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("alert %s does not say what to do", r.Alert)
			}
			if !strings.Contains(files["monitoring/alerts_test.yaml"], r.Alert) && r.Alert == "SnapflameDown" {
				t.Errorf("alert %s has no test", r.Alert)
			}
		}
	}
	if len(out) < 25 {
		t.Fatalf("only %d expressions found", len(out))
	}
	return out
}

var (
	metricName = regexp.MustCompile(`\b(?:snapflame|process|go)_[a-z0-9_]+\b`)
	selector   = regexp.MustCompile(`\b((?:snapflame|process|go)_[a-z0-9_]+)\{([^}]*)\}`)
	matcher    = regexp.MustCompile(`(\w+)\s*(?:=~|!=|!~|=)\s*"`)
	grouping   = regexp.MustCompile(`by \(([^)]*)\)`)
	quoted     = regexp.MustCompile(`"[^"]*"`)
	sample     = regexp.MustCompile(`(?m)^([a-z0-9_]+)(?:\{([^}]*)\})? `)
)

// Every metric and label of the dashboard and the alerts is one that a service
// shows that has done, and failed to do, each kind of work.
func TestMonitoringNamesMetricsThatExist(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world) { delete(w.env, "SLACK_APP_TOKEN") })
	w.cf.NextFaults(fakecf.Fault{Status: http.StatusTooManyRequests, RetryAfter: "1"})
	w.serve()
	w.slack.RequestURL = "http://" + w.http
	w.publish(own(roomObject, time.Now()), []byte("{"))
	w.post(own(roomObject, time.Now()))
	if _, err := w.slack.Slash(t.Context(), fakeslack.Ana, fakeslack.Incidents, "/profile status"); err != nil {
		t.Fatal(err)
	}
	var shown string
	w.await("every counter has counted", func() bool {
		shown = w.get("/metrics")
		for _, name := range []string{
			"snapflame_dead_letters_total{", "snapflame_captures_total{", "snapflame_capture_waits_total{", "snapflame_slack_messages_total{",
			"snapflame_slack_requests_total{", "snapflame_ingest_requests_total{", "snapflame_events_total{", "snapflame_stage_seconds_bucket{",
		} {
			if !strings.Contains(shown, name) {
				return false
			}
		}
		return len(w.pictures()) == 1
	})
	labels := map[string]map[string]bool{}
	for _, m := range sample.FindAllStringSubmatch(shown, -1) {
		if labels[m[1]] == nil {
			labels[m[1]] = map[string]bool{"job": true, "instance": true} // Prometheus adds these
		}
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			labels[m[1]][l[1]] = true
		}
	}
	for where, expr := range expressions(t) {
		plain := quoted.ReplaceAllString(expr, `""`)
		names := metricName.FindAllString(plain, -1)
		known := map[string]bool{}
		for _, n := range names {
			if labels[n] == nil {
				t.Errorf("%s: no metric is called %s", where, n)
			}
			for l := range labels[n] {
				known[l] = true
			}
		}
		for _, m := range selector.FindAllStringSubmatch(plain, -1) {
			for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
				if !labels[m[1]][l[1]] {
					t.Errorf("%s: %s has no label %s", where, m[1], l[1])
				}
			}
		}
		for _, g := range grouping.FindAllStringSubmatch(plain, -1) {
			for l := range strings.SplitSeq(g[1], ",") {
				if len(names) > 0 && !known[strings.TrimSpace(l)] {
					t.Errorf("%s: sums by %s, which %v has not", where, l, names)
				}
			}
		}
	}
	// And the other way round: what the program shows of itself is on the board.
	board := deployed(t)["monitoring/dashboard.json"]
	for name := range labels {
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		if strings.HasPrefix(name, "snapflame_") && !strings.Contains(board, base) {
			t.Errorf("%s is on no panel", name)
		}
	}
}

// Where Prometheus is installed, it reads the rules and runs their tests.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed")
	}
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		c := exec.Command(promtool, args...)
		c.Dir = filepath.Join(top, "deploy/monitoring")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
