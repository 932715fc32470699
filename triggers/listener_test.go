package triggers_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snapflame/snapflame/triggers"
)

type seen struct {
	mu       sync.Mutex
	events   map[string]int64
	troubles []error
}

func (s *seen) options(o triggers.Options) triggers.Options {
	s.events = map[string]int64{}
	o.Observe = func(c triggers.Class, a triggers.Action, n int64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.events[string(c)+"/"+string(a)] += n
	}
	o.Trouble = func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.troubles = append(s.troubles, err)
	}
	return o
}

// listen runs a listener in a bubble for a while of its time.
func listen(t *testing.T, q *queue, d *desk, o triggers.Options, during func()) *seen {
	t.Helper()
	s := &seen{}
	l, err := triggers.NewListener(q, d, d, s.options(o))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- l.Run(ctx) }()
	during()
	stop()
	if err := <-done; err != nil {
		t.Errorf("run: %v", err)
	}
	return s
}

func healthy(script string) string {
	return `{"scriptName":"` + script + `","outcome":"ok","cpuTime":1,"exceptions":[],"logs":[]}`
}

func failing(script string) string {
	return `{"scriptName":"` + script + `","executionModel":"stateless","outcome":"exceededCpu","cpuTime":1,"event":{"request":{"method":"GET","url":"https://x/a?b","headers":{"content-length":"7"},"cf":{"colo":"FRA"}}},"exceptions":[{"message":"Worker exceeded CPU time limit."}],"logs":[]}`
}

func TestListenerOneIncidentManyJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, d := newQueue(), newDesk()
		for i := range 10_000 {
			q.publish(failing([]string{"a", "b"}[i%2]))
			if i%10 == 0 {
				q.publish(healthy("c"))
			}
		}
		recent := triggers.NewRecent(100)
		s := listen(t, q, d, triggers.Options{Batch: 700, Recent: recent}, func() { time.Sleep(3 * time.Second) })
		if q.open() != 0 {
			t.Errorf("%d messages are not acknowledged", q.open())
		}
		if len(d.open) != 2 || d.handled != 2 {
			t.Errorf("%d incidents, %d calls of Handle; want 2 and 2", len(d.open), d.handled)
		}
		for key, n := range d.counts {
			if n != 5000 {
				t.Errorf("%s counts %d, want 5000", key, n)
			}
		}
		want := map[string]int64{"exceeded_cpu/capture": 2, "exceeded_cpu/join": 9998, "none/ignore": 1000}
		if !maps.Equal(s.events, want) || len(s.troubles) > 0 {
			t.Errorf("observed %v and %v, want %v", s.events, s.troubles, want)
		}
		if one := d.tallies[0]; one.Routes["GET /a"] != one.Count || one.Colos["FRA"] != one.Count || one.MaxSize != 7 || len(one.Sizes) == 0 || len(one.PerMinute) != 1 || one.Scripts["a"]+one.Scripts["b"] != one.Count {
			t.Errorf("a tally is %+v", one)
		}
		var minutes, slots int64
		for _, tally := range d.tallies {
			for m, n := range tally.PerMinute {
				minutes += n
				for slot, versions := range tally.Slots {
					if slot/6 == m {
						slots += versions[""]
					}
				}
			}
		}
		if want := d.counts[d.tallies[0].IncidentKey] * 2; minutes+2 != want || slots != minutes {
			t.Errorf("%d events in minutes and %d in slots, want %d in both: all but the two that opened", minutes, slots, want-2)
		}
		if past := recent.List(10, nil); len(past) != 2 || past[0].Decision.IncidentID == "" || past[0].Decision.Sentence == "" {
			t.Errorf("remembered %+v", past)
		}
	})
}

func TestListenerJoinsWhatIsOpenElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// An incident that is open elsewhere: the event that Handle was asked
		// about is tallied too.
		q, d := newQueue(failing("a"), failing("a"), "["+failing("a")+","+healthy("x")+","+failing("a")+"]"), newDesk()
		d.open["exceeded_cpu."+triggers.Target{Kind: triggers.TargetWorker, Script: "a"}.Key()] = "inc-0"
		s := listen(t, q, d, triggers.Options{}, func() { time.Sleep(time.Second) })
		if want := map[string]int64{"exceeded_cpu/join": 4, "none/ignore": 1}; !maps.Equal(s.events, want) || len(d.tallies) != 1 || d.tallies[0].Count != 4 {
			t.Errorf("observed %v, tallied %+v", s.events, d.tallies)
		}
	})
}

func TestListenerAsksAgainAfterTheQuietPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, d := newQueue(failing("a")), newDesk()
		listen(t, q, d, triggers.Options{}, func() {
			time.Sleep(time.Second)
			d.mu.Lock()
			clear(d.open) // it closed
			d.mu.Unlock()
			time.Sleep(time.Hour)
			q.publish(failing("a"))
			time.Sleep(time.Second)
		})
		if d.handled != 2 || len(d.open) != 1 {
			t.Errorf("handled %d times, %d open", d.handled, len(d.open))
		}
	})
}

func TestListenerBuriesBeforeItAcknowledges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue("{", "["+failing("a")+",7]", "hello", "", strings.Repeat("[", 100_000), healthy("b"))
		d := newDesk()
		d.deadErr = errors.New("full")
		s := listen(t, q, d, triggers.Options{}, func() {
			time.Sleep(5 * time.Second)
			d.mu.Lock()
			buried := len(d.dead)
			d.mu.Unlock()
			if q.open() != 5 || buried != 0 {
				t.Errorf("%d open while nothing can be buried, want 5", q.open())
			}
			d.mu.Lock()
			d.deadErr = nil
			d.mu.Unlock()
			time.Sleep(time.Minute)
		})
		if q.open() != 0 || len(d.dead) != 5 || len(s.troubles) == 0 {
			t.Errorf("%d open, %d buried", q.open(), len(d.dead))
		}
		for _, l := range d.dead {
			if l.Reason == "" || l.Subject == "" || l.Sequence == 0 || l.At.IsZero() {
				t.Errorf("buried %+v", l)
			}
		}
	})
}

func TestListenerBuriesAFloodOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, d := newQueue("["+strings.Repeat("7,", 50_000)+"7]"), newDesk()
		listen(t, q, d, triggers.Options{}, func() { time.Sleep(time.Second) })
		if q.open() != 0 || len(d.dead) != 100 || len(d.dead[99].Data) != 100_003 {
			t.Errorf("%d letters", len(d.dead))
		}
	})
}

func TestListenerRetriesWhatTheSinkRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, d := newQueue(failing("a"), failing("b"), healthy("c"), failing("a")), newDesk()
		bad := "exceeded_cpu." + triggers.Target{Kind: triggers.TargetWorker, Script: "a"}.Key()
		d.failing = func(key string) error {
			if key == bad {
				return errors.New("no quorum")
			}
			return nil
		}
		s := listen(t, q, d, triggers.Options{}, func() {
			time.Sleep(10 * time.Second)
			if q.open() != 2 {
				t.Errorf("%d open, want the two of the failing incident", q.open())
			}
			d.mu.Lock()
			d.failing = nil
			d.mu.Unlock()
			time.Sleep(time.Minute)
		})
		if q.open() != 0 || d.counts[bad] != 2 {
			t.Errorf("%d open, counted %d of 2", q.open(), d.counts[bad])
		}
		for _, m := range q.all {
			for i, r := range m.retries {
				if r < time.Second || i > 0 && r < m.retries[i-1] {
					t.Errorf("retried after %v", m.retries)
				}
			}
		}
		if want := map[string]int64{"exceeded_cpu/capture": 2, "exceeded_cpu/join": 1, "none/ignore": 1}; !maps.Equal(s.events, want) {
			t.Errorf("observed %v, want each event once: %v", s.events, want)
		}
	})
}

