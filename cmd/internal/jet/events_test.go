package jet_test

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/cmd/internal/jet"
	"github.com/snapflame/snapflame/triggers"
)

func client(tb testing.TB, url string) (*nats.Conn, jetstream.JetStream) {
	tb.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		tb.Fatal(err)
	}
	return nc, js
}

func TestAnExistingStreamIsUsedAndNotAltered(t *testing.T) {
	t.Parallel()
	s := natsServer(t)
	_, js := client(t, s.ClientURL())
	cfg := jetstream.StreamConfig{
		Name: "THEIRS", Subjects: []string{"workers.>", "other"}, MaxMsgs: 1000, Discard: jetstream.DiscardOld,
		MaxAge: time.Hour, Description: "made by an operator", Storage: jetstream.MemoryStorage,
	}
	st, err := js.CreateStream(within(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	before := st.CachedInfo().Config
	for _, subj := range []string{"workers.events.a", "other"} {
		if _, err := js.Publish(within(t), subj, []byte("old")); err != nil {
			t.Fatal(err)
		}
	}
	j := open(t, t.TempDir(), func(o *jet.Options) { o.URL = s.ClientURL(); o.Stream = "THEIRS" })
	if err := j.Publish(within(t), "workers.events.b", []byte("new"), ""); err != nil {
		t.Fatal(err)
	}
	var got []string
	take(t, j, j, func(d triggers.Delivery) bool {
		got = append(got, d.Subject())
		return len(got) == 2
	})
	if strings.Join(got, " ") != "workers.events.a workers.events.b" {
		t.Errorf("got %v, want what was there and what came, of nats.subjects only", got)
	}
	after, err := js.Stream(within(t), "THEIRS")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := after.CachedInfo().Config, before; a.MaxMsgs != b.MaxMsgs || a.Description != b.Description || a.Discard != b.Discard ||
		strings.Join(a.Subjects, " ") != strings.Join(b.Subjects, " ") || a.Metadata["snapflame.managed"] != "" {
		t.Errorf("the stream was altered: %+v", a)
	}
}

// A stream that takes in less than nats.subjects is read as far as it goes, and
// HTTP publishes where it listens.
func TestANarrowerStreamIsUsed(t *testing.T) {
	t.Parallel()
	for subject, published := range map[string]string{"workers.events.*": "workers.events.edge", "workers.events.prod.>": "workers.events.prod.edge"} {
		t.Run(subject, func(t *testing.T) {
			t.Parallel()
			s := natsServer(t)
			_, js := client(t, s.ClientURL())
			if _, err := js.CreateStream(within(t), jetstream.StreamConfig{Name: "WORKERS_EVENTS", Subjects: []string{"else", subject}}); err != nil {
				t.Fatal(err)
			}
			j := open(t, t.TempDir(), func(o *jet.Options) { o.URL = s.ClientURL() })
			if _, err := js.Publish(within(t), "else", []byte("not ours")); err != nil {
				t.Fatal(err)
			}
			if err := j.Events().PublishEvent(within(t), "edge", []byte("x"), ""); err != nil {
				t.Fatal(err)
			}
			take(t, j, j, func(d triggers.Delivery) bool {
				if d.Subject() != published {
					t.Errorf("got %s, want %s", d.Subject(), published)
				}
				return true
			})
		})
	}
}

func TestOverlaps(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{ // nats.subjects, the stream's, both
		{"workers.events.>", "workers.events.*", "workers.events.*"},
		{"workers.events.*", "workers.>", "workers.events.*"},
		{"workers.events.>", "workers.events.>", "workers.events.>"},
		{"workers.events.>", "workers.events.a workers.events.b", "workers.events.a workers.events.b"},
		{"a.*.c", "a.b.*", "a.b.c"},
		{"a.b >", "*.b", "*.b"},
		{"workers.events.>", "workers.events", ""},
		{"workers.events.>", "x.>", ""},
		{"a.b", "a.b.c", ""},
	} {
		if got := strings.Join(jet.Overlaps(strings.Fields(c[0]), strings.Fields(c[1])), " "); got != c[2] {
			t.Errorf("%s with %s: got %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestAnUnusableStreamIsSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg  jetstream.StreamConfig
		want string
	}{
		"other subjects": {jetstream.StreamConfig{Name: "WORKERS_EVENTS", Subjects: []string{"x.>"}}, "listens on x.>"},
		"no ack":         {jetstream.StreamConfig{Name: "WORKERS_EVENTS", Subjects: []string{"workers.events.>"}, NoAck: true}, "no_ack"},
		"overlap":        {jetstream.StreamConfig{Name: "MINE", Subjects: []string{"workers.>"}}, "set nats.stream to MINE"},
		"our jobs":       {jetstream.StreamConfig{Name: jet.JobsStream, Subjects: []string{"snapflame.jobs.*.>"}}, "must have"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := natsServer(t)
			_, js := client(t, s.ClientURL())
			if _, err := js.CreateStream(within(t), c.cfg); err != nil {
				t.Fatal(err)
			}
			j := open(t, t.TempDir(), func(o *jet.Options) { o.URL = s.ClientURL(); o.Settle = time.Millisecond })
			var err error
			until(t, "health says why", func() bool {
				err = j.Health(within(t))
				return err != nil && strings.Contains(err.Error(), c.want)
			})
			if err := js.DeleteStream(within(t), c.cfg.Name); err != nil {
				t.Fatal(err)
			}
			until(t, "healthy once a person has put it right", func() bool { return j.Health(within(t)) == nil })
		})
	}
}

func TestAFullStreamIsToldAndTrimmed(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir(), func(o *jet.Options) { o.MaxBytes = 64 << 20 })
	ctx := within(t)
	data := bytes.Repeat([]byte("x"), 256<<10)
	fill := func() (n int, err error) {
		for n = range 1000 {
			if err = j.Publish(ctx, "workers.events.a", data, ""); err != nil {
				return n, err
			}
		}
		return n, nil
	}
	n, err := fill()
	if !errors.Is(err, jet.ErrFull) {
		t.Fatalf("after %d: got %v, want ErrFull", n, err)
	}
	until(t, "health says it", func() bool { err := j.Health(ctx); return err != nil && strings.Contains(err.Error(), "full") })
	seen := 0
	for seen < n {
		got, err := j.Source().Fetch(ctx, 10, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range got {
			seen++
			_ = d.Ack()
		}
	}
	until(t, "room again", func() bool { return j.Publish(ctx, "workers.events.a", data, "") == nil })
	if _, err := fill(); !errors.Is(err, jet.ErrFull) {
		t.Errorf("got %v, want ErrFull: what is not handled must not be trimmed", err)
	}
}

func TestAnEventThatNeverSucceedsIsPutAside(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir())
	ctx := within(t)
	for _, id := range []string{"poison", "good"} {
		if err := j.Publish(ctx, "workers.events.a", []byte(id), id); err != nil {
			t.Fatal(err)
		}
	}
	tries := 0
	until(t, "it is among the dead letters", func() bool {
		got, err := j.Source().Fetch(ctx, 10, 20*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range got {
			if string(d.Data()) == "good" {
				_ = d.Ack()
				continue
			}
			tries++
			_ = d.Retry(0)
		}
		list, err := j.Dead().List(ctx, 0, 10)
		return err == nil && len(list) == 1 && string(list[0].Data) == "poison" && list[0].Stream == "WORKERS_EVENTS"
	})
	if tries != jet.MaxTries-1 {
		t.Errorf("handed out %d times, want %d", tries, jet.MaxTries-1)
	}
	until(t, "nothing is left", func() bool {
		s, err := j.Stats(ctx)
		return err == nil && s.Pending == 0 && s.InFlight == 0 && s.Dead == 1
	})
}

func TestSilentPullsAreReplaced(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir())
	ctx := within(t)
	if err := j.Publish(ctx, "workers.events.a", []byte("first"), ""); err != nil {
		t.Fatal(err)
	}
	take(t, j, j, func(triggers.Delivery) bool { return true })
	j.LosePulls()
	if err := j.Publish(ctx, "workers.events.a", []byte("x"), ""); err != nil {
		t.Fatal(err)
	}
	take(t, j, j, func(d triggers.Delivery) bool { return string(d.Data()) == "x" })
	if s, err := j.Stats(ctx); err != nil || s.Stalls == 0 {
		t.Errorf("stalls %d, %v, want them counted", s.Stalls, err)
	}
}

func TestHeldEventsAreNotRepeated(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir())
	ctx := within(t)
	for i := range 3 {
		if err := j.Publish(ctx, "workers.events.a", []byte(strconv.Itoa(i)), ""); err != nil {
			t.Fatal(err)
		}
	}
	first, err := j.Source().Fetch(ctx, 2, patience)
	if err != nil || len(first) == 0 {
		t.Fatalf("got %d, %v", len(first), err)
	}
	// Beyond the acknowledgement wait of 5 s the held ones must still be ours.
	began := time.Now()
	until(t, "seven seconds", func() bool { return time.Since(began) > 7*time.Second })
	s, err := j.Stats(ctx)
	if err != nil || s.Redeliver != 0 || s.InFlight != 3 {
		t.Errorf("%d repeated of %d in flight, %v, want 0 of 3", s.Redeliver, s.InFlight, err)
	}
	for _, d := range first {
		_ = d.Ack()
	}
}

func TestRestartKeepsPendingWork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir)
	ctx := within(t)
	for i := range 100 {
		if err := j.Publish(ctx, "workers.events.a", []byte(strconv.Itoa(i)), ""); err != nil {
			t.Fatal(err)
		}
	}
	got, err := j.Source().Fetch(ctx, 10, patience)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range got {
		_ = d.Ack()
	}
	acked := len(got)
	shut(t, j)
	k := open(t, dir)
	seen := 0
	began := time.Now()
	take(t, k, k, func(triggers.Delivery) bool { seen++; return seen >= 100-acked })
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("the rest came after %s: what was buffered should be given back on close", d)
	}
}

