//go:build linux

package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFullDisk gives the service a file system of its own that somebody else
// fills to the last byte, first with nothing going on, then in the middle of an
// incident. Events are refused while there is no room, which is said; what was
// taken before is neither lost nor doubled; once there is room again everything
// goes on by itself.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := w.env["SNAPFLAME_NATS_STORE_DIR"]
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", data, "tmpfs", 0, "size=400m"); err != nil {
		t.Skipf("a file system of its own needs the right to mount: %v", err)
	}
	t.Cleanup(func() {
		w.kill()
		if err := syscall.Unmount(data, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	w.serve()
	ballast := filepath.Join(data, "ballast")
	said := func() bool {
		status, text := w.readyz()
		return status == http.StatusServiceUnavailable && (strings.Contains(text, "disk") || strings.Contains(text, "space") || strings.Contains(text, "nats: "))
	}

	fill(t, ballast)
	w.await("/readyz says that the disk is full", func() bool {
		status, text := w.readyz()
		return status == http.StatusServiceUnavailable && strings.Contains(text, "are free on the disk of")
	})
	if code, text := w.post(own(roomObject, time.Now())); code != http.StatusServiceUnavailable {
		t.Errorf("an event on a full disk: %d %s, want 503", code, text)
	}
	w.free(ballast)
	taken := 0
	send := func() {
		if code, _ := w.post(own(roomObject, time.Now())); code == http.StatusAccepted {
			taken++
		}
	}
	send()
	w.await("the thread begins", func() bool { return len(w.roots()) == 1 })

	fill(t, ballast)
	for range 20 { // some of which may still be taken
		send()
	}
	w.await("/readyz says it again", said)
	w.free(ballast)
	send()
	w.await("the flamegraph is there", func() bool { return len(w.pictures()) == 1 })
	w.await("every event that was taken is counted", func() bool { return w.listed()[roomObject].Count == int64(taken) })
	if n := len(w.roots()); n != 1 {
		t.Errorf("%d threads, want 1\n%s", n, w.slack.Transcript())
	}

	// On a disk that is full the service does not start, and says why.
	fill(t, ballast)
	w.kill()
	w.start()
	<-w.exited
	w.process = nil
	if s := w.logs.tail(); !strings.Contains(s, "are free on the disk of "+data) {
		t.Errorf("the last words do not tell what to do:\n%s", s)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	w.serve()
	send()
	w.await("the event joins", func() bool { return w.listed()[roomObject].Count == int64(taken) })
	if v := w.slack.Violations(); len(v) > 0 {
		t.Errorf("violations: %v", v)
	}
}

// fill writes until nothing more fits.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}

// free makes room and waits until the service has seen it.
func (w *world) free(name string) {
	w.t.Helper()
	if err := os.Remove(name); err != nil {
		w.t.Fatal(err)
	}
	w.await("the service is ready again", w.ready)
}
