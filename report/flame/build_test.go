package flame_test

import (
	"cmp"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/snapflame/snapflame/report"
)

// load analyses a real profile as the service does, with what it knows of a
// capture.
func load(tb testing.TB, name string) *report.Report {
	tb.Helper()
	b, err := os.ReadFile("../testdata/profiles/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	r, err := report.Analyse(b, report.Options{Meta: report.Meta{
		Title: "room-api RoomObject 3fa1c07d", CaptureID: "01K9Z6W8Q4", VersionID: "8d1f0c52-77ab",
		StartedAt: time.Date(2026, 11, 30, 3, 14, 20, 0, time.UTC), Duration: 10 * time.Second,
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// compare fills r.Base.
func compare(tb testing.TB, r *report.Report, bases ...*report.Report) {
	tb.Helper()
	c, err := report.Compare(r, bases)
	if err != nil {
		tb.Fatal(err)
	}
	r.Base = c
}

// folder makes trees by hand.
type folder struct {
	t    report.Tree
	ids  map[report.Frame]int32
	kids map[[2]int32]int32
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
