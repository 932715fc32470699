package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/capture/fakecf"
	"github.com/snapflame/snapflame/capture/inspector"
)

const (
	meterVersion   = "5d2e9c11-77ab-4c1e-9f05-3b8a6d9e1c44"
	meterNamespace = "a1b2c3d4e5f60718293a4b5c6d7e8f90"
	overloadText   = "Durable Object is overloaded. Requests queued for too long."
)

// meterAccount puts what runs in workerd into the account. The profile of a
// capture is taken from the isolate that it names, at the time it is asked for.
func meterAccount(w *world, debug, object string) {
	w.t.Helper()
	old := time.Now().Add(-time.Hour)
	w.cf.AddWorker(fakecf.Worker{Name: "meter", Versions: []fakecf.Version{{ID: meterVersion, Percent: 100, Created: old}}})
	w.cf.AddNamespace(fakecf.Namespace{ID: meterNamespace, Name: "meter_Meter", Class: "Meter", Script: "meter"})
	w.cf.AddObject(fakecf.Object{ID: object, Namespace: meterNamespace, Version: meterVersion})
	local, err := inspector.New(inspector.Options{URL: debug})
	if err != nil {
		w.t.Fatal(err)
	}
	w.cf.Speed = 1000 // the inspector takes the time
	w.cf.Bytes = func(c fakecf.Capture) []byte {
		data, err := local.Profile(w.t.Context(), capture.Request{Type: capture.Type(c.Type), Duration: c.Duration, Target: capture.Target{Script: c.Script}})
		if err != nil {
			w.t.Errorf("capture of %s by the inspector: %v", c.Script, err)
		}
		return data
	}
	w.env["SNAPFLAME_CAPTURE_DURATION"] = "3s"
}

// TestFromAWorkerToTheGuiltyFunction has nothing simulated but Slack and the
// address of Cloudflare's API: a Durable Object in the real runtime sets its
// schema up again on every request, its caller finds it overloaded, the Tail
// Worker says so, and the thread names the function.
func TestFromAWorkerToTheGuiltyFunction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newWorkerd(t, "SNAPFLAME_URL=http://"+w.http, "SNAPFLAME_TOKEN=ingest-secret-token")
	_, object := d.get("/id?id=tenant-1")
	meterAccount(w, d.debug, object)
	w.serve()
	defer d.load("/schema?id=tenant-1")()
	defer d.load("/work?id=tenant-2")()
	for range 20 {
		if status, _ := d.get("/overload?id=tenant-1"); status != http.StatusServiceUnavailable {
			t.Fatalf("the app answers %d, want 503", status)
		}
	}
	w.await("the flamegraph is in the thread", func() bool { return len(w.pictures()) == 1 })
	// Another wave joins the incident.
	d.get("/overload?id=tenant-1")
	w.await("all overloads are in the incident", func() bool { return w.metricOf("snapflame_events_total", `class="overloaded"`) >= 21 })
	w.await("healthy objects have sent their load", func() bool { return w.metricOf("snapflame_events_total", `class="none"`) > 0 })

	if n := len(w.roots()); n != 1 {
		t.Fatalf("%d threads, want 1\n%s", n, w.slack.Transcript())
	}
	root := w.roots()[0].Plain()
	for _, want := range []string{"overloaded", "meter", "Meter", object[:8], overloadText, "ensureSchema"} {
		if !strings.Contains(root, want) {
			t.Errorf("the root does not say %q:\n%s", want, root)
		}
	}
	captures := w.cf.Captures()
	if len(captures) != 1 {
		t.Fatalf("%d captures, want 1: %+v", len(captures), captures)
	}
	if c := captures[0]; c.Script != "meter" || c.Version != meterVersion || c.Namespace != meterNamespace || c.Actor != object || c.Type != "cpu" || c.Duration != 3*time.Second {
		t.Errorf("asked for %+v", c)
	}
	guilty(t, w)
	if !strings.Contains(w.get("/metrics"), "\nsnapflame_tail_dropped_total 0\n") {
		t.Error("the Tail Worker has dropped something")
	}
	if v := w.slack.Violations(); len(v) > 0 {
		t.Errorf("violations: %v", v)
	}
}

// guilty checks the report of the only capture as a script would read it.
func guilty(t *testing.T, w *world) {
	t.Helper()
	var list struct {
		Captures []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(w.get("/api/v1/captures")), &list); err != nil || len(list.Captures) != 1 {
		t.Fatalf("%v: %s", err, w.get("/api/v1/captures"))
	}
	var report struct {
		Type      string
		BusyNS    int64 `json:"busy_ns"`
		Functions []struct {
			Name, File string
			Line       int
			SelfShare  float64 `json:"self_share"`
		}
	}
	text := w.get("/api/v1/captures/" + list.Captures[0].ID + "/report")
	if err := json.Unmarshal([]byte(text), &report); err != nil || len(report.Functions) == 0 {
		t.Fatalf("%v: %s", err, text)
	}
	top := report.Functions[0]
	if report.Type != "cpu" || report.BusyNS <= 0 || top.Name != "ensureSchema" || !strings.HasSuffix(top.File, "app.js") || top.Line == 0 || top.SelfShare < 0.4 {
		t.Errorf("the report's first function is %+v of %d ns busy, want ensureSchema in app.js with most of it", top, report.BusyNS)
	}
}

// TestWhatTailWorkersDropIsCounted posts as a Tail Worker does after an outage.
func TestWhatTailWorkersDropIsCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t).serve()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+w.http+"/ingest/events", bytes.NewReader(own(roomObject, time.Now())))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer ingest-secret-token")
	r.Header.Set("X-Snapflame-Dropped", "7")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted || !strings.Contains(w.get("/metrics"), "\nsnapflame_tail_dropped_total 7\n") {
		t.Errorf("status %s; 7 dropped events are not counted", resp.Status)
	}
}

// TestTailWorkerOverNATS lets the Tail Worker publish straight to a NATS server
// over WebSocket, where serve finds the events.
func TestTailWorkerOverNATS(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client, ws := startNATS(t)
	w.env["NATS_URL"] = client
	d := newWorkerd(t, "NATS_WS_URL="+ws, "NATS_TOKEN=nats-secret-token")
	_, object := d.get("/id?id=tenant-1")
	meterAccount(w, d.debug, object)
	w.env["SNAPFLAME_CAPTURE_ENABLED"] = "false" // the events' way is tested here
	w.serve()
	d.get("/overload?id=tenant-1")
	w.await("the thread is there", func() bool { return len(w.roots()) == 1 })
	if root := w.roots()[0].Plain(); !strings.Contains(root, object[:8]) || !strings.Contains(root, overloadText) {
		t.Errorf("the root does not say which object:\n%s", root)
	}
	for range 30 {
		d.get("/work?id=tenant-2")
	}
	w.await("load arrives as well", func() bool { return w.metricOf("snapflame_events_total", `class="none"`) > 0 })
}

// startNATS is a server of its own with JetStream, a token, and a WebSocket port.
func startNATS(t *testing.T) (client, ws string) {
	t.Helper()
	o := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, Authorization: "nats-secret-token",
		Websocket: server.WebsocketOpts{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoTLS: true},
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("nats-server does not start")
	}
	return "nats://nats-secret-token@" + s.Addr().String(), s.WebsocketURL()
}
