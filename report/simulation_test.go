package report_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/report"
)

// simRounds is small in a normal run. The table in testdata/comparison.txt was
// made by
//
//	go test ./report -run Simulation -sim 300 -v
var simRounds = flag.Int("sim", 4, "rounds per scenario of the comparison's simulation")

// A world is a Worker: kinds of requests, each a row of phases that run one
// after the other, arriving at random. V8 samples it every 1.09 ms, and the
// first sample after a wait carries up to the cap of the wait.
type world struct {
	name   string
	load   float64 // part of the time that is busy; 1 is saturated
	spread float64 // sigma of the lognormal length of a phase
	kinds  []kind
	burst  bool // x's work comes in one piece per request
}

type kind struct {
	weight float64
	phases []phase
}

type phase struct {
	fn int
	ms float64
}

const (
	fnX     = 0 // the one that changes
	fnCount = 12

	rareKind = 5 // 6 % of the requests
)

func simFrames() ([]report.Frame, [][]int32) {
	var fr []report.Frame
	var st [][]int32
	fr = append(fr, report.Frame{Name: "fetch", File: "worker.js", Line: 1, Kind: report.KindApp})
	for i := range fnCount {
		fr = append(fr, report.Frame{Name: fmt.Sprintf("f%d", i), File: "worker.js", Line: int64(10 + i), Kind: report.KindApp})
		st = append(st, []int32{int32(i + 1), 0})
	}
	fr = append(fr, report.Frame{Name: "(idle)", Kind: report.KindBuiltin})
	return fr, append(st, []int32{fnCount + 1})
}

// worlds have requests of 6 to 150 ms. x is the share of fnX; its work is
// scaled so that the rest stays as it is.
func worlds(x float64) []world {
	// Eleven functions over sixteen kinds of requests, as routes share their
	// authentication, storage and rendering; four kinds are most of the traffic.
	mixed := func(scale float64) []kind {
		rng := newRand(11)
		var out []kind
		for i := range 16 {
			k := kind{weight: 8 / float64(i+2)}
			for _, fn := range rng.Perm(fnCount - 1)[:5] {
				k.phases = append(k.phases, phase{fn + 1, scale * (0.5 + 3*rng.Float64())})
			}
			out = append(out, k)
		}
		return out
	}
	w := []world{
		{name: "saturated, short requests", load: 1, spread: 0.5, kinds: mixed(1)},
		{name: "saturated, long requests", load: 1, spread: 0.5, kinds: mixed(7)},
		{name: "half busy, short requests", load: 0.5, spread: 0.5, kinds: mixed(1)},
		{name: "half busy, long requests", load: 0.5, spread: 0.5, kinds: mixed(5)},
		{name: "heavy tails", load: 0.7, spread: 1, kinds: mixed(2)},
		{name: "x in one kind of sixteen", load: 0.8, spread: 0.5, kinds: mixed(2), burst: true},
		{name: "all sizes at once", load: 0.6, spread: 0.7, kinds: append(mixed(1), mixed(6)...)},
	}
	for i := range w {
		w[i].kinds = withX(w[i].kinds, x, w[i].burst)
	}
	return w
}

// withX puts x's share of the time into every kind, or all into the last.
func withX(kinds []kind, x float64, rare bool) []kind {
	total := 0.0
	for _, k := range kinds {
		for _, p := range k.phases {
			total += k.weight * p.ms
		}
	}
	part := x / (1 - x)
	out := make([]kind, len(kinds))
	for i, k := range kinds {
		ms := 0.0
		for _, p := range k.phases {
			ms += p.ms * part
		}
		if rare {
			ms = 0
			if i == rareKind {
				ms = total * part / k.weight
			}
		}
		out[i] = kind{k.weight, append([]phase{}, k.phases...)}
		if ms > 0 {
			out[i].phases = append(out[i].phases, phase{fnX, ms})
		}
	}
	return out
}

// capture runs the world for a while. drift is the sigma by which the mix of
// kinds differs from capture to capture.
func (w world) capture(rng *rand.Rand, d time.Duration, drift float64) *report.Report {
	const tick = 1.09
	weights := make([]float64, len(w.kinds))
	sum, mean := 0.0, 0.0
	for i, k := range w.kinds {
		weights[i] = k.weight * math.Exp(drift*rng.NormFloat64())
		sum += weights[i]
		for _, p := range k.phases {
			mean += weights[i] * p.ms
		}
	}
	mean /= sum
	end := float64(d.Milliseconds())
	var order []uint32
	var values []int64
	add := func(st int, ms float64) {
		order, values = append(order, uint32(st)), append(values, int64(min(ms, 5)*1e6))
	}
	for now := 0.0; now < end; {
		if w.load < 1 {
			now += rng.ExpFloat64() * mean * (1 - w.load) / w.load
		}
		k := pickKind(rng, weights, sum)
		wait := 4.0
		if w.load == 1 {
			wait = 0
		}
		left := rng.Float64() * tick
		for _, p := range w.kinds[k].phases {
			ms := p.ms * math.Exp(w.spread*rng.NormFloat64()-w.spread*w.spread/2)
			now += ms
			for left += ms; left >= tick; left -= tick {
				add(p.fn, tick+wait)
				wait = 0
			}
		}
	}
	fr, st := simFrames()
	return report.FromSamples(fr, st, order, values, d)
}

