package flame_test

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/snapflame/snapflame/report"
)

// load reads a profile of testdata with google's parser and fills a report from
// it the plain way, so that pictures are tested on their own.
func load(tb testing.TB, name string) *report.Report {
	tb.Helper()
	b, err := os.ReadFile("../testdata/profiles/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	p, err := profile.ParseData(b)
	if err != nil {
		tb.Fatal(err)
	}
	r := fold(p)
	r.Meta = report.Meta{
		Title: "room-api RoomObject 3fa1c07d", CaptureID: "01K9Z6W8Q4", VersionID: "8d1f0c52-77ab",
		StartedAt: time.Date(2026, 11, 30, 3, 14, 20, 0, time.UTC),
	}
	if p.DurationNanos > 0 {
		r.Meta.Duration = time.Duration(p.DurationNanos).Round(time.Second)
	}
	return r
}

func fold(p *profile.Profile) *report.Report {
	f := &folder{ids: map[report.Frame]int32{}, kids: map[[2]int32]int32{}}
	f.t.Unit = "nanoseconds"
	r := &report.Report{Type: report.CPU, Samples: int64(len(p.Sample)), Verdict: report.Conclusive}
	scale := int64(1)
	switch p.SampleType[len(p.SampleType)-1].Unit {
	case "microseconds":
		scale = 1000
	case "bytes":
		r.Type, f.t.Unit = report.Heap, "bytes"
	}
	f.t.Nodes = []report.Node{{Frame: -1, Parent: -1}}
	var gc, busy int64
	for _, s := range p.Sample {
		v := s.Value[len(s.Value)-1] * scale
		kept := v
		if r.Type == report.CPU {
			kept = min(v, max(s.Value[0], 1)*5e6)
		}
		if r.Type == report.CPU {
			r.RemovedNS += v - kept
		}
		switch leaf := s.Location[0].Line[0].Function.Name; leaf {
		case "(idle)":
			r.IdleNS += kept
			continue
		case "(program)":
			r.ProgramNS += kept
			continue
		case "(garbage collector)":
			gc += kept
		}
		busy++
		f.add(s, kept)
	}
	if r.Type == report.Heap {
		r.BusyBytes = f.t.Nodes[0].Total
	} else {
		r.BusyNS = f.t.Nodes[0].Total
		r.GCShare = float64(gc) / float64(max(r.BusyNS, 1))
	}
	if busy < 100 {
		r.Verdict = report.Weak
	}
	if busy == 0 {
		r.Verdict = report.Empty
	}
	f.finish(r)
	return r
}

type folder struct {
	t    report.Tree
	ids  map[report.Frame]int32
	kids map[[2]int32]int32
}

func (f *folder) add(s *profile.Sample, v int64) {
	at := int32(0)
	f.t.Nodes[0].Total += v
	for _, l := range slices.Backward(s.Location) {
		fn := l.Line[0].Function
		if fn.Name == "(root)" {
			continue
		}
		fr := report.Frame{Name: cmp.Or(fn.Name, "(anonymous)"), File: fn.Filename, Line: l.Line[0].Line, Kind: kindOf(fn)}
		id, ok := f.ids[fr]
		if !ok {
			id = int32(len(f.t.Frames))
			f.ids[fr] = id
			f.t.Frames = append(f.t.Frames, fr)
		}
		next, ok := f.kids[[2]int32{at, id}]
		if !ok {
			next = int32(len(f.t.Nodes))
			f.kids[[2]int32{at, id}] = next
			f.t.Nodes = append(f.t.Nodes, report.Node{Frame: id, Parent: at})
		}
		at = next
		f.t.Nodes[at].Total += v
	}
	f.t.Nodes[at].Self += v
}

func kindOf(f *profile.Function) report.Kind {
	switch {
	case f.Name == "(garbage collector)":
		return report.KindGC
	case f.Filename == "":
		return report.KindBuiltin
	case strings.Contains(f.Filename, "node_modules"):
		return report.KindDependency
	case strings.HasPrefix(f.Filename, "node:"), strings.HasPrefix(f.Filename, "cloudflare:"):
		return report.KindRuntime
	case strings.HasPrefix(f.Filename, "wasm:"):
		return report.KindWasm
	}
	return report.KindApp
}

// finish sums the functions, each once per stack.
func (f *folder) finish(r *report.Report) {
	fns := make([]report.Function, len(f.t.Frames))
	for i, fr := range f.t.Frames {
		fns[i] = report.Function{Name: fr.Name, File: fr.File, Line: fr.Line, Kind: fr.Kind}
	}
	for i := 1; i < len(f.t.Nodes); i++ {
		n := f.t.Nodes[i]
		fn := &fns[n.Frame]
		fn.SelfNS += n.Self
		again, charged := false, f.t.Frames[n.Frame].File == ""
		for p := n.Parent; p > 0; p = f.t.Nodes[p].Parent {
			again = again || f.t.Nodes[p].Frame == n.Frame
			if charged && f.t.Frames[f.t.Nodes[p].Frame].File != "" {
				charged = false
				fns[f.t.Nodes[p].Frame].ChargedShare += float64(n.Self) / float64(f.t.Nodes[0].Total)
			}
		}
		if !again {
			fn.TotalNS += n.Total
		}
	}
	all := float64(f.t.Nodes[0].Total)
	for i := range fns {
		fns[i].SelfShare, fns[i].TotalShare = float64(fns[i].SelfNS)/all, float64(fns[i].TotalNS)/all
		fns[i].ChargedShare += fns[i].SelfShare
		if r.Type == report.Heap {
			fns[i].SelfBytes, fns[i].TotalBytes, fns[i].SelfNS, fns[i].TotalNS = fns[i].SelfNS, fns[i].TotalNS, 0, 0
		}
	}
	slices.SortFunc(fns, func(a, b report.Function) int {
		return cmp.Or(cmp.Compare(b.SelfShare, a.SelfShare), cmp.Compare(a.Name, b.Name))
	})
	r.Functions, r.Tree = fns, preorder(f.t)
}

// preorder renumbers the nodes as report.Tree wants them.
func preorder(t report.Tree) *report.Tree {
	kids := make([][]int32, len(t.Nodes))
	for i, n := range t.Nodes[1:] {
		kids[n.Parent] = append(kids[n.Parent], int32(i+1))
	}
	out := &report.Tree{Unit: t.Unit, Frames: t.Frames}
	type item struct{ node, parent int32 }
	for stack := []item{{0, -1}}; len(stack) > 0; {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n := t.Nodes[it.node]
		n.Parent = it.parent
		out.Nodes = append(out.Nodes, n)
		for _, k := range slices.Backward(kids[it.node]) {
			stack = append(stack, item{k, int32(len(out.Nodes) - 1)})
		}
	}
	return out
}

// compare fills r.Base the plain way: self shares, changed when they differ by
// more than three points.
func compare(r, base *report.Report) {
	type key struct{ name, file string }
	before := map[key]float64{}
	for _, f := range base.Functions {
		before[key{f.Name, f.File}] += f.SelfShare
	}
	after := map[key]float64{}
	for _, f := range r.Functions {
		after[key{f.Name, f.File}] += f.SelfShare
	}
	c := &report.Comparison{Captures: 1}
	for k, a := range after {
		c.Changes = append(c.Changes, change(k.name, k.file, before[k], a))
	}
	for k, b := range before {
		if _, ok := after[k]; !ok {
			c.Changes = append(c.Changes, change(k.name, k.file, b, 0))
		}
	}
	slices.SortFunc(c.Changes, func(a, b report.Change) int {
		return cmp.Or(cmp.Compare(b.After, a.After), cmp.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File))
	})
	r.Base = c
}

func change(name, file string, before, after float64) report.Change {
	c := report.Change{
		Name: name, File: file, Before: before, After: after,
		Low: after - before - 0.02, High: after - before + 0.02, Verdict: report.NoClearChange,
	}
	switch d := after - before; {
	case d > 0.03 && before == 0:
		c.Verdict = report.New
	case d > 0.03:
		c.Verdict = report.Grew
	case d < -0.03 && after == 0:
		c.Verdict = report.Gone
	case d < -0.03:
		c.Verdict = report.Shrank
	}
	return c
}
