package capture_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/capture/cloudflare"
	"github.com/snapflame/snapflame/capture/fakecf"
)

var (
	schedules = flag.Int("schedules", 30, "random schedules of the model test") // .ci/long runs 5000
	firstSeed = flag.Uint64("seed", 1, "first seed of the model test")
)

// TestModel drives several replicas through random events, failures of
// Cloudflare and of the store, clock steps, SIGTERMs and SIGKILLs, then checks
// from the outside, by what the simulated Cloudflare saw: no two captures of a
// target closer than the spacing, never above a limit, never "latest", every
// job ended as a stored profile or a stated failure, nothing left over.
func TestModel(t *testing.T) {
	for i := range *schedules {
		seed := *firstSeed + uint64(i)
		ok := t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newModel(t, seed).run() })
		})
		if !ok {
			return // one is enough to look at
		}
	}
}

type model struct {
	t      *testing.T
	rng    *rand.Rand
	w      *world
	cf     *fakecf.Server
	limits capture.Limits
	start  time.Time
	until  time.Duration // faults and kills end here
	offset atomic.Int64  // of the stepped clock
	jobs   []capture.Job

	steps []step
	kills []string
	reps  []*replica
}

// step is when the clock of all replicas was changed, and to what.
type step struct {
	at     time.Time
	offset time.Duration
}

func newModel(t *testing.T, seed uint64) *model {
	t.Helper()
	m := &model{
		t: t, rng: rand.New(rand.NewPCG(seed, 7)), w: newWorld(), start: time.Now(), until: 40 * time.Minute,
	}
	m.limits = capture.Limits{Spacing: time.Duration(5+m.rng.IntN(60)) * time.Second, PerHour: 5 + m.rng.IntN(40), Concurrency: 1 + m.rng.IntN(4)}
	m.w.now = m.now
	m.cf = &fakecf.Server{AccountID: "acc", RetryAfter: []string{"", "seconds", "date"}[m.rng.IntN(3)]}
	if m.rng.IntN(3) == 0 {
		m.cf.CaptureLimit, m.cf.CaptureWindow = 1+m.rng.IntN(4), time.Minute
	}
	bytes := sample(t)
	m.cf.Bytes = func(fakecf.Capture) []byte { return bytes }
	m.cf.AddWorker(fakecf.Worker{Name: "api", Versions: []fakecf.Version{{ID: v1, Percent: 60}, {ID: v1[:35] + "2", Percent: 40}, {ID: v1[:35] + "3", Quiet: true}}})
	m.cf.AddWorker(fakecf.Worker{Name: "room", Versions: []fakecf.Version{{ID: v1, Percent: 100}}})
	m.cf.AddNamespace(fakecf.Namespace{ID: "ns", Class: "Room", Script: "room"})
	for i := range 3 {
		m.cf.AddObject(fakecf.Object{ID: object(i), Namespace: "ns", Version: v1})
	}
	m.faults()
	return m
}

func object(i int) string { return strings.Repeat("0", 63) + string(rune('a'+i)) }

func (m *model) now() time.Time { return time.Now().Add(time.Duration(m.offset.Load())) }

func (m *model) troubled() bool { return time.Since(m.start) < m.until }

// faults makes Cloudflare and the store unreliable until the trouble is over.
func (m *model) faults() {
	rng := rand.New(rand.NewPCG(m.rng.Uint64(), 1))
	share := m.rng.IntN(60)
	var mu sync.Mutex
	m.cf.Fault = func(fakecf.Request) *fakecf.Fault {
		mu.Lock()
		defer mu.Unlock()
		if !m.troubled() || rng.IntN(100) >= share {
			return nil
		}
		all := []fakecf.Fault{
			{Status: 502, Body: []byte("<html>")},
			{Status: 500, Code: 7, Message: "oops"},
			{ResetBefore: true},
			{ResetAfter: true},
			{Empty: true},
			{Truncate: true},
			{Cut: true},
			{Hang: true},
			{Status: 429, RetryAfter: "9"},
			{Status: 429},
			{Delay: 20 * time.Second},
			{Status: 404, Code: 10393, Message: "No recent executions were found for this Worker."},
			{Replace: []byte("{}")},
			{Status: 503, Message: "The Worker has no loaded isolate in its recent execution locations."},
			{Status: 403, Code: 10000, Message: "Authentication error"},
		}
		return &all[rng.IntN(len(all))]
	}
	sick, dice := m.rng.IntN(8), rand.New(rand.NewPCG(m.rng.Uint64(), 2))
	m.w.err = func(op string) error { // the world's lock is held
		if m.troubled() && dice.IntN(100) < sick {
			return errors.New(op + " failed")
		}
		return nil
	}
}

// replica is one process: what it does after its death reaches nothing.
type replica struct {
	*world
	cf     *cloudflare.Client
	dead   atomic.Bool
	cancel context.CancelFunc
	done   chan struct{}
}

var errDead = errors.New("dead")

func (r *replica) Next(ctx context.Context, wait time.Duration) (capture.Task, error) {
	if r.dead.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return r.next(ctx, wait, r.dead.Load)
}

