package jet_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/snapflame/snapflame/cmd/internal/jet"
	"github.com/snapflame/snapflame/triggers"
)

// Events of 1.2 KB, as a Tail Worker sends them.
const (
	benchHeaders = `"headers":{"user-agent":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36","accept":"*/*","accept-encoding":"gzip, br","accept-language":"en-GB,en;q=0.9","authorization":"REDACTED","cf-connecting-ip":"203.0.113.9","cf-ipcountry":"DE","cf-visitor":"{\"scheme\":\"https\"}","connection":"Keep-Alive","host":"api.example.com","x-forwarded-proto":"https","x-real-ip":"203.0.113.9","content-type":"application/json","content-length":"18112","cf-ray":"a1b2c3d4e5f60718"}`
	benchHealthy = `{"scriptName":"edge-gateway","scriptVersion":{"id":"41ab9259-0637-ac82-026c-a65266b28984"},"scriptTags":["cf:service=edge-gateway","cf:environment=production"],"outcome":"ok","cpuTime":12,"wallTime":900,"truncated":false,"eventTimestamp":1796020351580,"executionModel":"stateless","event":{"request":{"method":"POST","url":"https://api.example.com/v1/rooms/REDACTED/msg",` + benchHeaders + `,"cf":{"colo":"SIN","asn":64496,"country":"SG","httpProtocol":"HTTP/2"}},"response":{"status":200}},"exceptions":[],"logs":[{"timestamp":1796020351580,"level":"log","message":["request done",200,{"ms":12,"room":"lobby"}]}],"diagnosticsChannelEvents":[]}`
	benchStorm   = `{"scriptName":"edge-gateway","scriptVersion":{"id":"41ab9259-0637-ac82-026c-a65266b28984"},"scriptTags":["cf:service=edge-gateway","cf:environment=production"],"outcome":"ok","cpuTime":12,"wallTime":900,"truncated":false,"eventTimestamp":1796020351580,"executionModel":"stateless","event":{"request":{"method":"POST","url":"https://api.example.com/v1/rooms/REDACTED/msg",` + benchHeaders + `,"cf":{"colo":"SIN","asn":64496}},"response":{"status":503}},"exceptions":[],"logs":[{"timestamp":1796020351580,"level":"error","message":[{"msg":"Durable Object is overloaded. Too many requests queued.","overloaded":true,"durableObjectId":"OBJECT"}]}],"diagnosticsChannelEvents":[]}`
)

const (
	benchEvents = 25_000 // taken in one pass
	benchRounds = 6      // each way is first, second and third twice
)

// BenchmarkEvents compares, on one embedded stream in one run, three ways to
// take events with an acknowledgement each: the client's own Consume with an
// empty handler (the yardstick), Source with an empty handler, and the whole
// pipeline with a sink that keeps nothing. Each round takes the same events
// three times and compares with its own raw pass; the medians of these ratios
// are reported, of the rates and of the CPU time, which is the steadier figure
// on a busy machine. Run it with -benchtime=1x; figures are in
// testdata/bench.txt.
func BenchmarkEvents(b *testing.B) {
	b.Run("uninteresting", func(b *testing.B) { compare(b, [][]byte{[]byte(benchHealthy)}) })
	storm := make([][]byte, 100)
	for i := range storm {
		storm[i] = []byte(strings.Replace(benchStorm, "OBJECT", fmt.Sprintf("%064x", i+1), 1))
	}
	b.Run("storm over 100 targets", func(b *testing.B) { compare(b, storm) })
	unlike := make([][]byte, benchEvents)
	for i := range unlike {
		unlike[i] = []byte(strings.Replace(benchStorm, "OBJECT", fmt.Sprintf("%064x\",\"request\":\"%d", i%100+1, i), 1))
	}
	b.Run("storm, no two lines alike", func(b *testing.B) { compare(b, unlike) })
}

// figure is one pass over the events.
type figure struct{ rate, cpu float64 } // events/s, µs each

func compare(b *testing.B, messages [][]byte) {
	for b.Loop() {
		j := open(b, b.TempDir(), func(o *jet.Options) { o.MaxBytes = 6 << 30; o.KeepHandled = 2 << 30 })
		ways := []string{"raw", "source", "listener"}
		all := map[string][]figure{}
		for round := range benchRounds {
			for i := range ways {
				way := ways[(round+i)%len(ways)]
				first := publishAll(b, j, messages)
				all[way] = append(all[way], pass(b, j, way, first))
			}
		}
		shut(b, j)
		rate, cpu := map[string]float64{}, map[string]float64{}
		for way, list := range all {
			rate[way] = median(list, func(f figure) float64 { return f.rate })
			cpu[way] = median(list, func(f figure) float64 { return f.cpu })
			b.ReportMetric(rate[way], way+"/s")
			b.ReportMetric(cpu[way], way+"-cpu-µs")
		}
		for _, way := range ways[1:] {
			var ratios []figure
			for i, f := range all[way] {
				ratios = append(ratios, figure{f.rate / all["raw"][i].rate, all["raw"][i].cpu / f.cpu})
			}
			b.ReportMetric(100*median(ratios, func(f figure) float64 { return f.rate }), way+"-%rate")
			b.ReportMetric(100*median(ratios, func(f figure) float64 { return f.cpu }), way+"-%cpu")
		}
		b.ReportMetric(0, "ns/op")
	}
}