func pickKind(rng *rand.Rand, weights []float64, sum float64) int {
	u := rng.Float64() * sum
	for i, w := range weights {
		if u -= w; u < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// rate is a part of trials.
type rate struct{ hits, of int }

func (r *rate) add(hit bool) {
	r.of++
	if hit {
		r.hits++
	}
}

func (r *rate) percent() float64 {
	if r.of == 0 {
		return 0
	}
	return 100 * float64(r.hits) / float64(r.of)
}

func (r *rate) String() string { return fmt.Sprintf("%5.1f", r.percent()) }

// tally is one scenario's figures.
type tally struct {
	cover10, cover50    rate
	false1, false2      rate // nothing changed; one and two baselines
	drift1, drift3      rate // the weight of each kind drifts with sd 0.2
	strong1, strong3    rate // with sd 0.4
	doubled10           rate // 5 -> 10 %, 10 s pairs
	doubled50, doubled2 rate // 50 s pairs; two baselines
}

func (w world) truth(rng *rand.Rand) map[string]float64 {
	out := map[string]float64{}
	d := 3000 * time.Second
	if *simRounds < 50 { // the race detector makes it ten times as slow
		d = 400 * time.Second
	}
	for _, f := range w.capture(rng, d, 0).Functions {
		out[f.Name] = f.SelfShare
	}
	return out
}

func called(t *testing.T, cur *report.Report, bases ...*report.Report) (x bool, others rate) {
	t.Helper()
	c, err := report.Compare(cur, bases)
	if err != nil {
		t.Fatal(err)
	}
	for _, ch := range c.Changes {
		if ch.Name == "f0" {
			x = ch.Verdict == report.Grew
		}
		others.add(ch.Verdict != report.NoClearChange)
	}
	return x, others
}

func (r *rate) sum(b rate) { r.hits += b.hits; r.of += b.of }

func simulate(t *testing.T, before, after world, rounds int) (y tally) {
	t.Helper()
	rng := newRand(uint64(len(before.name)))
	truth := before.truth(rng)
	const short, long = 10 * time.Second, 50 * time.Second
	cover := func(r *report.Report, into *rate) {
		for name, p := range truth {
			if p >= 0.01 {
				_, low, high := report.ShareInterval(r, name)
				into.add(low <= p && p <= high)
			}
		}
	}
	for range rounds {
		a, b, c := before.capture(rng, short, 0), before.capture(rng, short, 0), before.capture(rng, short, 0)
		cover(a, &y.cover10)
		_, n := called(t, a, b)
		y.false1.sum(n)
		_, n = called(t, a, b, c)
		y.false2.sum(n)
		la, lb := before.capture(rng, long, 0), before.capture(rng, long, 0)
		cover(la, &y.cover50)
		_, n = called(t, la, lb)
		y.false1.sum(n)
		for _, d := range []struct {
			sd         float64
			one, three *rate
		}{{0.2, &y.drift1, &y.drift3}, {0.4, &y.strong1, &y.strong3}} {
			cur, base := before.capture(rng, long, d.sd), before.capture(rng, long, d.sd)
			_, n = called(t, cur, base)
			d.one.sum(n)
			_, n = called(t, cur, base, before.capture(rng, long, d.sd), before.capture(rng, long, d.sd))
			d.three.sum(n)
		}
		x, _ := called(t, after.capture(rng, short, 0), a)
		y.doubled10.add(x)
		more := after.capture(rng, long, 0)
		x, _ = called(t, more, la)
		y.doubled50.add(x)
		x, _ = called(t, more, la, lb)
		y.doubled2.add(x)
	}
	return y
}

func TestSimulation(t *testing.T) {
	before, after := worlds(0.05), worlds(0.10)
	var all tally
	var table strings.Builder
	const form = "%-28s %6s %6s | %6s %6s | %6s %6s | %6s %6s | %6s %6s %6s\n"
	fmt.Fprintf(&table, form, "", "cover", "cover", "same", "same", "sd.2", "sd.2", "sd.4", "sd.4", "5->10", "5->10", "5->10")
	fmt.Fprintf(&table, form, "scenario", "10s", "50s", "1 base", "2", "1 base", "3", "1 base", "3", "10s", "50s", "50s,2")
	row := func(name string, y tally) {
		fmt.Fprintf(&table, form, name, &y.cover10, &y.cover50, &y.false1, &y.false2, &y.drift1, &y.drift3, &y.strong1, &y.strong3, &y.doubled10, &y.doubled50, &y.doubled2)
	}
	for i := range before {
		y := simulate(t, before[i], after[i], *simRounds)
		row(before[i].name, y)
		for _, p := range []struct{ to, from *rate }{
			{&all.cover10, &y.cover10},
			{&all.cover50, &y.cover50},
			{&all.false1, &y.false1},
			{&all.false2, &y.false2},
			{&all.drift1, &y.drift1},
			{&all.drift3, &y.drift3},
			{&all.strong1, &y.strong1},
			{&all.strong3, &y.strong3},
			{&all.doubled10, &y.doubled10},
			{&all.doubled50, &y.doubled50},
			{&all.doubled2, &y.doubled2},
		} {
			p.to.sum(*p.from)
		}
	}
	row("all", all)
	t.Logf("%d rounds, percent\n%s", *simRounds, table.String())
	for _, c := range []struct {
		what string
		ok   bool
	}{
		{"intervals cover 91 %", all.cover10.percent() >= 91 && all.cover50.percent() >= 91},
		{"at most 1 % of unchanged functions called changed", all.false1.percent() <= 1 && all.false2.percent() <= 1},
		{"at most 2 % under drift", all.drift1.percent() <= 2 && all.drift3.percent() <= 2},
		{"a doubling is called in 95 % of 50 s pairs", all.doubled50.percent() >= 95},
	} {
		if !c.ok {
			t.Errorf("does not hold: %s", c.what)
		}
	}
}