func (r *replica) PutRecord(ctx context.Context, rec capture.Record, rev uint64) (uint64, error) {
	if r.dead.Load() {
		return 0, errDead
	}
	return r.world.PutRecord(ctx, rec, rev)
}

func (r *replica) Change(ctx context.Context, f func(capture.Budget) (capture.Budget, error)) error {
	if r.dead.Load() {
		return errDead
	}
	return r.world.Change(ctx, f)
}

func (r *replica) PutProfile(ctx context.Context, id string, data []byte) error {
	if r.dead.Load() {
		return errDead
	}
	return r.world.PutProfile(ctx, id, data)
}

func (r *replica) CaptureChanged(ctx context.Context, rec capture.Record) error {
	if r.dead.Load() {
		return errDead
	}
	return r.world.CaptureChanged(ctx, rec)
}

func (m *model) spawn() *replica {
	cf, err := cloudflare.New(cloudflare.Options{AccountID: "acc", Token: "x", BaseURL: "http://cf", HTTP: m.cf.Transport(), Now: m.now})
	if err != nil {
		m.t.Fatal(err)
	}
	r := &replica{world: m.w, cf: cf, done: make(chan struct{})}
	p := capture.Parts{Queue: r, Records: r, Ledger: r, Profiles: r, Observer: r, API: cf, Resolver: cf}
	run, err := capture.NewRunner(p, capture.Options{Now: m.now, Limits: func() capture.Limits { return m.limits }, MaxWait: 12 * time.Hour})
	if err != nil {
		m.t.Fatal(err)
	}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(m.t.Context())
	go func() { defer close(r.done); _ = run.Run(ctx) }()
	return r
}

// kill ends a process: at once, or as SIGTERM does.
func (m *model) kill(r *replica, hard bool) {
	m.kills = append(m.kills, fmt.Sprintf("%v %v", time.Since(m.start), hard))
	r.dead.Store(hard)
	r.cancel()
}

func (m *model) job(i int) capture.Job {
	j := capture.Job{
		ID: fmt.Sprintf("j%d", i), Type: []capture.Type{capture.CPU, capture.Heap}[m.rng.IntN(2)], Duration: time.Duration(1+m.rng.IntN(30)) * time.Second,
		Cause: []capture.Cause{capture.CauseIncident, capture.CauseIncident, capture.CauseCommand, capture.CauseFollowUp}[m.rng.IntN(4)], QueuedAt: m.now(), FailureAt: m.now(),
	}
	switch k := m.rng.IntN(5); k {
	case 0:
		j.Target = capture.Target{Kind: capture.Worker, Script: "api"}
	case 1:
		j.Target = capture.Target{Kind: capture.DurableObject, ObjectID: object(3)} // nobody's
	default:
		j.Target = capture.Target{Kind: capture.DurableObject, ObjectID: object(k - 2)}
		if m.rng.IntN(2) == 0 {
			j.Target.Script, j.Target.Class, j.Target.VersionID = "room", "Room", v1
		}
	}
	if m.rng.IntN(5) == 0 {
		j.NotBefore = m.now().Add(time.Duration(m.rng.IntN(300)) * time.Second)
	}
	j.Priority = capture.PriorityOf(j.Cause, capture.Overloaded)
	return j
}

func (m *model) run() {
	n := 1 + m.rng.IntN(3)
	for range n {
		m.reps = append(m.reps, m.spawn())
	}
	for m.troubled() {
		time.Sleep(time.Duration(1+m.rng.IntN(120)) * time.Second)
		switch m.rng.IntN(10) {
		case 0, 1, 2, 3:
			if len(m.jobs) < 15 {
				m.jobs = append(m.jobs, m.job(len(m.jobs)))
				m.w.submit(m.jobs[len(m.jobs)-1])
			}
		case 4, 5, 6:
			i := m.rng.IntN(n)
			m.kill(m.reps[i], m.rng.IntN(3) > 0)
			m.reps = append(m.reps, m.reps[i])
			m.reps[i] = m.spawn()
		case 7:
			time.Sleep(time.Duration(1 + m.rng.IntN(999))) // at a moment at which nothing else happens
			off := m.offset.Add(int64(time.Duration(m.rng.IntN(240)-120) * time.Second))
			m.steps = append(m.steps, step{time.Now(), time.Duration(off)})
			m.w.mu.Lock()
			m.w.wake()
			m.w.mu.Unlock()
		default:
			loaded := m.rng.IntN(2) == 0
			if err := m.cf.ChangeVersion("room", v1, func(v *fakecf.Version) { v.Unloaded = !loaded }); err != nil {
				m.t.Fatal(err)
			}
		}
	}
	_ = m.cf.ChangeVersion("room", v1, func(v *fakecf.Version) { v.Unloaded = false })
	for end := time.Now().Add(24 * time.Hour); m.w.left() > 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Second)
	}
	for _, r := range m.reps {
		r.cancel()
		<-r.done
	}
	m.check()
}

