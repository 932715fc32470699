package triggers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/snapflame/snapflame/triggers"
)

// fleet is an index with a clock and two namespaces of idle objects.
type fleet struct {
	*triggers.Index
	at time.Time
}

func newFleet() *fleet {
	f := &fleet{at: now()}
	f.Index = triggers.NewIndex(func() time.Time { return f.at })
	return f
}

func object(n int) string { return fmt.Sprintf("%064x", n) }

func (f *fleet) work(script string, id int, cpu, wall time.Duration, count int64, outcome string) {
	f.Add(triggers.Event{
		Shape: triggers.ShapeTail, Script: script, Entrypoint: "Room", ObjectID: object(id), VersionID: "v1", ExecutionModel: "durableObject",
		Outcome: outcome, CPU: cpu, Wall: wall, Count: count,
	})
}

// run lets seconds pass in which ten idle objects work, and object hot too.
func (f *fleet) run(seconds, hot int, outcome string) {
	for range seconds {
		for id := range 10 {
			f.work("rooms", id, 5*time.Millisecond, 10*time.Millisecond, 2, outcome)
		}
		if hot >= 0 {
			f.work("rooms", hot, 950*time.Millisecond, 20*time.Second, 10, outcome)
		}
		f.at = f.at.Add(time.Second)
	}
}

var caller = triggers.Event{Shape: triggers.ShapeTail, Script: "rooms", ExecutionModel: "stateless"}

func TestIndexSaysUnknown(t *testing.T) {
	t.Run("empty", func(t *testing.T) {
		if s := newFleet().Suspect(caller); s.Named || s.Coverage.OK || s.Coverage.Why == "" {
			t.Errorf("got %+v", s)
		}
	})
	t.Run("fed with errors only", func(t *testing.T) {
		f := newFleet()
		f.run(60, 3, "exception")
		if s := f.Suspect(caller); s.Named || s.Coverage.OK {
			t.Errorf("named %+v", s)
		}
	})
	t.Run("nobody is hot", func(t *testing.T) {
		f := newFleet()
		f.run(60, -1, "ok")
		if s := f.Suspect(caller); s.Named || !s.Coverage.OK || s.Coverage.For < 50*time.Second || len(s.Candidates) != 5 || s.Probability != 0 {
			t.Errorf("got %+v", s)
		}
	})
	t.Run("two are hot", func(t *testing.T) {
		f := newFleet()
		for range 60 {
			f.run(1, 3, "ok")
			f.work("rooms", 4, 950*time.Millisecond, 20*time.Second, 10, "ok")
		}
		if s := f.Suspect(caller); s.Named || s.Candidates[1].Probability < 0.3 || s.Probability > 0.7 {
			t.Errorf("got %+v", s)
		}
	})
	t.Run("a caller of another script", func(t *testing.T) {
		f := newFleet()
		f.run(60, 3, "ok")
		for range 60 {
			f.work("gateway", 77, time.Millisecond, time.Millisecond, 10, "ok")
		}
		f.at = f.at.Add(6 * time.Second)
		f.run(1, 3, "ok")
		f.work("gateway", 77, time.Millisecond, time.Millisecond, 10, "ok")
		from := caller
		from.Script = "gateway"
		if s := f.Suspect(from); s.Named {
			t.Errorf("a script with objects of its own was given another's: %+v", s)
		}
		f.Bind("gateway", []triggers.Namespace{{Script: "rooms", Entrypoint: "Room"}})
		f.run(30, 3, "ok")
		if s := f.Suspect(from); !s.Named || s.Target.ObjectID != object(3) {
			t.Errorf("its bindings did not help: %+v", s)
		}
	})
	t.Run("too little known of what it binds", func(t *testing.T) {
		f := newFleet()
		f.run(1, 3, "ok")
		f.work("elsewhere", 99, time.Second, time.Second, 1, "ok")
		from := caller
		from.Script = "gateway"
		if s := f.Suspect(from); s.Coverage.OK || len(s.Candidates) != 0 {
			t.Errorf("offers objects that it may not call: %+v", s)
		}
		f.Bind("gateway", []triggers.Namespace{{Script: "rooms", Entrypoint: "Room"}})
		s := f.Suspect(from)
		if s.Named || s.Coverage.OK || s.Probability != 0 || len(s.Candidates) != 5 || s.Candidates[0].Target.ObjectID != object(3) {
			t.Fatalf("want five to choose from and the hottest first: %+v", s)
		}
		for _, c := range s.Candidates {
			if c.Target.Script != "rooms" || c.Probability != 0 {
				t.Errorf("offers %+v", c)
			}
		}
		f.at = f.at.Add(11 * time.Minute)
		if s := f.Suspect(from); len(s.Candidates) != 0 {
			t.Errorf("offers objects that were not seen for 11 minutes: %+v", s)
		}
	})
	t.Run("the lines stopped", func(t *testing.T) {
		f := newFleet()
		f.run(60, 3, "ok")
		f.at = f.at.Add(5 * time.Minute)
		if s := f.Suspect(caller); s.Named || s.Coverage.OK {
			t.Errorf("named %+v", s)
		}
	})
}

