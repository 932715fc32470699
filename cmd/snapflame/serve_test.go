package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/capture/fakecf"
)

func TestServeTurnsAnEventIntoAThread(t *testing.T) {
	t.Parallel()
	w := newWorld(t).serve()
	w.publish(own(roomObject, time.Now()))
	w.await("the flamegraph is in the thread", func() bool { return len(w.pictures()) == 1 })
	captures := w.cf.Captures()
	if len(captures) != 1 {
		t.Fatalf("%d captures, want 1: %+v", len(captures), captures)
	}
	c := captures[0]
	if c.Worker != "room-api" || c.Version != roomVersion || c.Namespace != roomNamespace || c.Actor != roomObject || c.Type != "cpu" || c.Duration != 10*time.Second {
		t.Errorf("asked for %+v", c)
	}
	root := w.roots()[0]
	for _, want := range []string{"overloaded", "room-api", "3fa1c07d", "Durable Object is overloaded. Too many requests queued.", "likely", "ensureSchema"} {
		if !strings.Contains(root.Plain(), want) {
			t.Errorf("the root does not say %q:\n%s", want, root.Plain())
		}
	}
	if v := w.slack.Violations(); len(v) > 0 {
		t.Errorf("violations: %v", v)
	}
	if list := w.get("/api/v1/incidents"); !strings.Contains(list, `"incidents":[{"id":"`) {
		t.Errorf("incidents: %s", list)
	}
	if err := w.stop(); err != nil {
		t.Errorf("SIGTERM: %v\n%s", err, w.logs.tail())
	}
	for _, secret := range []string{"cf-secret-token", fakeslack.BotToken, fakeslack.AppToken, fakeslack.SigningSecret, "ingest-secret-token", "api-secret-token"} {
		if strings.Contains(w.logs.String(), secret) {
			t.Errorf("the log holds the secret %.6s…", secret)
		}
	}
}

// TestExportAndImport moves a capture to another installation.
func TestExportAndImport(t *testing.T) {
	t.Parallel()
	w := newWorld(t).serve()
	w.publish(own(roomObject, time.Now()))
	w.await("the flamegraph is in the thread", func() bool { return len(w.pictures()) == 1 })
	var list struct{ Captures []struct{ ID string } }
	if err := json.Unmarshal([]byte(w.get("/api/v1/captures")), &list); err != nil || len(list.Captures) != 1 {
		t.Fatalf("%v %+v", err, list)
	}
	id := list.Captures[0].ID
	file := w.get("/api/v1/captures/" + id + "/export")
	other := newWorld(t).serve()
	for _, want := range []int{http.StatusCreated, http.StatusConflict} {
		if status := other.store("/api/v1/captures/import", file); status != want {
			t.Errorf("import: got %d, want %d", status, want)
		}
	}
	if rep := other.get("/api/v1/captures/" + id + "/report"); !strings.Contains(rep, "ensureSchema") {
		t.Errorf("the report of the imported capture: %.200s", rep)
	}
}

func TestTheSameEventTenThousandTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t).serve()
	e := own(roomObject, time.Now())
	w.publish(slices.Repeat([][]byte{e}, 10_000)...)
	w.await("all events are counted", func() bool { return w.metric("snapflame_events_total") == 10_000 })
	w.await("the flamegraph is in the thread", func() bool { return len(w.pictures()) == 1 })
	w.await("the root has the count", func() bool { return strings.Contains(w.roots()[0].Plain(), "10,000") })
	if n, m := len(w.roots()), len(w.cf.Captures()); n != 1 || m != 1 {
		t.Errorf("%d threads and %d captures, want one of each", n, m)
	}
}

func TestMalformedMessagesNeverStallTheQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t).serve()
	w.publish([]byte("not json"), []byte(`{"unknown":"shape"}`), []byte{0, 0xff}, bytes.Repeat([]byte("["), 100_000), []byte("7"), own(roomObject, time.Now()))
	w.await("the good event has its thread", func() bool { return len(w.roots()) == 1 })
	w.await("the bad ones are dead letters", func() bool {
		return strings.Count(w.get("/api/v1/dead-letters"), `"reason"`) >= 5
	})
}

// TestHostileNamesAreInert lets a Worker, a class and a function carry what
// would be a mention, a link or markup.
func TestHostileNamesAreInert(t *testing.T) {
	t.Parallel()
	w := newWorld(t).serve()
	name := "<!channel> a&b<script>alert(1)</script> <https://evil.example|x> *b* `c`"
	w.publish(event(map[string]any{
		"scriptName": name, "executionModel": "stateless", "outcome": "exception", "eventTimestamp": time.Now().UnixMilli(),
		"exceptions": []any{map[string]any{"name": "Error", "message": "Durable Object is overloaded. Too many requests queued.", "stack": name, "timestamp": time.Now().UnixMilli()}},
	}))
	w.await("the thread is there", func() bool { return len(w.roots()) == 1 })
	if v := w.slack.Violations(); len(v) > 0 {
		t.Errorf("violations: %v", v)
	}
	if !strings.Contains(w.roots()[0].Plain(), "<!channel>") {
		t.Errorf("the name is lost: %s", w.roots()[0].Plain())
	}
	if page := w.get("/incidents"); strings.Contains(page, "<script>alert") {
		t.Errorf("the page runs the name")
	}
}

