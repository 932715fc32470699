package report

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// What a difference must be to be called. Measured in the simulation beside
// the tests; testdata/comparison.txt has the figures.
const (
	leastShare  = 0.01 // of the larger one
	leastChange = 0.01 // one point
	leastBlocks = 8    // 2 s of busy time in each capture
	// The mix of traffic drifts from capture to capture, and with it every share,
	// by this much of itself: one baseline says nothing about it, and of several
	// each must be beaten, which covers some of it.
	driftFloor     = 0.25
	driftFloorMany = 0.15
	// Of the changes that are called, this part may be chance.
	falseRate = 0.05
)

// Errors of Compare and Merge.
var (
	ErrNoBase       = errors.New("nothing to compare with; give at least one baseline")
	ErrDifferentUse = errors.New("a cpu capture and a heap capture measure different things; compare captures of one type")
	ErrNoSamples    = errors.New("this report carries no samples any more; analyse its pprof file again")
)

// Compare says for every function of 1 % or more whether its share changed. A
// change is called only when its interval excludes zero against every baseline.
// The error wraps ErrNoBase, ErrDifferentUse or ErrNoSamples.
func Compare(cur *Report, bases []*Report) (*Comparison, error) {
	if len(bases) == 0 {
		return nil, ErrNoBase
	}
	reports := append([]*Report{cur}, bases...)
	if err := sameUse(reports); err != nil {
		return nil, err
	}
	m := newMatcher(reports)
	c := &comparing{m: m, subjects: m.subjects()}
	c.observe()
	out := &Comparison{Captures: len(bases), Changes: c.changes(), Notes: c.notes()}
	return out, nil
}

func sameUse(reports []*Report) error {
	for i, r := range reports {
		if r.Type != reports[0].Type {
			return fmt.Errorf("compare %s with %s: %w", reports[0].Type, r.Type, ErrDifferentUse)
		}
		if len(r.parts) == 0 {
			return fmt.Errorf("report %d of %d: %w", i+1, len(reports), ErrNoSamples)
		}
	}
	return nil
}

type comparing struct {
	m        *matcher
	subjects map[int32]*subject
	ids      []int32       // compared, in order
	at       map[int32]int // subject -> index in series
	n        int
	series   []*series // the current report first
}

func (c *comparing) observe() {
	c.at = map[int32]int{}
	for id := range c.subjects {
		c.ids = append(c.ids, id)
	}
	slices.Sort(c.ids)
	for _, id := range c.ids {
		c.at[id] = len(c.at)
	}
	for _, id := range c.ids {
		if up := c.subjects[id].caller; up >= 0 {
			if _, ok := c.at[up]; !ok {
				c.at[up] = len(c.at)
			}
		}
	}
	c.n = len(c.at)
	for i, r := range c.m.reports {
		c.series = append(c.series, observe(r, func(p *profile) subjects {
			of := make([]int32, len(p.frames))
			for k, id := range c.m.frames[i] {
				of[k] = -1
				if x, ok := c.at[id]; ok {
					of[k] = int32(x) //nolint:gosec // a few hundred at most
				}
			}
			return subjects{of}
		}, c.n))
	}
}

// judged is a change with what the decision over all of them needs.
type judged struct {
	Change
	p      float64
	called bool
}

func (c *comparing) changes() []Change {
	all := make([]judged, len(c.ids))
	ps := make([]float64, len(c.ids))
	for i, id := range c.ids {
		all[i] = c.judge(id)
		ps[i] = all[i].p
	}
	for i, ok := range discoveries(ps, falseRate) {
		if all[i].called && !ok {
			all[i].called = false
			all[i].Note = "as large a difference is expected by chance among so many functions"
		}
	}
	out := make([]Change, len(all))
	for i := range all {
		if !all[i].called {
			all[i].Verdict = NoClearChange
		}
		out[i] = all[i].Change
	}
	slices.SortFunc(out, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)),
			cmp.Compare(math.Abs(b.After-b.Before), math.Abs(a.After-a.Before)),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
		)
	})
	return out
}

// rank puts what is called first, and there the user's own code.
func rank(c Change) int {
	switch {
	case c.Verdict == NoClearChange:
		return 2
	case c.Kind != KindApp:
		return 1
	default:
		return 0
	}
}

