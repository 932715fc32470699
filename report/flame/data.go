package flame

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/snapflame/snapflame/report"
)

// maxNodes bounds the call paths of a page, and with them its size and the
// browser's work. The lightest paths are left out, and the page says so.
const maxNodes = 60_000

// pageData is what the page's script reads. Nodes are in preorder with siblings
// as in the pictures; slices are never null.
type pageData struct {
	Type   report.Type `json:"type"`
	Unit   string      `json:"unit"`
	Total  int64       `json:"total"`
	Whole  string      `json:"whole"`
	Names  []string    `json:"names"` // by frame, as are the next ones
	Files  []string    `json:"files"`
	File   []int32     `json:"file"`
	Line   []int64     `json:"line"`
	Kind   []int       `json:"kind"`   // colour by kind
	Change []int       `json:"change"` // colour by change
	FSelf  []int64     `json:"fself"`
	FTotal []int64     `json:"ftotal"` // once per stack
	Charge []float64   `json:"charge"` // share, heap only
	Up     []int32     `json:"up"`     // distance to the parent
	Frame  []int32     `json:"frame"`
	Self   []int64     `json:"self"`
	Left   int         `json:"left"` // paths left out
	Base   *pageBase   `json:"base"`
}

type pageBase struct {
	Captures int          `json:"captures"`
	Of       []int32      `json:"of"` // by frame: index into Changes, or -1
	Changes  []pageChange `json:"changes"`
}

type pageChange struct {
	Name    string               `json:"name"`
	File    string               `json:"file"`
	Before  float64              `json:"before"`
	After   float64              `json:"after"`
	Low     float64              `json:"low"`
	High    float64              `json:"high"`
	Verdict report.ChangeVerdict `json:"verdict"`
}

// Data is the report as the JSON that Script reads. It holds no '<', so that it
// can stand in a script element. The error is ErrEmpty or ErrTree.
func Data(r *report.Report) ([]byte, error) {
	if err := drawable(r); err != nil {
		return nil, err
	}
	kids, err := childrenOf(r.Tree)
	if err != nil {
		return nil, err
	}
	d := newData(r)
	b := &builder{t: r.Tree, kids: kids, d: d, ids: make(map[int32]int32)}
	b.sums()
	b.walk(b.heaviest())
	b.charge(r)
	if r.Base != nil {
		b.base(r.Base)
	}
	out, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode the flamegraph's data: %w", err)
	}
	return out, nil
}

func newData(r *report.Report) *pageData {
	return &pageData{
		Type: r.Type, Unit: r.Tree.Unit, Total: r.Tree.Nodes[0].Total, Whole: whole(r),
		Names: []string{}, Files: []string{}, File: []int32{}, Line: []int64{}, Kind: []int{}, Change: []int{},
		FSelf: []int64{}, FTotal: []int64{}, Charge: []float64{}, Up: []int32{}, Frame: []int32{}, Self: []int64{},
	}
}

// builder turns a tree into page data.
type builder struct {
	t           *report.Tree
	kids        children
	d           *pageData
	self, total []int64         // by frame of the tree, over all paths
	ids         map[int32]int32 // frame of the tree to frame of the page
	files       map[string]int32
	frames      []int32 // back again
}

// The page's frames without one of the tree.
const (
	rootFrame  = -1
	smallFrame = -2
)

// sums adds up each frame's self and total, a total once per stack.
func (b *builder) sums() {
	b.self = make([]int64, len(b.t.Frames))
	b.total = make([]int64, len(b.t.Frames))
	open := make([]int32, len(b.t.Frames))
	stack := []int32{0}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if i < 0 { // leaving
			open[b.t.Nodes[^i].Frame]--
			continue
		}
		n := b.t.Nodes[i]
		if i > 0 && n.Frame >= 0 && int(n.Frame) < len(open) {
			b.self[n.Frame] += n.Self
			if open[n.Frame] == 0 {
				b.total[n.Frame] += n.Total
			}
			open[n.Frame]++
			stack = append(stack, ^i)
		}
		stack = append(stack, b.kids.of(i)...)
	}
}

