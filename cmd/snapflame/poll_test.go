package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/capture/fakecf"
)

const pollPath = "/observability/telemetry/query"

// logRecord puts an overload of an object's own record into Workers Logs.
func logRecord(w *world, id, object string) {
	w.t.Helper()
	text := "Durable Object is overloaded. Too many requests queued."
	b, err := json.Marshal(map[string]any{
		"timestamp": time.Now().UnixMilli(), "dataset": "cloudflare-workers", "source": map[string]any{"level": "error", "message": text},
		"$metadata": map[string]any{"id": id, "requestId": id, "service": "room-api", "type": "cf-worker-event", "level": "error", "error": text, "message": "put", "trigger": "put"},
		"$workers": map[string]any{
			"eventType": "jsrpc", "scriptName": "room-api", "entrypoint": "Room", "executionModel": "durableObject", "durableObjectId": object, "outcome": "exception",
			"cpuTimeMs": 812, "wallTimeMs": 30011, "requestId": id, "scriptVersion": map[string]any{"id": roomVersion}, "event": map[string]any{"rpcMethod": "put"},
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.cf.Log(b, time.Time{}); err != nil {
		w.t.Fatal(err)
	}
}

// polls counts the queries of Workers Logs.
func (w *world) polls() (n int) {
	for _, r := range w.cf.Requests() {
		if strings.HasSuffix(r.Path, pollPath) && r.Status == 200 {
			n++
		}
	}
	return n
}

// stored is how many messages the events queue has taken.
func (w *world) stored() uint64 {
	w.t.Helper()
	js, done := w.queue()
	defer done()
	s, err := js.Stream(w.t.Context(), "WORKERS_EVENTS")
	if err != nil {
		w.t.Fatal(err)
	}
	return s.CachedInfo().State.LastSeq
}

// TestPollingNeedsNoTailWorker lets nobody send anything: the record of Workers
// Logs becomes a thread, once, whatever is killed meanwhile.
func TestPollingNeedsNoTailWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["SNAPFLAME_CLOUDFLARE_POLL"] = "5s"
	logRecord(w, "01JDX4Q7ZC6M5N0K1T8W2R3Y4A", roomObject)
	w.serve()
	w.await("the flamegraph is in the thread", func() bool { return len(w.pictures()) == 1 })
	root := w.roots()[0].Plain()
	for _, want := range []string{"overloaded", "room-api", roomObject[:8], "Durable Object is overloaded. Too many requests queued."} {
		if !strings.Contains(root, want) {
			t.Errorf("the root does not say %q:\n%s", want, root)
		}
	}
	if c := w.cf.Captures(); len(c) != 1 || c[0].Actor != roomObject || c[0].Version != roomVersion {
		t.Errorf("captures: %+v", c)
	}

	w.kill()
	other := strings.Repeat("b", 64)
	w.cf.AddObject(fakecf.Object{ID: other, Namespace: roomNamespace, Version: roomVersion})
	logRecord(w, "01JDX4Q7ZC6M5N0K1T8W2R3Y4B", other)
	before := w.polls()
	w.serve()
	w.await("what happened meanwhile has its thread", func() bool { return len(w.roots()) == 2 })
	w.await("it was polled again", func() bool { return w.polls() >= before+2 })
	if n := w.stored(); n != 2 {
		t.Errorf("the queue took %d messages of two records", n)
	}
	if w.metricOf("snapflame_polled_events_total", `result="known"`) == 0 {
		t.Error("no window overlapped the one before")
	}
	if !strings.Contains(w.get("/readyz"), "polling: ok") {
		t.Errorf("readyz: %s", w.get("/readyz"))
	}
	if strings.Contains(w.logs.String(), w.cf.Token) {
		t.Error("the log holds the token")
	}
}

// TestOneReplicaPolls kills the one of two that does.
func TestOneReplicaPolls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.external()
	w.env["SNAPFLAME_CLOUDFLARE_POLL"] = "5s"
	logRecord(w, "01JDX4Q7ZC6M5N0K1T8W2R3Y4A", roomObject)
	w.serve()
	w.await("the first polls", func() bool { return len(w.roots()) == 1 })
	r := w.replica().serve()
	before, began := w.polls(), time.Now()
	w.await("it polls on", func() bool { return w.polls() >= before+2 })
	if n, most := w.polls()-before, int(time.Since(began)/(5*time.Second))+2; n > most || strings.Contains(r.logs.String(), "polling Workers Logs") {
		t.Errorf("%d polls while there was time for %d by one replica:\n%s", n, most, r.logs.tail())
	}
	w.kill()
	other := strings.Repeat("b", 64)
	w.cf.AddObject(fakecf.Object{ID: other, Namespace: roomNamespace, Version: roomVersion})
	logRecord(w, "01JDX4Q7ZC6M5N0K1T8W2R3Y4B", other)
	r.await("the other goes on", func() bool { return len(r.roots()) == 2 })
	if n := r.stored(); n != 2 {
		t.Errorf("the queue took %d messages of two records", n)
	}
}

func TestPollingSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["SNAPFLAME_CLOUDFLARE_POLL"] = "5s"
	w.cf.NoLogs = true
	w.serve()
	w.await("readyz names the permission", func() bool { return strings.Contains(w.get("/readyz"), "Workers Observability Read") })
	w.publish(own(roomObject, time.Now()))
	w.await("events that are sent are handled all the same", func() bool { return len(w.roots()) == 1 })
}