func TestListenerRetriesTallies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, d := newQueue(failing("a")), newDesk()
		listen(t, q, d, triggers.Options{}, func() {
			time.Sleep(time.Second)
			d.mu.Lock()
			d.tallyErr = errors.New("down")
			d.mu.Unlock()
			for range 5 {
				q.publish(failing("a"))
			}
			time.Sleep(20 * time.Second)
			if q.open() != 5 {
				t.Errorf("%d open while tallies fail, want 5", q.open())
			}
			d.mu.Lock()
			d.tallyErr = nil
			d.mu.Unlock()
			time.Sleep(time.Minute)
		})
		for _, n := range d.counts {
			if n != 6 {
				t.Errorf("counted %d, want 6", n)
			}
		}
		if q.open() != 0 {
			t.Errorf("%d open", q.open())
		}
	})
}

func TestListenerSilencedByTheSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, d := newQueue(failing("a"), failing("a")), newDesk()
		d.silenced = true
		recent := triggers.NewRecent(10)
		s := listen(t, q, d, triggers.Options{Recent: recent}, func() { time.Sleep(time.Second) })
		if want := map[string]int64{"exceeded_cpu/ignore": 2}; !maps.Equal(s.events, want) || len(d.tallies) != 0 {
			t.Errorf("observed %v, tallied %v", s.events, d.tallies)
		}
		if past := recent.List(5, nil); len(past) != 1 || past[0].Decision.Reason != triggers.ReasonSilenced {
			t.Errorf("remembered %+v", past)
		}
	})
}

func TestListenerReloadsRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, d, s := newQueue(), newDesk(), &seen{}
		l, err := triggers.NewListener(q, d, d, s.options(triggers.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.Run(ctx) }()
		l.SetRules(compile(t, triggers.Rule{Name: "off", Ignore: true}))
		q.publish(failing("a"))
		time.Sleep(time.Second)
		l.SetRules(builtin(t))
		q.publish(failing("a"))
		time.Sleep(time.Second)
		stop()
		<-done
		if want := map[string]int64{"exceeded_cpu/ignore": 1, "exceeded_cpu/capture": 1}; !maps.Equal(s.events, want) {
			t.Errorf("observed %v, want %v", s.events, want)
		}
	})
}

func TestListenerSurvivesItsSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, d := newQueue(failing("a")), newDesk()
		q.err = errors.New("no responders")
		s := listen(t, q, d, triggers.Options{}, func() { time.Sleep(10 * time.Second) })
		if q.open() != 0 || len(s.troubles) != 1 {
			t.Errorf("%d open, troubles %v", q.open(), s.troubles)
		}
	})
}

// TestListenerGoesTheWayOfExplain: what serve decides of the recorded events is
// what explain says of them, pre-look or not.
func TestListenerGoesTheWayOfExplain(t *testing.T) {
	data, err := os.ReadFile("testdata/events.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	for _, line := range triggers.ExplainAll(data, builtin(t), now()) {
		want[string(line.Class)+"/"+string(line.Decision)]++
	}
	synctest.Test(t, func(t *testing.T) {
		q, d := newQueue(string(data)), newDesk()
		s := listen(t, q, d, triggers.Options{}, func() { time.Sleep(time.Second) })
		got := map[string]int64{}
		for k, n := range s.events {
			got[strings.Replace(k, "/join", "/report", 1)] += n
		}
		// Callers of one script share the incident of their unknown object.
		if got["overloaded/report"] != want["overloaded/report"] || got["none/ignore"] != want["none/ignore"] || got["exceeded_memory/capture"] != want["exceeded_memory/capture"] || len(d.dead) != 0 {
			t.Errorf("got %v, want %v", s.events, want)
		}
	})
}
