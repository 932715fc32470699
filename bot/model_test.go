package bot_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

// schedules is how many; the long form is -schedules 5000.
var schedules = flag.Int("schedules", 40, "random schedules to run")

// Random schedules of events, captures, crashes, failing calls and clock steps
// over two replicas: nothing doubled, nothing lost.
func TestRandomSchedules(t *testing.T) {
	for seed := range *schedules {
		m := newModel(t, uint64(seed))
		m.run()
		if t.Failed() {
			t.Fatalf("seed %d\n%s", seed, strings.Join(m.trace, "\n"))
		}
	}
}

type model struct {
	t      *testing.T
	r      *rand.Rand
	s      *store
	now    time.Time
	newID  func() string
	procs  [2]*process
	desks  [2]*bot.Desk
	nested bool
	calm   bool // no more faults: the end of the schedule
	events int64
	undone []triggers.Tally // joined and not yet counted durably
	news   []capture.Record // to be told until somebody has taken it in
	trace  []string
	objs   []string
}

func newModel(t *testing.T, seed uint64) *model {
	t.Helper()
	m := &model{t: t, r: rand.New(rand.NewPCG(seed, 7)), s: newStore(), now: start, newID: ids()}
	m.objs = []string{objectID, strings.Repeat("ab", 32)}
	m.s.watch = []func(bot.Case, uint64, bool){nil, nil}
	for i := range m.desks {
		m.restart(i)
	}
	return m
}

// plan has one follow-up of the first capture, and then a merged series of two.
func (m *model) plan(_ bot.Case, v bot.CaptureView, now time.Time) []bot.FollowUp {
	switch {
	case strings.HasSuffix(v.Record.ID, "-1"):
		return []bot.FollowUp{{Type: capture.Heap, NotBefore: now.Add(time.Minute), Note: "91 % garbage collector: heap next"}}
	case strings.HasSuffix(v.Record.ID, "-2"):
		return []bot.FollowUp{{Type: capture.Heap, Note: "one more isolate", Series: true}}
	}
	return nil
}

func (m *model) restart(i int) {
	p := &process{s: m.s}
	p.hook = func(op string) (error, error) {
		if m.calm {
			return nil, nil
		}
		if op != "open" && !m.nested && m.r.IntN(8) == 0 {
			// The other replica comes in between the reading and the writing.
			m.nested = true
			m.interfere(1 - i)
			m.nested = false
		}
		switch n := m.r.IntN(40); n {
		case 0:
			p.dead = true // before the call
		case 1:
			return errors.New("network"), nil
		case 2:
			return nil, errors.New("answer lost")
		}
		return nil, nil
	}
	m.procs[i] = p
	m.desks[i] = desk(p, func() time.Time { return m.now }, m.newID, m.plan)
	m.s.watch[i] = m.desks[i].Saw
	for _, e := range m.s.open {
		m.desks[i].Saw(decode(e.raw), e.rev, false)
	}
}

func (m *model) run() {
	ctx := m.t.Context()
	for range 120 {
		m.step(ctx)
	}
	m.calm = true
	for i := range m.procs {
		m.restart(i)
	}
	for range 60 {
		m.tell(ctx)
		m.count(ctx)
		m.capture()
		m.now = m.now.Add(20 * time.Second)
		m.desks[0].Sweep(ctx)
		m.desks[1].Sweep(ctx)
	}
	m.now = m.now.Add(25 * time.Hour)
	for range 10 {
		m.now = m.now.Add(5 * time.Second)
		m.desks[0].Sweep(ctx)
	}
	m.check()
}

func (m *model) step(ctx context.Context) {
	for i, p := range m.procs {
		if p.dead {
			m.restart(i)
		}
	}
	i := m.r.IntN(2)
	switch n := m.r.IntN(10); n {
	case 0, 1, 2:
		m.event(ctx, i)
	case 3:
		m.count(ctx)
	case 4, 5:
		m.capture()
	case 6:
		m.tell(ctx)
	case 7, 8:
		m.now = m.now.Add(time.Duration(m.r.IntN(5000)) * time.Millisecond)
		m.desks[i].Sweep(ctx)
	default:
		if m.r.IntN(6) == 0 {
			m.now = m.now.Add(11 * time.Minute)
		}
		m.desks[i].Sweep(ctx)
	}
}

// interfere is what another replica does while one is in the middle of something.
func (m *model) interfere(i int) {
	ctx := m.t.Context()
	if len(m.s.archive) > 0 || m.r.IntN(2) == 0 {
		m.now = m.now.Add(4 * time.Second)
		m.desks[i].Sweep(ctx)
		return
	}
	d := overload(m.now, m.objs[0])
	c, _, err := m.s.OpenCase(ctx, d.IncidentKey())
	if err != nil {
		return
	}
	m.events++
	d.IncidentID = c.ID
	if one := tallyOf(d, 1, m.now); m.desks[i].Tally(ctx, []triggers.Tally{one}) != nil {
		m.undone = append(m.undone, one)
	}
}