func (c *comparing) judge(id int32) judged {
	s, h := c.subjects[id], c.at[id]
	cur := c.series[0]
	after := cur.share(h)
	before, busy, wall := 0.0, 0.0, 0.0
	v := view{low: math.Inf(1), high: math.Inf(-1), up: true, down: true, enough: true}
	for _, b := range c.series[1:] {
		before += b.sum[h]
		busy += b.busy
		wall += b.wall
		v.add(cur, b, h, len(c.series) == 2)
	}
	j := judged{p: v.p, Change: Change{
		Name: s.frame.Name, File: s.frame.File, Line: s.frame.Line, Kind: s.frame.Kind,
		After: after.p, Low: v.low, High: v.high, Verdict: NoClearChange,
	}}
	if busy > 0 {
		j.Before = before / busy
	}
	if wall > 0 && cur.wall > 0 {
		j.RateBefore, j.RateAfter = c.rate(before, wall), c.rate(cur.sum[h], cur.wall)
	}
	c.call(&j, v, before == 0, s, h)
	return j
}

// rate is milliseconds, or bytes, per second of wall time.
func (c *comparing) rate(sum, wall float64) float64 {
	if c.m.reports[0].Type == Heap {
		return sum / wall * 1e9
	}
	return sum / wall * 1e3
}

// call decides what this difference is called, if anything.
func (c *comparing) call(j *judged, v view, unseen bool, s *subject, h int) {
	switch {
	case !v.enough:
		j.Note = "too few samples"
	case v.up && unseen:
		j.Verdict, j.called = New, true
	case v.up:
		j.Verdict, j.called = Grew, true
	case v.down && j.After == 0:
		j.Verdict, j.called = Gone, true
	case v.down && j.RateBefore+j.RateAfter == 0:
		j.Note = "its share fell, but without durations nobody can tell whether it fell or others rose"
	case v.down && j.RateAfter >= j.RateBefore:
		j.Note = "its share fell because others rose; it did not do less per second"
	case v.down:
		j.Verdict, j.called = Shrank, true
	}
	switch {
	case !j.called:
	case c.stays(h, h):
		j.called = false
		j.Note = "together with what it calls it did not change: most likely its callees were inlined in one capture and not in the other"
	case c.at[s.caller] != h && s.caller >= 0 && c.stays(c.at[s.caller], h) && c.mirrors(c.at[s.caller], h):
		j.called = false
		j.Note = "its caller as a whole did not change: most likely it was inlined in one capture and not in the other"
	}
}

// V8 gives inlined functions no frame, so the same code shows as caller in one
// capture and as callee in the other: then a total stays while the shares of
// caller and callee move against each other.

// stays: the total share of f hardly moved, beside what the share of h did.
func (c *comparing) stays(f, h int) bool {
	cur := c.series[0]
	for _, b := range c.series[1:] {
		before, after := b.share(f+c.n), cur.share(f+c.n)
		d := cur.share(h).p - b.share(h).p
		low, high := newcombe(before, after, 0)
		if before.p == 0 || after.p == 0 || low > leastChange || high < -leastChange ||
			math.Abs(after.p-before.p) > math.Abs(d)/2 {
			return false
		}
	}
	return true
}

// mirrors: the own share of f moved against that of h, by at least half.
func (c *comparing) mirrors(f, h int) bool {
	for _, b := range c.series[1:] {
		d := c.series[0].share(h).p - b.share(h).p
		own := c.series[0].share(f).p - b.share(f).p
		if own*d >= 0 || math.Abs(own) < math.Abs(d)/2 {
			return false
		}
	}
	return true
}

// view collects what the baselines say one by one.
type view struct {
	low, high float64
	p         float64
	up, down  bool // against every baseline
	enough    bool
}

func (v *view) add(cur, base *series, h int, alone bool) {
	before, after := base.share(h), cur.share(h)
	d := after.p - before.p
	floor := driftFloorMany * max(before.p, after.p)
	if alone {
		floor = driftFloor * max(before.p, after.p)
	}
	low, high := newcombe(before, after, floor)
	v.low, v.high = min(v.low, low), max(v.high, high)
	v.up = v.up && low > 0 && d >= leastChange
	v.down = v.down && high < 0 && -d >= leastChange
	v.enough = v.enough && cur.k >= leastBlocks && base.k >= leastBlocks
	plainLow, plainHigh := newcombe(before, after, 0)
	half := d - plainLow
	if d < 0 {
		half = plainHigh - d
	}
	v.p = max(v.p, pValue(d, half))
}

func (c *comparing) notes() []string {
	var n []string
	if len(c.series) == 2 {
		n = append(n, "one baseline: how much quiet captures differ among themselves is not known, a quarter of a share is taken for it")
	}
	for i, s := range c.series {
		who := "the capture"
		if i > 0 {
			who = fmt.Sprintf("baseline %d", i)
		}
		if s.k < leastBlocks {
			n = append(n, who+" holds too few samples to tell a change (under 2 s of busy CPU, or under 800 heap samples)")
		}
		if s.lost && c.m.reports[i].Type == CPU {
			n = append(n, who+" has its samples merged, so their order is lost and intervals are wide")
		}
	}
	return n
}
