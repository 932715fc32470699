package capture_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/snapflame/snapflame/capture"
)

// BenchmarkDecision is what lies between a job in the queue and the request to
// Cloudflare, with everything else in memory: record, budget twice, target,
// record. The budget holds an hour's worth of captures. Each round also ends the
// job before. 2026-11-30, two shared cores: 0.19 ms; the aim is under 1 ms.
func BenchmarkDecision(b *testing.B) {
	w := newWorld()
	asked := make(chan struct{})
	api := apiFunc(func(context.Context, capture.Request) ([]byte, error) {
		asked <- struct{}{}
		return nil, fails(capture.FailForbidden)
	})
	l := capture.Limits{PerHour: 60}
	var full capture.Budget
	for i := range 59 {
		j := on(strconv.Itoa(i), strconv.Itoa(i))
		full, _ = full.Reserve(time.Now().Add(-2*time.Minute), j, l, 0)
		full = full.Release(time.Now(), j, capture.Ran, time.Now().Add(-time.Minute))
	}
	r, err := capture.NewRunner(w.parts(api, &plain{}), capture.Options{Limits: func() capture.Limits { return l }, Workers: 1})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = r.Run(ctx) }()
	n := 0
	for b.Loop() {
		n++
		w.mu.Lock()
		w.budget, w.heard = full, nil
		w.mu.Unlock()
		w.submit(job(strconv.Itoa(n)))
		<-asked
	}
	cancel()
	<-done
}