// event is delivered until it is durable, as the stream would.
func (m *model) event(ctx context.Context, i int) {
	d := overload(m.now, m.objs[m.r.IntN(len(m.objs))])
	m.events++
	for {
		got, err := m.desks[i].Handle(ctx, d)
		m.trace = append(m.trace, fmt.Sprintf("%s event on %d: %s %s %v", m.now.Format(time.TimeOnly), i, got.Action, got.IncidentID, err))
		if err == nil {
			if got.Action == triggers.ActionJoin {
				m.undone = append(m.undone, tallyOf(got, 1, m.now))
			}
			return
		}
		if m.procs[i].dead {
			m.restart(i)
		}
	}
}

func (m *model) count(ctx context.Context) {
	i := m.r.IntN(2)
	batch := m.undone
	m.undone = nil
	for _, one := range batch {
		if err := m.desks[i].Tally(ctx, []triggers.Tally{one}); err != nil {
			m.trace = append(m.trace, fmt.Sprintf("tally: %v", err))
			m.undone = append(m.undone, one)
		}
	}
}

// capture runs the jobs: each at most once, as its record would see to.
func (m *model) capture() {
	for key, job := range m.s.queue {
		if job.NotBefore.After(m.now) {
			continue
		}
		delete(m.s.queue, key)
		if m.s.ran[job.ID] > 0 {
			continue // its record says that it is done
		}
		m.s.ran[job.ID]++
		r := capture.Record{Job: job, State: capture.Started, StartedAt: m.now, Attempts: 1}
		m.news = append(m.news, r)
		r.State, r.EndedAt = capture.Stored, m.now
		if m.r.IntN(4) == 0 {
			r.State, r.Failure = capture.Failed, &capture.Failure{Kind: capture.FailNoIsolate, Message: "The Worker has no loaded isolate"}
		}
		m.news = append(m.news, r)
	}
}

func (m *model) tell(ctx context.Context) {
	i := m.r.IntN(2)
	var kept []capture.Record
	for _, r := range m.news {
		err := m.desks[i].CaptureChanged(ctx, r)
		m.trace = append(m.trace, fmt.Sprintf("tell %s %s: %v", r.ID, r.State, err))
		if err != nil {
			kept = append(kept, r)
		} else if m.r.IntN(5) == 0 && !m.calm {
			kept = append(kept, r) // redelivered although taken in
		}
	}
	m.news = kept
}

func (m *model) check() {
	t := m.t
	if len(m.s.open) != 0 || len(m.news) != 0 || len(m.undone) != 0 {
		for _, e := range m.s.open {
			t.Logf("open: %s", e.raw)
		}
		t.Errorf("left over: %d open, %d news, %d tallies", len(m.s.open), len(m.news), len(m.undone))
	}
	var counted int64
	for id, raw := range m.s.archive {
		c := decode(raw)
		counted += c.Count
		if len(c.Pending) > 0 {
			t.Errorf("%s archived with %d effects pending", id, len(c.Pending))
		}
		want := []string{id + ".root", id + ".evidence", id + ".closed"}
		for _, v := range c.Captures {
			if m.s.ran[v.Record.ID] != 1 {
				t.Errorf("capture %s ran %d times, want once", v.Record.ID, m.s.ran[v.Record.ID])
			}
			head := v.Series
			if head == "" {
				head = v.Record.ID
			}
			want = append(want, id+".report."+head)
		}
		for _, key := range want {
			got, ok := m.s.posts[key]
			if !ok {
				t.Errorf("post %s was lost", key)
				continue
			}
			w := bot.Writer{}
			now, ok := w.Post(c, key, got.At)
			if !got.Once && (!ok || !reflect.DeepEqual(now.Card, got.Card)) {
				t.Errorf("%s is behind its incident:\ngot  %+v\nwant %+v", key, got.Card, now.Card)
			}
		}
		if m.s.puts[id+".closed"] != 1 {
			t.Errorf("%s: %d closing notices, want 1", id, m.s.puts[id+".closed"])
		}
	}
	if counted < m.events {
		t.Errorf("%d events counted of %d", counted, m.events)
	}
	for key := range m.s.posts {
		id, _, _ := strings.Cut(key, ".")
		if _, ok := m.s.archive[id]; !ok {
			t.Errorf("post %s belongs to no incident", key)
		}
	}
	if !slices.ContainsFunc(m.trace, func(s string) bool { return strings.Contains(s, "capture") }) {
		t.Error("the schedule opened nothing: it proves nothing")
	}
}
