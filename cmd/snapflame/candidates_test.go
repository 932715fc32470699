package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/capture/fakecf"
)

const lobbyNamespace = "1a2b3c4d5e6f708192a3b4c5d6e7f809"

// boundWorld has a caller (edge) that binds Room of room-api and not Lobby of
// lobby-api, and objects in both.
func boundWorld(t *testing.T) *world {
	w := newWorld(t)
	old := time.Now().Add(-24 * time.Hour)
	w.cf.AddWorker(fakecf.Worker{Name: "edge", Versions: []fakecf.Version{{ID: callerVersion, Percent: 100, Created: old, Bindings: []fakecf.Binding{
		{Type: "durable_object_namespace", Name: "ROOM", NamespaceID: roomNamespace, Class: "Room", Script: "room-api"},
	}}}})
	w.cf.AddWorker(fakecf.Worker{Name: "lobby-api", Versions: []fakecf.Version{{ID: roomVersion, Percent: 100, Created: old}}})
	w.cf.AddNamespace(fakecf.Namespace{ID: lobbyNamespace, Name: "lobby-api_Lobby", Class: "Lobby", Script: "lobby-api"})
	for n := range 40 {
		w.cf.AddObject(fakecf.Object{ID: numbered(n), Namespace: []string{roomNamespace, lobbyNamespace}[n%2], Version: roomVersion})
	}
	return w
}

func numbered(n int) string { return fmt.Sprintf("%02x%062x", 0xa0+n, n) }

// load posts what a Tail Worker sums up of a span of time: 20 objects of each
// namespace, of which those in hot use a thread.
func load(w *world, span time.Duration, hot ...int) {
	w.t.Helper()
	now := time.Now()
	var lines []map[string]any
	for n := range 40 {
		cpu := 0.004 * float64(span.Milliseconds()) * float64(1+n/4)
		if slices.Contains(hot, n) {
			cpu = float64(span.Milliseconds())
		}
		lines = append(lines, map[string]any{
			"snapflame": "load", "scriptName": []string{"room-api", "lobby-api"}[n%2], "scriptVersion": roomVersion, "entrypoint": []string{"Room", "Lobby"}[n%2],
			"durableObjectId": numbered(n), "cpuMs": cpu, "wallMs": 2 * cpu, "count": 10, "errors": 0, "from": now.Add(-span).UnixMilli(), "to": now.UnixMilli(),
		})
	}
	body, err := json.Marshal(lines)
	if err != nil {
		w.t.Fatal(err)
	}
	if status, text := w.post(body); status != http.StatusAccepted {
		w.t.Fatalf("ingest: %d %s", status, text)
	}
}

// called is a caller's overload that names no object.
func called(at time.Time) []byte {
	return event(map[string]any{
		"scriptName": "edge", "scriptVersion": map[string]any{"id": callerVersion}, "executionModel": "stateless", "outcome": "exception", "eventTimestamp": at.UnixMilli(),
		"event":      map[string]any{"request": map[string]any{"method": "POST", "url": "https://api.example.com/rooms"}},
		"exceptions": []any{map[string]any{"name": "Error", "message": "Durable Object is overloaded. Too many requests queued.", "stack": "at fetch (worker.js:12:3)", "timestamp": at.UnixMilli()}},
	})
}

