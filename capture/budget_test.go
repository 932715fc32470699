package capture_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/snapflame/snapflame/capture"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func on(id, object string) capture.Job {
	return capture.Job{ID: id, Duration: 10 * time.Second, Cause: capture.CauseIncident, Target: capture.Target{Kind: capture.DurableObject, ObjectID: object}}
}

func TestReserve(t *testing.T) {
	l := capture.Limits{Spacing: time.Minute, PerHour: 3, Concurrency: 2}
	take := func(b capture.Budget, at time.Duration, j capture.Job) capture.Budget {
		b, s := b.Reserve(noon.Add(at), j, l, 0)
		if !s.Granted {
			t.Fatalf("%s at %v: refused until %v for %s", j.ID, at, s.At.Sub(noon), s.Wait)
		}
		return b
	}
	end := func(b capture.Budget, at time.Duration, j capture.Job, how capture.Ending) capture.Budget {
		return b.Release(noon.Add(at), j, how, noon.Add(at))
	}
	s := time.Second
	one := take(capture.Budget{}, 0, on("1", "x"))
	two := take(one, s, on("2", "y"))
	done := end(one, 10*s, on("1", "x"), capture.Ran)
	three := end(take(end(take(done, 11*s, on("2", "y")), 21*s, on("2", "y"), capture.Ran), 22*s, on("3", "z")), 32*s, on("3", "z"), capture.Ran)
	base := on("b", "q")
	base.Cause = capture.CauseBaseline
	for name, c := range map[string]struct {
		b     capture.Budget
		at    time.Duration
		job   capture.Job
		ahead int
		until time.Duration
		wait  capture.WaitCause
	}{
		"free":                        {one, s, on("2", "y"), 0, s, ""},
		"same target, running":        {one, s, on("2", "x"), 0, 70 * s, capture.WaitSpacing},
		"same target, just too early": {done, 70*s - 1, on("2", "x"), 0, 70 * s, capture.WaitSpacing},
		"same target, just in time":   {done, 70 * s, on("2", "x"), 0, 70 * s, ""},
		"its own reservation again":   {one, s, on("1", "x"), 0, 70 * s, capture.WaitSpacing},
		"refused, so no spacing":      {end(one, s, on("1", "x"), capture.Refused), 2 * s, on("2", "x"), 0, 2 * s, ""},
		"two run":                     {two, 2 * s, on("3", "z"), 0, 10 * s, capture.WaitConcurrency},
		"two run, one ahead":          {two, 2 * s, on("3", "z"), 1, 11 * s, capture.WaitConcurrency},
		"two run, two ahead":          {two, 2 * s, on("3", "z"), 2, 20 * s, capture.WaitConcurrency},
		"a lease that nobody ends":    {two, 61 * s, on("3", "z"), 0, 61 * s, ""},
		"a target that nobody ends":   {one, 69 * s, on("3", "x"), 0, 70 * s, capture.WaitSpacing},
		"hour used up":                {three, 40 * s, on("4", "w"), 0, time.Hour, capture.WaitBudget},
		"hour used up, one ahead":     {three, 40 * s, on("4", "w"), 1, time.Hour + 11*s, capture.WaitBudget},
		"hour used up, three ahead":   {three, 40 * s, on("4", "w"), 3, 2 * time.Hour, capture.WaitBudget},
		"hour used up, last instant":  {three, time.Hour - 1, on("4", "w"), 0, time.Hour, capture.WaitBudget},
		"hour is over":                {three, time.Hour, on("4", "w"), 0, time.Hour, ""},
		"unsent gives it back":        {end(take(end(two, 9*s, on("1", "x"), capture.Unsent), 10*s, on("5", "v")), 11*s, on("5", "v"), capture.Unsent), 12 * s, on("6", "u"), 0, 12 * s, ""},
		"baseline leaves half":        {done, 20 * s, base, 0, time.Hour, capture.WaitBudget},
		"blocked":                     {capture.Budget{}.Block(noon, noon.Add(17*s), capture.WaitRateLimit), s, on("1", "x"), 0, 17 * s, capture.WaitRateLimit},
		"block is over":               {capture.Budget{}.Block(noon, noon.Add(17*s), capture.WaitRateLimit), 17 * s, on("1", "x"), 0, 17 * s, ""},
		"the longer block stays":      {capture.Budget{}.Block(noon, noon.Add(17*s), capture.WaitRateLimit).Strike(noon), s, on("1", "x"), 0, 17 * s, capture.WaitRateLimit},
		"nobody answers: one probe":   {take(capture.Budget{}.Strike(noon), 5*s, on("1", "x")), 6 * s, on("2", "y"), 0, 15 * s, capture.WaitUnreachable},
		"answers again":               {take(capture.Budget{}.Strike(noon), 5*s, on("1", "x")).Answered(), 6 * s, on("2", "y"), 0, 6 * s, ""},
		"a block from a wrong clock":  {capture.Budget{BlockedUntil: noon.Add(999 * time.Hour), BlockedFor: capture.WaitRateLimit}, 0, on("1", "x"), 0, time.Hour, capture.WaitRateLimit},
		"a target from a wrong clock": {capture.Budget{Targets: map[string]time.Time{on("", "x").Target.Key(): noon.Add(999 * time.Hour)}}, 0, on("1", "x"), 0, 410 * s, capture.WaitSpacing},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := c.b.Reserve(noon.Add(c.at), c.job, l, c.ahead)
			if got.Granted != (c.wait == "") || got.Wait != c.wait || !got.At.Equal(noon.Add(c.until)) {
				t.Errorf("got granted %v until %v for %q, want until %v for %q", got.Granted, got.At.Sub(noon), got.Wait, c.until, c.wait)
			}
		})
	}
}

