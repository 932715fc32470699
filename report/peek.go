package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoFunction is wrapped by what Peek says of an unknown name.
var ErrNoFunction = errors.New("no such function in this capture")

// Top is the n functions with the largest self share.
func Top(r *Report, n int) []Function {
	return r.Functions[:max(0, min(n, len(r.Functions)))]
}

// Peeked is one function with its callers and callees. Self and the callees
// add up to the total, as do the callers: recursion is counted once.
type Peeked struct {
	Name      string
	Functions []Function // all of this name
	Self      float64    // shares of busy
	Total     float64
	Callers   []Edge // outside the function's own recursion
	Callees   []Edge
}

// Edge is a caller or callee with the share that runs through it. A caller
// without a name is the top: called by the runtime.
type Edge struct {
	Frame Frame
	Share float64
}

// Peek shows who calls a function and whom it calls, from the call tree. The
// name is matched exactly, else without regard to case, else as the only one
// that contains it; the error names near ones and wraps ErrNoFunction.
func Peek(r *Report, function string) (*Peeked, error) {
	if r.Tree == nil || len(r.Tree.Nodes) == 0 {
		return nil, ErrNoSamples
	}
	name := function // as it stands: a name may begin with a space
	if !slices.ContainsFunc(r.Functions, func(f Function) bool { return f.Name == name }) {
		var err error
		if name, err = r.findName(strings.TrimSpace(function)); err != nil {
			return nil, err
		}
	}
	p := &Peeked{Name: name}
	for _, f := range r.Functions {
		if f.Name == name {
			p.Functions = append(p.Functions, f)
		}
	}
	p.walk(r.Tree)
	return p, nil
}

func (r *Report) findName(want string) (string, error) {
	var near []string
	folded := ""
	lower := strings.ToLower(want)
	for _, f := range r.Functions {
		switch {
		case f.Name == want:
			return f.Name, nil
		case folded == "" && strings.EqualFold(f.Name, want):
			folded = f.Name
		case want != "" && strings.Contains(strings.ToLower(f.Name), lower) && !slices.Contains(near, f.Name):
			near = append(near, f.Name)
		}
	}
	switch {
	case folded != "":
		return folded, nil
	case len(near) == 1:
		return near[0], nil
	case len(near) == 0:
		for _, f := range Top(r, 5) {
			near = append(near, f.Name)
		}
	}
	for i, n := range near {
		near[i] = fmt.Sprintf("%q", short(n))
	}
	return "", fmt.Errorf("%q: %w; there are %s", short(want), ErrNoFunction, list(near[:min(len(near), 5)]))
}

// walk goes through the tree in preorder, so a parent is always known before
// its children.
func (p *Peeked) walk(t *Tree) {
	const none, self = -2, -1
	total := t.Nodes[0].Total
	if total == 0 {
		return
	}
	share := func(v int64) float64 { return float64(v) / float64(total) }
	match := make([]bool, len(t.Frames))
	for i, f := range t.Frames {
		match[i] = f.Name == p.Name
	}
	callers, callees := map[int32]int64{}, map[int32]int64{}
	// under is the callee below the innermost match that a node belongs to.
	under := make([]int32, len(t.Nodes))
	under[0] = none
	var own, all int64
	for i := 1; i < len(t.Nodes); i++ {
		n := &t.Nodes[i]
		up := under[n.Parent]
		switch {
		case match[n.Frame]:
			under[i] = self
			if up == none { // the outermost of a recursion
				all = plus(all, n.Total)
				callers[t.Nodes[n.Parent].Frame] += n.Total
			}
			own = plus(own, n.Self)
		case up == none:
			under[i] = none
		case up == self:
			under[i] = n.Frame
			callees[n.Frame] += n.Self
		default:
			under[i] = up
			callees[up] += n.Self
		}
	}
	p.Self, p.Total = share(own), share(all)
	p.Callers, p.Callees = edges(t, callers, share), edges(t, callees, share)
}

func edges(t *Tree, v map[int32]int64, share func(int64) float64) []Edge {
	out := make([]Edge, 0, len(v))
	for f, n := range v {
		e := Edge{Share: share(n)}
		if f >= 0 {
			e.Frame = t.Frames[f]
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), byName(&a.Frame, &b.Frame))
	})
	return out
}