func (m *model) check() {
	t := m.t
	for _, j := range m.jobs {
		r := m.w.record(j.ID)
		data, kept := m.w.profiles[j.ID]
		sum := sha256.Sum256(data)
		switch {
		case r.State == capture.Stored && (!kept || hex.EncodeToString(sum[:]) != r.SHA256):
			t.Errorf("%s is stored without its bytes", j.ID)
		case r.State == capture.Failed && (kept || r.Failure == nil || r.Failure.Kind == ""):
			t.Errorf("%s failed for %v and left bytes: %v", j.ID, r.Failure, kept)
		case !r.Final():
			t.Errorf("%s ended as %s %s: %v", j.ID, r.State, r.WaitFor, m.w.story(j.ID))
		}
		if s := m.w.story(j.ID); len(s) == 0 || !strings.HasPrefix(s[len(s)-1], "stored") && !strings.HasPrefix(s[len(s)-1], "failed") {
			t.Errorf("%s: the end was not told: %v", j.ID, s)
		}
	}
	if m.w.left() > 0 {
		t.Errorf("%d jobs are left in the queue", m.w.left())
	}
	var ran []fakecf.Capture
	for _, c := range m.cf.Captures() {
		if c.Version == "latest" {
			t.Errorf("asked for latest: %+v", c)
		}
		if c.Outcome != "refused" {
			ran = append(ran, c)
		}
	}
	m.checkSpacing(ran)
	defer m.explain()
	var asked []time.Time // when requests left, which a slow network may delay
	for _, r := range m.cf.Requests() {
		if r.Profile() {
			asked = append(asked, r.At)
		}
	}
	var stepped []time.Time
	for _, at := range asked {
		stepped = append(stepped, m.stepped(at))
	}
	if m.overBudget(asked) && m.overBudget(stepped) {
		t.Errorf("more than %d requests within an hour: %v", m.limits.PerHour, asked)
	}
	for _, c := range ran {
		at := 0
		for _, o := range ran {
			// A clock that jumps ends leases, and a request whose sender died may
			// have been slow to arrive: neither can be known.
			known := m.stepped(c.Asked).Sub(m.stepped(o.Asked)) < o.Duration && c.Asked.Sub(o.Asked) < o.Duration &&
				!m.steppedIn(o.Asked.Add(-time.Minute), c.Asked)
			if o.N == c.N || !o.At.After(c.At) && o.End.After(c.At) && known {
				at++
			}
		}
		if at > m.limits.Concurrency {
			t.Errorf("%d captures at %v, %d may", at, c.At.Sub(m.start), m.limits.Concurrency)
		}
	}
}

// stepped is a moment by the clock of the replicas.
func (m *model) stepped(t time.Time) time.Time {
	off := time.Duration(0)
	for _, s := range m.steps {
		if !s.at.After(t) {
			off = s.offset
		}
	}
	return t.Add(off)
}

func (m *model) steppedIn(from, to time.Time) bool {
	return slices.ContainsFunc(m.steps, func(s step) bool { return s.at.After(from) && s.at.Before(to) })
}

// checkSpacing counts two captures as too close only when they were by the true
// clock and by what their replicas could know: the stepped clock, and when each
// request left. A clock that jumps ahead takes the spacing with it, and a
// request whose sender died may have been slow to arrive.
func (m *model) checkSpacing(ran []fakecf.Capture) {
	byTarget := map[string][]fakecf.Capture{}
	for _, c := range ran {
		byTarget[c.Target()] = append(byTarget[c.Target()], c)
	}
	for target, cs := range byTarget {
		slices.SortFunc(cs, func(a, b fakecf.Capture) int { return a.Asked.Compare(b.Asked) })
		for i := 1; i < len(cs); i++ {
			a, b := cs[i-1], cs[i]
			gap := b.At.Sub(a.End)
			if gap < m.limits.Spacing && m.stepped(b.Asked).Sub(m.stepped(a.Asked))-a.Duration < m.limits.Spacing {
				m.t.Errorf("%s: captures %v apart at %v, the spacing is %v", target, gap, b.At.Sub(m.start), m.limits.Spacing)
			}
		}
	}
}

func (m *model) overBudget(at []time.Time) bool {
	slices.SortFunc(at, time.Time.Compare)
	for i := range at {
		if k := i - m.limits.PerHour; k >= 0 && at[i].Sub(at[k]) < time.Hour {
			return true
		}
	}
	return false
}

// explain logs what a failed schedule did.
func (m *model) explain() {
	if !m.t.Failed() {
		return
	}
	for _, c := range m.cf.Captures() {
		m.t.Logf("capture %d of %s: asked %v, %v to %v, %v, %s %d", c.N, c.Target(), c.Asked.Sub(m.start), c.At.Sub(m.start), c.End.Sub(m.start), c.Duration, c.Outcome, c.Status)
	}
	for _, j := range m.jobs {
		r := m.w.record(j.ID)
		m.t.Logf("job %s on %s: %s at %v, %v", j.ID, j.Target.Key(), r.State, r.StartedAt.Sub(m.start), m.w.story(j.ID))
	}
	m.t.Logf("killed at %v; %+v", m.kills, m.limits)
	for _, s := range m.steps {
		m.t.Logf("clock %v from %v", s.offset, s.at.Sub(m.start))
	}
}
