package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Backup and restore as deploy/README.md has it: stop, copy the folder, start
// on the copy, with another machine's addresses.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	w := newWorld(t).serve()
	w.publish(own(roomObject, time.Now()))
	w.await("the flamegraph is in its thread", func() bool { return len(w.pictures()) == 1 })
	list := w.get("/api/v1/captures")
	var captures struct {
		Captures []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(list), &captures); err != nil || len(captures.Captures) != 1 {
		t.Fatalf("%v: %s", err, list)
	}
	profile := w.get("/api/v1/captures/" + captures.Captures[0].ID + "/profile")
	incidents := w.get("/api/v1/incidents")
	if err := w.stop(); err != nil {
		t.Fatalf("stopped with %v", err)
	}
	copied := filepath.Join(t.TempDir(), "restored")
	if err := os.CopyFS(copied, os.DirFS(w.env["SNAPFLAME_NATS_STORE_DIR"])); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(w.env["SNAPFLAME_NATS_STORE_DIR"]); err != nil {
		t.Fatal(err)
	}
	w.http, w.nats = freeAddress(t), freeAddress(t)
	w.env["SNAPFLAME_LISTEN"], w.env["SNAPFLAME_NATS_LISTEN"], w.env["SNAPFLAME_NATS_STORE_DIR"] = w.http, w.nats, copied
	w.serve()
	w.await("the incident is known", func() bool { return w.get("/api/v1/incidents") == incidents })
	if got := w.get("/api/v1/captures/" + captures.Captures[0].ID + "/profile"); got != profile || len(got) < 1000 {
		t.Errorf("the profile has %d bytes, it had %d", len(got), len(profile))
	}
	// The incident is still open: the same trouble joins it, in the same thread.
	if code, text := w.post(own(roomObject, time.Now())); code != http.StatusAccepted {
		t.Fatalf("%d %s", code, text)
	}
	w.await("the event joins", func() bool { return w.metricOf("snapflame_events_total", `decision="join"`) == 1 })
	if n := len(w.roots()); n != 1 {
		t.Errorf("%d threads, want the one from before", n)
	}
}
