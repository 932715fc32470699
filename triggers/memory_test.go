package triggers_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/snapflame/snapflame/triggers"
)

// stream gives out events made one by one, so that only the listener's memory
// is measured.
type stream struct {
	n, left int
	event   func(n int) []byte
	done    context.CancelFunc
}

func (s *stream) Fetch(ctx context.Context, limit int, _ time.Duration) ([]triggers.Delivery, error) {
	if s.left == 0 {
		s.done()
		<-ctx.Done()
		return nil, nil
	}
	out := make([]triggers.Delivery, 0, limit)
	for range min(limit, s.left) {
		out = append(out, &plainDelivery{data: s.event(s.n), n: uint64(s.n), at: now()})
		s.n++
	}
	s.left -= len(out)
	return out, nil
}

// blank is a sink that keeps nothing.
type blank struct{}

func (blank) Handle(_ context.Context, d triggers.Decision) (triggers.Decision, error) {
	d.IncidentID = d.IncidentKey()
	return d, nil
}
func (blank) Counted(string) triggers.Counted                 { return triggers.Counted{} }
func (blank) Tally(context.Context, []triggers.Tally) error   { return nil }
func (blank) Bury(context.Context, triggers.DeadLetter) error { return nil }

// BenchmarkMemory says what a listener with its index holds at most (heap in
// use), and what it still holds at the end. Run it with -benchtime=1x.
func BenchmarkMemory(b *testing.B) {
	healthy := sized(benchHealthy)
	mixed := func(n int) []byte {
		if n%10 != 0 {
			return healthy
		}
		return storm(n % 1000)
	}
	for _, one := range []struct {
		name   string
		events int
		event  func(n int) []byte
	}{
		{"10 thousand events", 10_000, mixed},
		{"100 thousand events", 100_000, mixed},
		{"1 million events", 1_000_000, mixed},
		{"10 million events", 10_000_000, mixed},
		{"60 thousand over 12 targets", 60_000, func(n int) []byte { return storm(n % 12) }},
		{"1 million targets", 1_000_000, storm},
	} {
		b.Run(one.name, func(b *testing.B) {
			for b.Loop() {
				peak, end := hold(b, one.events, one.event)
				b.ReportMetric(peak, "peak-MiB")
				b.ReportMetric(end, "end-MiB")
			}
		})
	}
}

func hold(b *testing.B, events int, event func(int) []byte) (peak, end float64) {
	b.Helper()
	ctx, done := context.WithCancel(b.Context())
	defer done()
	l, err := triggers.NewListener(&stream{left: events, event: event, done: done}, blank{}, blank{}, triggers.Options{
		Now: now, Index: triggers.NewIndex(now), Recent: triggers.NewRecent(1000), Trouble: func(err error) { b.Error(err) },
	})
	if err != nil {
		b.Fatal(err)
	}
	debug.FreeOSMemory()
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	t := time.NewTicker(5 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				b.Fatal(err)
			}
			runtime.GC()
			end = inUse()
			runtime.KeepAlive(l)
			return max(peak, end), end
		case <-t.C:
			peak = max(peak, inUse())
		}
	}
}

func inUse() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse+m.StackInuse) / (1 << 20)
}