// TestCandidatesOfTheCallersBindings: nothing names the object and the index has
// just begun, so the thread offers what the caller's bindings lead to, and one
// click captures the one chosen.
func TestCandidatesOfTheCallersBindings(t *testing.T) {
	t.Parallel()
	w := boundWorld(t).serve()
	load(w, time.Second, 6, 7, 8) // 7 is a lobby, which edge cannot call
	w.await("the index has the load", func() bool { return strings.Count(w.get("/api/v1/objects"), `"object_id"`) == 40 })
	w.publish(called(time.Now()))
	w.await("the thread is there", func() bool { return len(w.roots()) == 1 })
	root := w.roots()[0]
	labels := regexp.MustCompile(`Capture room-api Room ([0-9a-f]{8})`).FindAllStringSubmatch(string(root.Blocks), -1)
	var offered []string
	for _, l := range labels {
		if !slices.Contains(offered, l[1]) {
			offered = append(offered, l[1])
		}
	}
	if len(offered) != 5 || !slices.Contains(offered[:2], numbered(6)[:8]) || !slices.Contains(offered[:2], numbered(8)[:8]) {
		t.Fatalf("offered %v, want five with %s and %s first:\n%s", offered, numbered(6)[:8], numbered(8)[:8], root.Blocks)
	}
	if strings.Contains(string(root.Blocks), "lobby-api") {
		t.Errorf("an object that the caller does not bind is offered:\n%s", root.Blocks)
	}
	if n := len(w.cf.Captures()); n != 0 {
		t.Fatalf("%d captures before anybody chose", n)
	}
	second := offered[1]
	if ack, err := w.slack.Click(t.Context(), fakeslack.Ana, root, "pf.pick#1", ""); err != nil || ack.Status != http.StatusOK {
		t.Fatalf("click: %v %+v", err, ack)
	}
	w.await("the flamegraph is in the thread", func() bool { return len(w.pictures()) == 1 })
	c := w.cf.Captures()
	if len(c) != 1 || !strings.HasPrefix(c[0].Actor, second) || c[0].Worker != "room-api" || c[0].Namespace != roomNamespace || c[0].Version != roomVersion {
		t.Errorf("captured %+v, want %s… of room-api", c, second)
	}
	if v := w.slack.Violations(); len(v) > 0 {
		t.Errorf("violations: %v", v)
	}
	asked := 0
	for _, r := range w.cf.Requests() {
		if strings.HasSuffix(r.Path, "/workers/edge/versions/"+callerVersion) {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("the caller's bindings were asked for %d times, want once", asked)
	}
}

// TestTheIndexNamesTheObject: two objects of the account are saturated, and only
// one of them is in a namespace that the caller binds. It is captured, and the
// thread says with which probability it is the one.
func TestTheIndexNamesTheObject(t *testing.T) {
	t.Parallel()
	w := boundWorld(t).serve()
	last := time.Now()
	load(w, 500*time.Millisecond, 6, 7)
	w.await("the index has settled", func() bool {
		if d := time.Since(last); d >= 250*time.Millisecond {
			last = time.Now()
			load(w, d, 6, 7)
		}
		return settledFor(w) > 6*time.Second
	})
	w.publish(called(time.Now()))
	w.await("the flamegraph is in the thread", func() bool { return len(w.pictures()) == 1 })
	if c := w.cf.Captures(); len(c) != 1 || c[0].Actor != numbered(6) || c[0].Worker != "room-api" || c[0].Namespace != roomNamespace {
		t.Fatalf("captured %+v, want %s of room-api", c, numbered(6))
	}
	var thread strings.Builder
	for _, m := range w.slack.Messages(fakeslack.Incidents) {
		thread.WriteString(m.Plain() + "\n")
	}
	if !regexp.MustCompile(`likely, 9[0-9](\.\d)? ?%`).MatchString(w.roots()[0].Plain()) || !strings.Contains(thread.String(), "hot-object index names object "+numbered(6)[:8]) {
		t.Errorf("the thread does not say how sure the index is:\n%s", thread.String())
	}
	w.await("the decision can be asked for", func() bool {
		d := w.get("/api/v1/decisions?worker=edge")
		return strings.Contains(d, numbered(6)) && strings.Contains(d, `"index_named"`)
	})
}

// settledFor is how long the objects of the account have been known.
func settledFor(w *world) time.Duration {
	var list struct{ Since time.Time }
	if err := json.Unmarshal([]byte(w.get("/api/v1/objects")), &list); err != nil || list.Since.IsZero() {
		return 0
	}
	return time.Since(list.Since)
}
