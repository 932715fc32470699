package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/capture/fakecf"
)

// as sends a request with the token of the API and does not follow redirects.
func (w *world) as(token, path string) int {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://"+w.http+path, http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// TestPagesOpenWithTheToken asks for every page and resource as a reader would.
func TestPagesOpenWithTheToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t).serve()
	w.publish(own(roomObject, time.Now()))
	w.await("the flamegraph is in the thread", func() bool { return len(w.pictures()) == 1 })
	_, rest, _ := strings.Cut(w.get("/api/v1/incidents"), `"id":"`)
	incident, _, _ := strings.Cut(rest, `"`)
	one := incident + "-1"
	for path, status := range map[string]int{
		"/": 200, "/incidents": 200, "/incidents/" + incident: 200, "/objects": 200, "/captures/" + one: 200, "/captures/" + one + "/pprof/flamegraph": 200,
		"/api/v1/incidents": 200, "/api/v1/incidents/" + incident: 200, "/api/v1/captures": 200, "/api/v1/captures/" + one: 200,
		"/api/v1/captures/" + one + "/profile": 200, "/api/v1/objects": 200, "/api/v1/decisions": 200,
		"/incidents/none": 404, "/captures/none": 404, "/api/v1/incidents/none": 404, "/api/v1/captures/none/profile": 404,
	} {
		if got := w.as("api-secret-token", path); got != status {
			t.Errorf("%s: got %d, want %d", path, got, status)
		}
		for _, token := range []string{"", "wrong", "ingest-secret-token"} {
			if got := w.as(token, path); got != http.StatusUnauthorized {
				t.Errorf("%s with token %q: got %d, want 401", path, token, got)
			}
		}
	}
}

// TestAWorkerMadeJustNowIsKnown: the list of Workers that names are held
// against is kept for minutes, and a new Worker is captured all the same.
func TestAWorkerMadeJustNowIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world) { delete(w.env, "SLACK_APP_TOKEN") }).serve()
	w.slack.RequestURL = "http://" + w.http
	ask := func(line string) {
		t.Helper()
		if _, err := w.slack.Slash(t.Context(), fakeslack.Ana, fakeslack.Incidents, line); err != nil {
			t.Fatal(err)
		}
	}
	ask("/profile cpu new-one 2s")
	w.await("it is not known", func() bool { return strings.Contains(w.slack.Transcript(), "I don't know a Worker named `new-one`") })
	w.cf.AddWorker(fakecf.Worker{Name: "new-one", Versions: []fakecf.Version{{ID: callerVersion, Percent: 100, Created: time.Now()}}})
	w.await("it is captured", func() bool {
		ask("/profile cpu new-one 2s") // the list may be a second old
		return len(w.taken()) > 0
	})
	if c := w.taken()[0]; c.Script != "new-one" || c.Version != callerVersion {
		t.Errorf("asked for %+v", c)
	}
}

// TestTheKillSwitch: with capture.enabled false neither an event nor a person
// starts a capture, both are told why, and a reload lets what waited start.
func TestTheKillSwitch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world) { delete(w.env, "SLACK_APP_TOKEN") })
	file := filepath.Join(w.dir, "snapflame.yaml")
	write := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("capture: {enabled: false}\n")
	w.serve()
	w.slack.RequestURL = "http://" + w.http
	w.publish(own(roomObject, time.Now()))
	w.await("the thread says that captures are off", func() bool {
		return len(w.roots()) == 1 && strings.Contains(w.roots()[0].Plain(), "captures are paused or switched off")
	})
	for _, line := range []string{"/profile cpu edge", "/profile resume"} {
		before := strings.Count(w.slack.Transcript(), "capture.enabled: true")
		if _, err := w.slack.Slash(t.Context(), fakeslack.Ana, fakeslack.Incidents, line); err != nil {
			t.Fatal(err)
		}
		w.await(line+" is told why", func() bool { return strings.Count(w.slack.Transcript(), "capture.enabled: true") > before })
	}
	if c := w.cf.Captures(); len(c) != 0 {
		t.Fatalf("captured although switched off: %+v", c)
	}
	write("capture: {enabled: true}\n")
	w.hangup()
	w.await("what waited is captured", func() bool { return len(w.pictures()) == 1 })
}