func TestTheEmbeddedServerCanBeStartedAnew(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir(), func(o *jet.Options) { o.Listen = "127.0.0.1:0" })
	ctx := within(t)
	url := j.URL()
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 500 {
			if err := j.Publish(ctx, "workers.events.a", []byte(strconv.Itoa(i)), "id"+strconv.Itoa(i)); err != nil {
				t.Errorf("publish: %v", err)
				return
			}
		}
	})
	if err := j.RestartServer(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	seen := map[string]bool{}
	take(t, j, j, func(d triggers.Delivery) bool { seen[string(d.Data())] = true; return len(seen) == 500 })
	if j.URL() != url {
		t.Errorf("listens on %s, want %s as before", j.URL(), url)
	}
	until(t, "healthy", func() bool { return j.Health(ctx) == nil })
}

// A server that was started anew does not know the watches of before: they
// begin again and miss nothing.
func TestWatchesGoOnAfterAServerWasStartedAnew(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir())
	ctx := within(t)
	var mu sync.Mutex
	seen := map[string]int64{}
	inits := 0
	watch, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = j.Cases().WatchOpen(watch, func(c bot.Case, _ uint64, _ bool) {
			mu.Lock()
			defer mu.Unlock()
			seen[c.Key] = c.Count
		}, func() { mu.Lock(); inits++; mu.Unlock() })
	})
	defer func() { stop(); wg.Wait() }()
	put := func(count int64, rev uint64) uint64 {
		t.Helper()
		var out uint64
		until(t, "written", func() bool {
			var err error
			out, err = j.Cases().PutCase(ctx, bot.Case{ID: "i1", Key: "overloaded.w-a", State: bot.Open, Count: count}, rev)
			return err == nil
		})
		return out
	}
	counted := func(n int64) func() bool {
		return func() bool { mu.Lock(); defer mu.Unlock(); return seen["overloaded.w-a"] == n && inits == 1 }
	}
	rev := put(1, 0)
	until(t, "the first revision is seen", counted(1))
	for i := range int64(3) {
		if err := j.RestartServer(); err != nil {
			t.Fatal(err)
		}
		rev = put(i+2, rev)
		until(t, "a revision after a restart is seen", counted(i+2))
	}
}
