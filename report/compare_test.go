package report_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/snapflame/snapflame/report"
)

func compare(tb testing.TB, cur *report.Report, bases ...*report.Report) map[string]report.Change {
	tb.Helper()
	c, err := report.Compare(cur, bases)
	if err != nil {
		tb.Fatal(err)
	}
	if c.Captures != len(bases) {
		tb.Errorf("captures = %d, want %d", c.Captures, len(bases))
	}
	out := map[string]report.Change{}
	for _, ch := range c.Changes {
		if ch.Low > ch.After-ch.Before+1e-9 || ch.High < ch.After-ch.Before-1e-9 || ch.Low < -1 || ch.High > 1 {
			tb.Errorf("%s: %v to %v does not hold %v", ch.Name, ch.Low, ch.High, ch.After-ch.Before)
		}
		out[ch.Name] = ch
	}
	return out
}

func TestCompareRealProfiles(t *testing.T) {
	schema, meter := analyse(t, "do-schema.cpu.pb.gz"), analyse(t, "do-meter.cpu.pb.gz")
	got := compare(t, schema, meter)
	if ch := got["ensureSchema"]; ch.Verdict != report.New || ch.Before != 0 || ch.After < 0.7 || ch.Low < 0.5 {
		t.Errorf("ensureSchema against do-meter: %+v", ch)
	}
	if ch := got["record"]; ch.Verdict != report.Shrank || ch.RateAfter >= ch.RateBefore {
		t.Errorf("record against do-meter: %+v", ch)
	}
	got = compare(t, meter, schema, schema)
	if ch := got["ensureSchema"]; ch.Verdict != report.Gone {
		t.Errorf("ensureSchema the other way: %+v", ch)
	}
	for name, ch := range compare(t, schema, schema) {
		if ch.Verdict != report.NoClearChange {
			t.Errorf("%s changed against itself: %+v", name, ch)
		}
	}
	for name, ch := range compare(t, analyse(t, "partly-idle.cpu.pb.gz"), schema) {
		if ch.Verdict != report.NoClearChange {
			t.Errorf("%s called on too few samples: %+v", name, ch)
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	cpu, heap := analyse(t, "do-meter.cpu.pb.gz"), analyse(t, "heap-do.pb.gz")
	for _, c := range []struct {
		name  string
		cur   *report.Report
		bases []*report.Report
		want  error
	}{
		{"nothing", cpu, nil, report.ErrNoBase},
		{"cpu with heap", cpu, []*report.Report{heap}, report.ErrDifferentUse},
		{"heap with cpu", heap, []*report.Report{heap, cpu}, report.ErrDifferentUse},
		{"a report read from JSON", cpu, []*report.Report{{Type: report.CPU}}, report.ErrNoSamples},
	} {
		if _, err := report.Compare(c.cur, c.bases); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// steady is 10 s of requests in which each stack of frames gets its
// milliseconds, over and over; idle is what is left of the second.
func steady(frames []report.Frame, stacks [][]int32, ms []int, idle int) *report.Report {
	var order []uint32
	var values []int64
	frames = append(append([]report.Frame{}, frames...), report.Frame{Name: "(idle)", Kind: report.KindBuiltin})
	stacks = append(append([][]int32{}, stacks...), []int32{int32(len(frames) - 1)})
	const d = 10 * time.Second
	per := idle
	for _, m := range ms {
		per += m
	}
	for range int(d.Milliseconds()) / per {
		for i, m := range append(append([]int{}, ms...), idle) {
			for range m {
				order, values = append(order, uint32(i)), append(values, 1e6)
			}
		}
	}
	return report.FromSamples(frames, stacks, order, values, d)
}

func app(name string, line int64) report.Frame {
	return report.Frame{Name: name, File: "file:///bundle/worker.js", Line: line, Kind: report.KindApp}
}

func TestMovedLines(t *testing.T) {
	stacks := [][]int32{{0}, {1}, {2}}
	base := steady([]report.Frame{app("f", 10), app("(anonymous)", 20), app("(anonymous)", 30)}, stacks, []int{30, 50, 20}, 0)
	moved := []report.Frame{app("f", 110), app("(anonymous)", 120), app("(anonymous)", 130)}
	moved[0].File = "worker.js"
	for name, ch := range compare(t, steady(moved, stacks, []int{30, 50, 20}, 0), base) {
		if ch.Verdict != report.NoClearChange || ch.Before != ch.After {
			t.Errorf("%s after lines moved: %+v", name, ch)
		}
	}
	// One more anonymous function: nobody can say which is which, so they are one.
	more := []report.Frame{app("f", 10), app("(anonymous)", 21), app("(anonymous)", 31), app("(anonymous)", 41)}
	got := compare(t, steady(more, [][]int32{{0}, {1}, {2}, {3}}, []int{30, 40, 20, 10}, 0), base)
	if ch := got["(anonymous)"]; ch.Before != 0.7 || ch.After != 0.7 {
		t.Errorf("anonymous functions: %+v", ch)
	}
}

func TestShrankNeedsItsRateToShrink(t *testing.T) {
	fr, st := []report.Frame{app("f", 1), app("g", 2)}, [][]int32{{0}, {1}}
	base := steady(fr, st, []int{20, 20}, 60)
	// g grows into the idle time: f's share halves, and it does what it did.
	got := compare(t, steady(fr, st, []int{20, 60}, 20), base)
	if f, g := got["f"], got["g"]; f.Verdict != report.NoClearChange || f.Note == "" || g.Verdict != report.Grew {
		t.Errorf("f %+v\ng %+v", f, g)
	}
	got = compare(t, steady(fr, st, []int{5, 20}, 75), base)
	if f := got["f"]; f.Verdict != report.Shrank {
		t.Errorf("f with a quarter of its time: %+v", f)
	}
}

func TestInliningIsNoChange(t *testing.T) {
	fr := []report.Frame{app("caller", 1), app("callee", 9), app("other", 20)}
	base := steady(fr, [][]int32{{0}, {2}}, []int{70, 30}, 0)
	cold := steady(fr, [][]int32{{1, 0}, {0}, {2}}, []int{60, 10, 30}, 0)
	for name, ch := range compare(t, cold, base) {
		if ch.Verdict != report.NoClearChange {
			t.Errorf("%s: %+v", name, ch)
		}
	}
}

func TestOneBaselineOfSeveralIsEnoughToDoubt(t *testing.T) {
	fr, st := []report.Frame{app("f", 1), app("g", 2)}, [][]int32{{0}, {1}}
	low, high := steady(fr, st, []int{10, 90}, 0), steady(fr, st, []int{50, 50}, 0)
	cur := steady(fr, st, []int{50, 50}, 0)
	if ch := compare(t, cur, low)["f"]; ch.Verdict != report.Grew {
		t.Errorf("against the low one: %+v", ch)
	}
	if ch := compare(t, cur, low, high)["f"]; ch.Verdict != report.NoClearChange {
		t.Errorf("against both: %+v", ch)
	}
}

func TestMergedFilesCompareWithWideIntervals(t *testing.T) {
	p, err := profile.ParseData(profileBytes(t, "do-schema.cpu.pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := profile.Merge([]*profile.Profile{p})
	if err != nil {
		t.Fatal(err)
	}
	cur, err := report.Analyse(raw(t, m), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plain, merged := compare(t, analyse(t, "do-schema.cpu.pb.gz"), analyse(t, "do-meter.cpu.pb.gz")), compare(t, cur, analyse(t, "do-meter.cpu.pb.gz"))
	if a, b := plain["ensureSchema"], merged["ensureSchema"]; b.Verdict != report.New || b.High-b.Low < a.High-a.Low-0.05 {
		t.Errorf("plain %+v\nmerged %+v", a, b)
	}
}

// A hundred thousand anonymous functions in one file must not take a minute.
func TestCompareManyAnonymousFunctions(t *testing.T) {
	frames := []report.Frame{app("root", 1)}
	var stacks [][]int32
	var order []uint32
	var values []int64
	for i := range 100_000 {
		frames = append(frames, app("(anonymous)", int64(i)))
		stacks = append(stacks, []int32{int32(i + 1), 0})
		order, values = append(order, uint32(i)), append(values, 1e6)
	}
	r := report.FromSamples(frames, stacks, order, values, time.Minute)
	for name, ch := range compare(t, r, r) {
		if ch.Verdict != report.NoClearChange {
			t.Errorf("%s: %+v", name, ch)
		}
	}
}