// TestKilledWhileACaptureRuns: the answer died with the process; it is asked
// for again once, after start + duration + spacing, and the thread says so.
func TestKilledWhileACaptureRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world) { w.cf.Speed = 5 })
	// A root that was sent while its answer died is found again by its metadata.
	w.slack.SetScopes(append(fakeslack.DefaultScopes(), "channels:history")...)
	w.serve()
	w.publish(own(roomObject, time.Now()))
	w.await("the capture runs", func() bool { return len(w.cf.Captures()) == 1 })
	w.await("the root is posted", func() bool { return len(w.roots()) == 1 })
	w.kill()
	w.serve()
	w.await("the flamegraph is in the thread", func() bool { return len(w.pictures()) == 1 })
	captures := w.cf.Captures()
	if len(captures) != 2 || len(w.roots()) != 1 {
		t.Fatalf("%d captures and %d threads, want 2 and 1", len(captures), len(w.roots()))
	}
	if gap := captures[1].Asked.Sub(captures[0].Asked); gap < 11*time.Second {
		t.Errorf("asked again after %s, want at least its duration and the spacing", gap)
	}
	if !strings.Contains(w.slack.Transcript(), "again") {
		t.Errorf("the thread does not say that it was asked again:\n%s", w.slack.Transcript())
	}
}

// TestRetentionDeletesEverythingOfACapture: profile, picture and page.
func TestRetentionDeletesEverythingOfACapture(t *testing.T) {
	t.Parallel()
	other := strings.Repeat("4", 64)
	w := newWorld(t)
	w.cf.AddObject(fakecf.Object{ID: other, Namespace: roomNamespace, Version: roomVersion})
	w.serve()
	w.publish(own(roomObject, time.Now()))
	w.publish(own(other, time.Now()))
	w.await("both flamegraphs are there", func() bool { return len(w.pictures()) == 2 })
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	w.env["SNAPFLAME_RETENTION_COUNT"] = "1"
	w.serve()
	js, done := w.queue()
	defer done()
	store, err := js.ObjectStore(t.Context(), "snapflame_captures")
	if err != nil {
		t.Fatal(err)
	}
	w.await("the files of one capture are left", func() bool {
		list, err := store.List(t.Context())
		return err == nil && len(list) == 3
	})
}

func TestSlackAndCloudflareDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.slack.Outage(true)
	w.serve()
	w.publish(own(roomObject, time.Now()))
	w.await("the capture is taken although Slack is down", func() bool { return len(w.taken()) == 1 })
	if !w.ready() {
		t.Error("the service is not ready although it takes events")
	}
	w.slack.Outage(false)
	w.await("everything arrives afterwards", func() bool { return len(w.roots()) == 1 && len(w.pictures()) == 1 })
}

func TestSlashCommandOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world) { delete(w.env, "SLACK_APP_TOKEN") }).serve()
	w.slack.RequestURL = "http://" + w.http
	ack, err := w.slack.Slash(t.Context(), fakeslack.Ana, fakeslack.Incidents, "/profile cpu room-api 2s")
	if err != nil || ack.Status != http.StatusOK {
		t.Fatalf("%v %+v", err, ack)
	}
	w.await("the flamegraph is there", func() bool { return len(w.pictures()) >= 1 })
	if c := w.cf.Captures()[0]; c.Worker != "room-api" || c.Duration != 2*time.Second || c.Actor != "" {
		t.Errorf("asked for %+v", c)
	}
}

func TestReloadKeepsTheOldConfigurationWhenTheNewIsBad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	file := filepath.Join(w.dir, "snapflame.yaml")
	write := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("rules: []\n")
	w.serve()
	write("rules: [{name: x, match: {class: nonsense}}]\n")
	w.hangup()
	w.await("the bad file is refused", func() bool { return strings.Contains(w.logs.String(), "the old one stays") })
	write("rules: [{name: nothing, match: {class: overloaded}, ignore: true}]\n")
	w.hangup()
	w.await("the good file is taken", func() bool { return strings.Contains(w.logs.String(), "configuration reloaded") })
	w.publish(own(roomObject, time.Now()))
	w.await("the new rule ignores it", func() bool {
		return w.metricOf("snapflame_events_total", `decision="ignore"`) == 1
	})
	if n := len(w.roots()); n != 0 {
		t.Errorf("%d threads", n)
	}
}

// metric sums a counter over its labels.
func (w *world) metric(name string) float64 { return w.metricOf(name, "") }

func (w *world) metricOf(name, label string) float64 {
	var sum float64
	for line := range strings.Lines(w.get("/metrics")) {
		if strings.HasPrefix(line, name+"{") && strings.Contains(line, label) {
			var v float64
			if _, err := fmt.Sscan(line[strings.LastIndex(line, " ")+1:], &v); err == nil {
				sum += v
			}
		}
	}
	return sum
}

// Without a Socket Mode connection nothing that people type arrives, although
// messages may go out: /readyz says so on every replica, and when it is over.
func TestServeSaysThatNobodyIsHeard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.slack.Fail("apps.connections.open", -1, fakeslack.Fault{Error: "invalid_auth"})
	w.serve()
	says := func(text string) func() bool {
		return func() bool { _, got := w.readyz(); return strings.Contains(got, text) }
	}
	w.await("/readyz says that there is no connection", says("slack: no Socket Mode connection: "))
	w.await("so does the log", func() bool { return strings.Contains(w.logs.String(), "no socket mode connection") })
	w.slack.Heal()
	w.await("/readyz says that all is well", says("slack: ok"))
}