func TestStrikesDouble(t *testing.T) {
	b := capture.Budget{}.Strike(noon)
	if !b.BlockedUntil.IsZero() || b.Strikes != 1 {
		t.Errorf("once may be one target's fault, others wait until %v", b.BlockedUntil)
	}
	for i, want := range []int{5, 10, 20, 40, 80, 120, 120, 120, 120} {
		b = b.Strike(noon)
		if got := b.BlockedUntil.Sub(noon); got != time.Duration(want)*time.Second {
			t.Errorf("strike %d: %v, want %d s", i+2, got, want)
		}
	}
}

func TestUnsentGivesItsOwnBack(t *testing.T) {
	l := capture.Limits{PerHour: 9}
	b, _ := capture.Budget{}.Reserve(noon.Add(time.Minute), on("1", "x"), l, 0)
	b, _ = b.Reserve(noon, on("2", "y"), l, 0) // after the clock was set back
	b = b.Release(noon, on("2", "y"), capture.Unsent, noon)
	if len(b.Starts) != 1 || !b.Starts[0].Equal(noon.Add(time.Minute)) {
		t.Errorf("left %v, want the first one's", b.Starts)
	}
}

func TestOutlook(t *testing.T) {
	l := capture.Limits{PerHour: 2, Concurrency: 1}
	var b capture.Budget
	if o := b.Outlook(noon, l); !o.Next.Granted || o.Free != 2 || o.Running != 0 {
		t.Errorf("empty: %+v", o)
	}
	b, _ = b.Reserve(noon, on("1", "x"), l, 0)
	if o := b.Outlook(noon.Add(time.Second), l); o.Next.Granted || o.Next.Wait != capture.WaitConcurrency || o.Free != 1 || o.Running != 1 {
		t.Errorf("one runs: %+v", o)
	}
	b = b.Release(noon.Add(10*time.Second), on("1", "x"), capture.Ran, noon.Add(10*time.Second))
	b, _ = b.Reserve(noon.Add(11*time.Second), on("2", "y"), l, 0)
	b = b.Release(noon.Add(21*time.Second), on("2", "y"), capture.Ran, noon.Add(21*time.Second))
	if o := b.Outlook(noon.Add(30*time.Second), l); !o.Next.At.Equal(noon.Add(time.Hour)) || o.Next.Wait != capture.WaitBudget || o.Free != 0 {
		t.Errorf("used up: %+v", o)
	}
}

// Whatever is asked in whatever order, a granted reservation is within every
// limit, a refused one names a time at which it is worth asking, and the value
// asked is left as it was.
func TestReserveHoldsItsLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		l := capture.Limits{Spacing: time.Duration(1+rng.IntN(90)) * time.Second, PerHour: 1 + rng.IntN(20), Concurrency: 1 + rng.IntN(4)}
		var b capture.Budget
		now := noon
		var starts []time.Time
		last := map[string]time.Time{}
		running := map[string]capture.Job{}
		for i := range 150 {
			now = now.Add(time.Duration(rng.IntN(60)) * time.Second)
			for id, j := range running {
				if rng.IntN(2) == 0 {
					b = b.Release(now, j, capture.Ran, now)
					last[j.Target.ObjectID] = now
					delete(running, id)
				}
			}
			j := on(strconv.Itoa(i), strconv.Itoa(rng.IntN(5)))
			next, s := b.Reserve(now, j, l, 0)
			if _, again := b.Reserve(now, j, l, 0); again != s {
				t.Fatalf("asked twice: %+v, then %+v", s, again)
			}
			if !s.Granted {
				if !s.At.After(now) || s.Wait == "" {
					t.Fatalf("refused until %v for %q at %v", s.At, s.Wait, now)
				}
				continue
			}
			b = next
			if end, ok := last[j.Target.ObjectID]; ok && now.Sub(end) < l.Spacing {
				t.Fatalf("granted %v after the last of the target, the spacing is %v", now.Sub(end), l.Spacing)
			}
			starts = append(starts, now)
			if n := len(starts); n > l.PerHour && now.Sub(starts[n-1-l.PerHour]) < time.Hour {
				t.Fatalf("%d granted within an hour, the budget is %d", l.PerHour+1, l.PerHour)
			}
			j.QueuedAt = now
			running[j.ID] = j
			for id, r := range running { // leases end by themselves
				if id != j.ID && !b.Running[id].After(now) {
					delete(running, id)
					last[r.Target.ObjectID] = r.QueuedAt.Add(r.Duration) // as planned, for all that is known
				}
			}
			if len(running) > l.Concurrency {
				t.Fatalf("%d run, %d may", len(running), l.Concurrency)
			}
		}
	}
}

// BenchmarkReserve is the decision beside the API calls: full budget, many targets.
func BenchmarkReserve(b *testing.B) {
	var bud capture.Budget
	l := capture.Limits{PerHour: 1000, Concurrency: 1000}
	for i := range 500 {
		j := on(strconv.Itoa(i), strconv.Itoa(i))
		bud, _ = bud.Reserve(noon, j, l, 0)
	}
	j := on("x", "x")
	for b.Loop() {
		_, _ = bud.Reserve(noon.Add(time.Second), j, l, 0)
	}
}