func median(list []figure, f func(figure) float64) float64 {
	v := make([]float64, 0, len(list))
	for _, x := range list {
		v = append(v, f(x))
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// publishAll puts the events while our own source is away, and returns the
// first one's sequence.
func publishAll(b *testing.B, j *jet.Jet, messages [][]byte) uint64 {
	b.Helper()
	j.PauseSource(true)
	js := j.JetStream()
	info, err := js.Stream(b.Context(), "WORKERS_EVENTS")
	if err != nil {
		b.Fatal(err)
	}
	first := info.CachedInfo().State.LastSeq + 1
	for i := range benchEvents {
		if _, err := js.PublishAsync("workers.events.edge-gateway", messages[i%len(messages)], jetstream.WithStallWait(30*time.Second)); err != nil {
			b.Fatal(err)
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-time.After(time.Minute):
		b.Fatal("publishing takes too long")
	}
	return first
}

func pass(b *testing.B, j *jet.Jet, way string, first uint64) figure {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	var run func()
	switch way {
	case "raw":
		c, err := j.JetStream().CreateConsumer(ctx, "WORKERS_EVENTS", jetstream.ConsumerConfig{
			AckPolicy: jetstream.AckExplicitPolicy, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: first,
			MaxAckPending: 20_000, AckWait: 5 * time.Second, Durable: "raw",
		})
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = j.JetStream().DeleteConsumer(context.Background(), "WORKERS_EVENTS", "raw") }()
		run = func() { raw(b, ctx, c) }
	case "source":
		run = func() { source(b, ctx, j) }
	case "listener":
		run = func() { listen(b, ctx, j) }
	}
	began, used := time.Now(), cpuTime()
	if way != "raw" {
		j.PauseSource(false)
	}
	run()
	took, spent := time.Since(began), cpuTime()-used
	if way == "raw" { // the events are ours as well
		j.PauseSource(false)
		source(b, ctx, j)
	}
	return figure{benchEvents / took.Seconds(), float64(spent.Microseconds()) / benchEvents}
}

func raw(b *testing.B, ctx context.Context, c jetstream.Consumer) {
	var n atomic.Int64
	done := make(chan struct{})
	cc, err := c.Consume(func(m jetstream.Msg) {
		_ = m.Ack()
		if n.Add(1) == benchEvents {
			close(done)
		}
	}, jetstream.PullMaxMessages(5000), jetstream.PullExpiry(5*time.Second), jetstream.PullHeartbeat(500*time.Millisecond))
	if err != nil {
		b.Fatal(err)
	}
	defer cc.Stop()
	select {
	case <-done:
	case <-ctx.Done():
		b.Fatalf("raw consumer: %d of %d", n.Load(), benchEvents)
	}
}

func source(b *testing.B, ctx context.Context, j *jet.Jet) {
	for n := 0; n < benchEvents; {
		got, err := j.Source().Fetch(ctx, 5000, time.Second)
		if err != nil {
			b.Fatalf("%d of %d: %v", n, benchEvents, err)
		}
		for _, d := range got {
			_ = d.Ack()
		}
		n += len(got)
	}
}

// sink opens incidents in memory.
type sink struct {
	mu   sync.Mutex
	open map[string]bool
	all  chan struct{}
}

func (s *sink) Handle(_ context.Context, d triggers.Decision) (triggers.Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.IncidentID = d.IncidentKey()
	if s.open[d.IncidentID] {
		d.Action = triggers.ActionJoin
	}
	s.open[d.IncidentID] = true
	return d, nil
}

func (s *sink) Counted(string) triggers.Counted { return triggers.Counted{} }

func (s *sink) Tally(context.Context, []triggers.Tally) error { return nil }

func (s *sink) Bury(context.Context, triggers.DeadLetter) error { return nil }

func listen(b *testing.B, ctx context.Context, j *jet.Jet) {
	s := &sink{open: map[string]bool{}, all: make(chan struct{})}
	var seen atomic.Int64
	l, err := triggers.NewListener(j.Source(), s, s, triggers.Options{
		Index: triggers.NewIndex(time.Now), Recent: triggers.NewRecent(1000),
		Trouble: func(err error) { b.Log(err) },
		Observe: func(_ triggers.Class, _ triggers.Action, n int64) {
			if seen.Add(n) == benchEvents {
				close(s.all)
			}
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	run, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- l.Run(run) }()
	select {
	case <-s.all:
	case <-ctx.Done():
		b.Errorf("listener: %d of %d", seen.Load(), benchEvents)
	}
	stop()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	if len(s.open) > 100 {
		b.Errorf("%d incidents", len(s.open))
	}
}

func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkPublish is one acknowledged publish, as HTTP ingest does it for a
// chunk of events.
func BenchmarkPublish(b *testing.B) {
	j := open(b, b.TempDir(), func(o *jet.Options) { o.MaxBytes = 8 << 30 })
	j.PauseSource(true)
	data := []byte(benchHealthy)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if err := j.Publish(b.Context(), "workers.events.a", data, ""); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompareAndSet is one read and one conditional write: what a storm
// pays per target and batch.
func BenchmarkCompareAndSet(b *testing.B) {
	j := open(b, b.TempDir())
	if _, err := j.State().Put(b.Context(), "k", 0, 0); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var v int
		rev, err := j.State().Get(b.Context(), "k", &v)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := j.State().Put(b.Context(), "k", v+1, rev); err != nil {
			b.Fatal(err)
		}
	}
}