func TestIndexNames(t *testing.T) {
	f := newFleet()
	f.run(60, 3, "ok")
	s := f.Suspect(caller)
	if !s.Named || s.Target != (triggers.Target{Kind: triggers.TargetDurableObject, Script: "rooms", Entrypoint: "Room", ObjectID: object(3), VersionID: "v1"}) || s.Probability < 0.9 {
		t.Fatalf("got %+v", s)
	}
	// An object that the error passed through is not the one.
	through := triggers.Event{Script: "rooms", Entrypoint: "Room", ObjectID: object(3), ExecutionModel: "durableObject", Texts: []triggers.Text{{Source: triggers.TextException, Stack: "at f (worker.js:1:2)"}}}
	if s := f.Suspect(through); s.Named {
		t.Errorf("named the caller itself: %+v", s)
	}
	d := triggers.Decide(triggers.Event{
		Shape: triggers.ShapeTail, Script: "rooms", ExecutionModel: "stateless", Outcome: "exception",
		Texts: []triggers.Text{{Source: triggers.TextException, Message: overload}},
	}, triggers.State{Rules: builtin(t), Index: f.Index}, f.at)
	if d.Attribution != triggers.AttributionIndex || d.Target.ObjectID != object(3) || d.Probability < 0.9 {
		t.Errorf("decided %+v", d)
	}
	f.Note(d)
	hottest := f.Hottest("rooms", 3)
	if len(hottest) != 3 || hottest[0].Target.ObjectID != object(3) || hottest[0].Overloads != 1 || hottest[0].HotFor < 30*time.Second || hottest[0].CPU < 0.9 || hottest[0].CPU > 1.05 {
		t.Errorf("hottest: %+v", hottest)
	}
	if top := f.Top("", triggers.MetricRequests, 1); top[0].Target.ObjectID != object(3) || top[0].Requests < 11 || top[0].Requests > 13 {
		t.Errorf("most requests: %+v", top)
	}
	if since := f.Since("rooms"); !since.Equal(now()) || !f.Since("nobody").IsZero() {
		t.Errorf("known since %v", since)
	}
	if none := f.Hottest("nobody", 3); len(none) != 0 {
		t.Errorf("got %+v", none)
	}
}

// TestIndexLearnsBindings: a logged id shows whom a script calls.
func TestIndexLearnsBindings(t *testing.T) {
	f := newFleet()
	f.run(60, 3, "ok")
	from := caller
	from.Script = "gateway"
	f.Note(triggers.Decision{
		Class: triggers.ClassOverloaded, Attribution: triggers.AttributionLogged, Event: from,
		Target: triggers.Target{Kind: triggers.TargetDurableObject, ObjectID: object(5)},
	})
	for range 60 {
		f.work("other", 50, 950*time.Millisecond, time.Second, 10, "ok")
		f.run(1, 3, "ok")
	}
	if s := f.Suspect(from); !s.Named || s.Target.ObjectID != object(3) {
		t.Errorf("got %+v", s)
	}
}

