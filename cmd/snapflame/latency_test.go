package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/snapflame/snapflame/capture/fakecf"
)

// BenchmarkEventToThread measures what a responder waits for: from the queue's
// acknowledgement of an event to the request for a profile, and to the first
// message, with `serve` in a process of its own. Each event is about another
// object, so that each opens an incident; owner and deployment are cached.
func BenchmarkEventToThread(b *testing.B) {
	w := newWorld(b, func(w *world) {
		w.env["SNAPFLAME_CAPTURE_PER_HOUR"], w.env["SNAPFLAME_CAPTURE_CONCURRENCY"] = "100000", "64"
		w.env["SNAPFLAME_CAPTURE_DURATION"] = "1s"
	})
	object := func(i int) string { return fmt.Sprintf("%064x", i+1) }
	for i := range 400 {
		w.cf.AddObject(fakecf.Object{ID: object(i), Namespace: roomNamespace, Version: roomVersion})
	}
	w.serve()
	w.publish(own(object(399), time.Now()))
	w.await("the caches are warm", func() bool { return len(w.taken()) == 1 })
	js, done := w.queue()
	defer done()
	var toCapture, toRoot []float64
	i := 0
	for b.Loop() {
		if i == 390 {
			b.Fatal("more iterations than objects; use -benchtime 100x")
		}
		if _, err := js.Publish(b.Context(), "workers.events.room-api", own(object(i), time.Now())); err != nil {
			b.Fatal(err)
		}
		stored := time.Now()
		b.StopTimer()
		w.await("the capture is asked for", func() bool { return len(w.cf.Captures()) >= i+2 })
		w.await("the root is posted", func() bool { return len(w.roots()) >= i+2 })
		for _, c := range w.cf.Captures() {
			if c.Actor == object(i) {
				toCapture = append(toCapture, c.Asked.Sub(stored).Seconds()*1000)
			}
		}
		all := w.roots()
		toRoot = append(toRoot, all[len(all)-1].At.Sub(stored).Seconds()*1000)
		i++
		b.StartTimer()
	}
	b.ReportMetric(median(toCapture), "ms-to-capture-median")
	b.ReportMetric(median(toRoot), "ms-to-root-median")
	b.ReportMetric(toCapture[len(toCapture)*99/100], "ms-to-capture-p99")
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