// heaviest marks the nodes to keep: all of them, or the maxNodes heaviest. A
// parent is at least as heavy as its child and stands before it, so the
// marked ones are a tree.
func (b *builder) heaviest() []bool {
	keep := make([]bool, len(b.t.Nodes))
	least := int64(1)
	if len(b.t.Nodes) > maxNodes {
		weights := make([]int64, len(b.t.Nodes))
		for i, n := range b.t.Nodes {
			weights[i] = n.Total
		}
		slices.Sort(weights)
		least = max(weights[len(weights)-maxNodes], 1)
	}
	room := maxNodes
	for i, n := range b.t.Nodes {
		if n.Total > least {
			room--
		}
		keep[i] = n.Total > least && (i == 0 || keep[n.Parent])
	}
	for i, n := range b.t.Nodes {
		if n.Total == least && room > 0 && (i == 0 || keep[n.Parent]) {
			keep[i] = true
			room--
		}
	}
	return keep
}

// walk writes the kept nodes in preorder, siblings by weight. What was not kept
// of a parent's children becomes one small child.
func (b *builder) walk(keep []bool) {
	type item struct{ node, parent int32 }
	stack := []item{{0, 0}}
	var wide []int32
	for len(stack) > 0 {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		at := int32(len(b.d.Up)) //nolint:gosec // at most maxNodes twice over
		n := b.t.Nodes[it.node]
		b.node(at-it.parent, b.frame(it.node), max(n.Self, 0))
		wide = wide[:0]
		var small int64
		for _, k := range b.kids.of(it.node) {
			switch {
			case keep[k]:
				wide = append(wide, k)
			case b.t.Nodes[k].Total > 0:
				small += b.t.Nodes[k].Total
				b.d.Left++
			}
		}
		slices.SortFunc(wide, func(x, y int32) int { return heavier(b.t, x, y) })
		if small > 0 {
			b.node(1, b.page(smallFrame, report.Frame{Name: "(light paths, left out)"}), small)
		}
		for _, k := range slices.Backward(wide) {
			stack = append(stack, item{k, at})
		}
	}
}

func (b *builder) node(up, frame int32, self int64) {
	b.d.Up = append(b.d.Up, up)
	b.d.Frame = append(b.d.Frame, frame)
	b.d.Self = append(b.d.Self, self)
}

// frame is the page's frame of a node.
func (b *builder) frame(node int32) int32 {
	if node == 0 {
		return b.page(rootFrame, report.Frame{Name: b.d.Whole})
	}
	f := b.t.Nodes[node].Frame
	if f < 0 || int(f) >= len(b.t.Frames) {
		f = int32(len(b.t.Frames)) //nolint:gosec // one past the frames: the unknown one
	}
	return b.page(f, frameOf(b.t, node))
}

func (b *builder) page(key int32, f report.Frame) int32 {
	if id, ok := b.ids[key]; ok {
		return id
	}
	id := int32(len(b.d.Names)) //nolint:gosec // no more than nodes
	b.ids[key] = id
	b.frames = append(b.frames, key)
	d := b.d
	d.Names = append(d.Names, nameOf(f.Name))
	d.File = append(d.File, b.file(f.File))
	d.Line = append(d.Line, f.Line)
	d.Change = append(d.Change, int(same))
	d.Charge = append(d.Charge, 0)
	kind, self, total := colourOf(f), int64(0), int64(0)
	switch {
	case key == rootFrame:
		kind, total = root, d.Total
	case key == smallFrame:
		kind = small
	case int(key) < len(b.self):
		self, total = b.self[key], b.total[key]
	}
	d.Kind = append(d.Kind, int(kind))
	d.FSelf = append(d.FSelf, self)
	d.FTotal = append(d.FTotal, total)
	return id
}

func (b *builder) file(name string) int32 {
	name = clean(name, 300)
	if b.files == nil {
		b.files = make(map[string]int32)
	}
	if id, ok := b.files[name]; ok {
		return id
	}
	id := int32(len(b.d.Files)) //nolint:gosec // no more than frames
	b.files[name] = id
	b.d.Files = append(b.d.Files, name)
	return id
}

// charge adds what heap functions allocate through callees without a file.
func (b *builder) charge(r *report.Report) {
	if r.Type != report.Heap {
		return
	}
	shares := make(map[fnKey]float64, len(r.Functions))
	for _, f := range r.Functions {
		shares[fnKey{f.Name, f.File, f.Line}] = finite(max(f.ChargedShare, f.SelfShare))
	}
	for id, at := range b.frames {
		if at >= 0 && int(at) < len(b.t.Frames) {
			f := b.t.Frames[at]
			b.d.Charge[id] = shares[fnKey{f.Name, f.File, f.Line}]
		}
	}
}

// finite keeps a figure that JSON cannot hold out of the page.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}