// TestIndexErrorBound holds estimates to the bound that the sketch states, on
// traffic that overflows it many times.
func TestIndexErrorBound(t *testing.T) {
	f := newFleet()
	const heavy, others = 20, 200_000
	total := time.Duration(0)
	for i := range others {
		cpu := time.Millisecond
		if i%50 == 0 {
			f.work("rooms", i/50%heavy, 20*time.Millisecond, 0, 1, "ok")
			total += 20 * time.Millisecond
		}
		f.work("rooms", 1000+i, cpu, cpu, 1, "ok")
		total += cpu
	}
	top := f.Top("rooms", triggers.MetricCPU, heavy)
	if len(top) != heavy {
		t.Fatalf("got %d objects", len(top))
	}
	// All of it happened in one instant, so that rates compare like sums: each
	// heavy object used 4 s of 280 s, and the bound is 16/65,536 of the total.
	truth := float64(others/50/heavy) * 0.020
	bound := 16 * total.Seconds() / (1 << 16) / truth
	most := 0.0
	for _, l := range top {
		most = max(most, l.CPU)
	}
	for _, l := range top {
		if l.Target.ObjectID >= object(heavy) {
			t.Errorf("object %s is not one of the heavy ones", l.Target.ObjectID)
		}
		if l.CPUError <= 0 || l.CPUError/(l.CPU+l.CPUError) > bound*1.01 || l.CPU+l.CPUError < most {
			t.Errorf("estimate %v + %v with a bound of %v", l.CPU, l.CPUError, bound*l.CPU)
		}
	}
}

func TestIndexStaysWithin64MiB(t *testing.T) {
	f := newFleet()
	before := heapNow()
	f.Index = triggers.NewIndex(func() time.Time { return f.at })
	for i := range 600_000 {
		f.work([]string{"a", "b", "c", "d", "e"}[i%5], i, time.Millisecond, time.Millisecond, 1, "ok")
	}
	size := heapNow() - before
	if size > 64<<20 || size < 10<<20 {
		t.Errorf("the index takes %d bytes for 600,000 objects", size)
	}
	t.Logf("%.1f MiB", float64(size)/(1<<20))
	f.Hottest("a", 1)
}

func TestIndexForgetsNamespaces(t *testing.T) {
	f := newFleet()
	for i := range 500 {
		f.work(fmt.Sprintf("script-%d", i), 1, time.Millisecond, time.Millisecond, 1, "ok")
		f.at = f.at.Add(time.Second)
	}
	if got := len(f.Hottest("", 1000)); got > 128 {
		t.Errorf("%d namespaces are kept", got)
	}
	if got := f.Hottest("script-499", 1); len(got) != 1 {
		t.Error("the newest namespace is gone")
	}
}

func BenchmarkIndexAdd(b *testing.B) {
	w := newWorld(1, 1, 200_000, 20_000, 1)
	var events []triggers.Event
	for range 100_000 {
		k := int(w.spaces[0].zipf.Uint64())
		events = append(events, triggers.Event{
			Shape: triggers.ShapeLoad, Script: "api-0", Entrypoint: "Object", ObjectID: w.id(0, k), ExecutionModel: "durableObject",
			Outcome: "ok", CPU: time.Millisecond, Wall: time.Millisecond, Count: 1,
		})
	}
	ix := triggers.NewIndex(time.Now)
	i := 0
	for b.Loop() {
		ix.Add(events[i%len(events)])
		i++
	}
}

func BenchmarkIndexSuspect(b *testing.B) {
	w := newWorld(1, 4, 60_000, 10_000, 1)
	w.episodes(0, 40, 0, nil)
	for b.Loop() {
		w.index.Suspect(caller)
	}
}
