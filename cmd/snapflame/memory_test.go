package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/capture/fakecf"
)

// peak is the most memory that the service has had, in MiB.
func (w *world) peak() int64 {
	w.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.process.Process.Pid))
	if err != nil {
		w.t.Skipf("the peak is read from /proc: %v", err)
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			var n int64
			if _, err := fmt.Sscan(kb, &n); err != nil {
				w.t.Fatal(err)
			}
			return n >> 10
		}
	}
	w.t.Fatal("/proc has no peak")
	return 0
}

// TestAStormStaysSmall: 60,000 events over 12 targets, with their captures,
// reports and pictures, within 300 MiB at the peak.
func TestAStormStaysSmall(t *testing.T) {
	l := newLoad(t)
	const n, objects, most = 60_000, 12, 300
	list := make([][]byte, objects)
	for i := range list {
		l.cf.AddObject(fakecf.Object{ID: matrixObject(i), Namespace: matrixNamespace(0), Version: roomVersion})
		list[i] = ownOf("room-0", matrixObject(i), time.Now())
	}
	l.put(t.Context(), n, 0, func(i int) []byte { return list[i%objects] })
	l.handled()
	l.await("all captures are stored", func() bool {
		return len(l.taken()) == objects && l.metricOf("snapflame_captures_total", "stored") == objects
	})
	peak := l.peak()
	t.Logf("%d events over %d targets: %d MiB at the peak", n, objects, peak)
	if peak > most && !raceEnabled {
		t.Errorf("%d MiB at the peak, want at most %d", peak, most)
	}
}

// TestManyTargets opens an incident per target, as a storm that spreads does,
// and measures what each costs.
func TestManyTargets(t *testing.T) {
	n := 2_000
	if long() {
		n = 20_000
	}
	l := newLoad(t)
	before := l.look()
	began := time.Now()
	l.put(t.Context(), n, 0, func(i int) []byte { return ownOf("room-0", matrixObject(i), time.Now()) })
	l.handled()
	took := time.Since(began)
	after := l.look()
	l.note("%d targets at once, an incident each: %.0f/s; memory %d MiB before, %d after, %d at the peak (%.1f KiB a target); files %d MiB",
		n, float64(n)/took.Seconds(), before.rss, after.rss, l.peak(), float64(after.rss-before.rss)*1024/float64(n), after.files)
	// An incident whose store answered too late is found open at the second try.
	stream, err := l.js.Stream(t.Context(), "KV_snapflame_incidents")
	if err != nil {
		t.Fatal(err)
	}
	if got := stream.CachedInfo().State.Msgs; got != uint64(n) {
		t.Errorf("%d incidents, want %d", got, n)
	}
	l.print()
}
