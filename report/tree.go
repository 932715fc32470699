package report

import (
	"cmp"
	"slices"
)

// Bounds of the tree. V8 keeps 255 frames; beyond maxDepth a stack's value
// stays with its last node. Beyond maxNodes paths stop growing likewise, so
// totals stay right and the picture stays drawable.
const (
	maxDepth = 512
	maxNodes = 1 << 20
)

// buildTree folds the busy stacks, callers first. It also gives the number of
// samples whose stacks it does not hold whole.
func buildTree(parts []*profile, t Type) (*Tree, int64) {
	size := 1 << 8
	for size < 1<<15 && size < len(parts[0].flat) {
		size <<= 1
	}
	b := newTreeBuilder(parts[0].frames, size)
	trimmed := int64(0)
	for _, p := range parts {
		for i := range p.stacks {
			s := &p.stacks[i]
			if s.records == 0 || s.from == s.to || t == CPU && s.class != classBusy {
				continue
			}
			if !b.add(p.of(s), s.value) {
				trimmed = plus(trimmed, s.count)
			}
		}
	}
	unit := "nanoseconds"
	if t == Heap {
		unit = "bytes"
	}
	return &Tree{Unit: unit, Frames: parts[0].frames, Nodes: b.preorder()}, trimmed
}

// treeBuilder finds children in one open hash table keyed by parent and frame:
// a map per node costs five times as much.
type treeBuilder struct {
	frames []Frame
	nodes  []Node
	keys   []uint64 // parent<<32 | frame, +1
	vals   []int32
}

func newTreeBuilder(frames []Frame, size int) *treeBuilder {
	b := &treeBuilder{frames: frames, nodes: make([]Node, 0, size/2), keys: make([]uint64, size), vals: make([]int32, size)}
	b.nodes = append(b.nodes, Node{Frame: -1, Parent: -1})
	return b
}

// add reports whether the whole stack found room.
func (b *treeBuilder) add(stack []int32, v int64) bool {
	at := int32(0)
	b.nodes[0].Total = plus(b.nodes[0].Total, v)
	d := len(stack) - 1
	for ; d >= 0 && len(stack)-1-d < maxDepth; d-- {
		next := b.child(at, stack[d])
		if next < 0 {
			break
		}
		at = next
		b.nodes[at].Total = plus(b.nodes[at].Total, v)
	}
	b.nodes[at].Self = plus(b.nodes[at].Self, v)
	return d < 0
}

func (b *treeBuilder) child(parent, frame int32) int32 {
	key := uint64(uint32(parent))<<32 | uint64(uint32(frame)) + 1 //nolint:gosec // both are small and not negative
	mask := uint64(len(b.keys) - 1)                               //nolint:gosec // a power of two
	i := key * 0x9e3779b97f4a7c15 >> 32 & mask
	for ; b.keys[i] != 0; i = (i + 1) & mask {
		if b.keys[i] == key {
			return b.vals[i]
		}
	}
	if len(b.nodes) >= maxNodes {
		return -1
	}
	n := int32(len(b.nodes)) //nolint:gosec // at most maxNodes
	b.nodes = append(b.nodes, Node{Frame: frame, Parent: parent})
	b.keys[i], b.vals[i] = key, n
	if 2*len(b.nodes) > len(b.keys) {
		b.grow()
	}
	return n
}

func (b *treeBuilder) grow() {
	keys, vals := b.keys, b.vals
	b.keys, b.vals = make([]uint64, 2*len(keys)), make([]int32, 2*len(keys))
	mask := uint64(len(b.keys) - 1) //nolint:gosec // a power of two
	for j, key := range keys {
		if key == 0 {
			continue
		}
		i := key * 0x9e3779b97f4a7c15 >> 32 & mask
		for b.keys[i] != 0 {
			i = (i + 1) & mask
		}
		b.keys[i], b.vals[i] = key, vals[j]
	}
}

// preorder puts the heaviest sibling first, ties by name, so that the same
// profile always gives the same picture.
func (b *treeBuilder) preorder() []Node {
	n := len(b.nodes)
	first := make([]int32, n+1) // children of i: kids[first[i]:first[i+1]]
	for _, nd := range b.nodes[1:] {
		first[nd.Parent+1]++
	}
	for i := range n {
		first[i+1] += first[i]
	}
	kids := make([]int32, n)
	fill := slices.Clone(first)
	for i := 1; i < n; i++ {
		p := b.nodes[i].Parent
		kids[fill[p]] = int32(i)
		fill[p]++
	}
	type item struct{ node, parent int32 }
	out := make([]Node, 0, n)
	todo := []item{{0, -1}}
	for len(todo) > 0 {
		it := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		nd := b.nodes[it.node]
		nd.Parent = it.parent
		at := int32(len(out)) //nolint:gosec // at most maxNodes
		out = append(out, nd)
		c := kids[first[it.node]:first[it.node+1]]
		if len(c) > 1 {
			slices.SortFunc(c, b.lighter)
		}
		for _, k := range c {
			todo = append(todo, item{k, at})
		}
	}
	return out
}

// lighter orders for a stack of things to do: what comes last is done first.
func (b *treeBuilder) lighter(x, y int32) int {
	nx, ny := &b.nodes[x], &b.nodes[y]
	if c := cmp.Compare(nx.Total, ny.Total); c != 0 {
		return c
	}
	return byName(&b.frames[ny.Frame], &b.frames[nx.Frame])
}
