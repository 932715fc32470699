package flame

import (
	"cmp"
	"slices"

	"github.com/snapflame/snapflame/report"
)

const (
	// minBox is the narrowest box that is drawn by itself, in pixels. Narrower
	// ones are merged per parent into one pale box: without that the lower rows
	// are coloured noise.
	minBox = 5
	// minSmall is the narrowest merged box that is worth a line of pixels.
	minSmall = 3
	// keepRows bounds what a layout stores; no card has room for more.
	keepRows = 64
)

// box is one rectangle of the icicle. Edges are pixels from the left border.
type box struct {
	node   int32 // -1: several narrow ones together
	last   int32 // whose children stand below: node, or the innermost of its calls to itself
	row    int
	x0, x1 float64
	share  float64 // of the root
	many   int     // how many were merged; of one frame, how often it calls itself
}

// icicle is a tree cut to what a picture can show.
type icicle struct {
	boxes []box
	rows  int // with a box of one frame, also beyond keepRows
}

// children holds each node's children in one array: those of i are
// list[start[i]:start[i+1]].
type children struct {
	start []int32
	list  []int32
}

func childrenOf(t *report.Tree) (children, error) {
	c := children{start: make([]int32, len(t.Nodes)+1), list: make([]int32, max(len(t.Nodes)-1, 0))}
	for i := 1; i < len(t.Nodes); i++ {
		p := t.Nodes[i].Parent
		if p < 0 || int(p) >= i {
			return children{}, ErrTree
		}
		c.start[p+1]++
	}
	for i := range len(t.Nodes) {
		c.start[i+1] += c.start[i]
	}
	next := slices.Clone(c.start)
	for i := 1; i < len(t.Nodes); i++ {
		p := t.Nodes[i].Parent
		c.list[next[p]] = int32(i)
		next[p]++
	}
	return c, nil
}

func (c children) of(i int32) []int32 { return c.list[c.start[i]:c.start[i+1]] }

// layout places the tree in a picture of the given width. Work and memory are
// linear in the nodes; a row holds at most width/minBox boxes and as many
// merged ones.
func layout(t *report.Tree, width float64) (icicle, error) {
	kids, err := childrenOf(t)
	if err != nil {
		return icicle{}, err
	}
	var ic icicle
	row := []box{{x1: width, share: 1}}
	var wide []int32
	for depth := 0; slices.ContainsFunc(row, func(b box) bool { return b.node >= 0 }); depth++ {
		if depth < keepRows {
			ic.boxes = append(ic.boxes, row...)
		}
		ic.rows = depth + 1
		var next []box
		for _, b := range row {
			if b.node >= 0 {
				next, wide = split(t, kids, b, next, wide[:0])
			}
		}
		row = next
	}
	return ic, nil
}

// split appends the boxes of one parent's children to next.
func split(t *report.Tree, kids children, parent box, next []box, wide []int32) ([]box, []int32) {
	whole := float64(max(t.Nodes[parent.node].Total, 0))
	var sum float64
	below := kids.of(parent.last)
	for _, k := range below {
		sum += float64(max(t.Nodes[k].Total, 0))
	}
	if whole = max(whole, sum); whole == 0 {
		return next, wide
	}
	perUnit := (parent.x1 - parent.x0) / whole
	var small float64
	many := 0
	for _, k := range below {
		w := float64(max(t.Nodes[k].Total, 0))
		switch {
		case w*perUnit >= minBox:
			wide = append(wide, k)
		case w > 0:
			small += w
			many++
		}
	}
	slices.SortFunc(wide, func(a, b int32) int { return heavier(t, a, b) })
	x := parent.x0
	for _, k := range wide {
		w := float64(t.Nodes[k].Total)
		b := box{node: k, row: parent.row + 1, x0: x, x1: x + w*perUnit, share: parent.share * w / whole}
		b.last, b.many = descend(t, kids, k)
		next = append(next, b)
		x += w * perUnit
	}
	if small*perUnit >= minSmall {
		next = append(next, box{
			node: -1, row: parent.row + 1, x0: x, x1: x + small*perUnit,
			share: parent.share * small / whole, many: many,
		})
	}
	return next, wide
}

// descend follows a function that does nothing but call itself to the last of
// those calls, so that recursion takes one row and not hundreds.
func descend(t *report.Tree, kids children, node int32) (last int32, calls int) {
	least := 0.98 * float64(t.Nodes[node].Total)
	for {
		below := kids.of(node)
		if len(below) != 1 || t.Nodes[below[0]].Frame != t.Nodes[node].Frame ||
			float64(t.Nodes[below[0]].Total) < least {
			return node, calls
		}
		node = below[0]
		calls++
	}
}

// heavier orders siblings: by weight, then by name, then as they came.
func heavier(t *report.Tree, a, b int32) int {
	na, nb := t.Nodes[a], t.Nodes[b]
	if c := cmp.Compare(nb.Total, na.Total); c != 0 {
		return c
	}
	if c := cmp.Compare(frameOf(t, a).Name, frameOf(t, b).Name); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}

// frameOf is a node's frame; a node without one gets an unnamed frame rather
// than a crash.
func frameOf(t *report.Tree, node int32) report.Frame {
	if f := t.Nodes[node].Frame; f >= 0 && int(f) < len(t.Frames) {
		return t.Frames[f]
	}
	return report.Frame{Name: "(unknown)", Kind: report.KindBuiltin}
}
