package flame

import (
	"cmp"
	"slices"

	"github.com/snapflame/snapflame/report"
)

// changeIndex finds the change of a frame: by name, file and line, or, where
// only one function has that name in that file, without the line, because lines
// move.
type changeIndex struct {
	exact map[fnKey]int
	named map[fnKey]int // line 0; -1 when several share the name
	list  []report.Change
}

type fnKey struct {
	name, file string
	line       int64
}

func indexChanges(list []report.Change) *changeIndex {
	x := &changeIndex{exact: make(map[fnKey]int, len(list)), named: make(map[fnKey]int, len(list)), list: list}
	for i, c := range list {
		if k := (fnKey{c.Name, c.File, c.Line}); c.Line > 0 {
			if _, ok := x.exact[k]; !ok {
				x.exact[k] = i
			}
		}
		k := fnKey{name: c.Name, file: c.File}
		if _, ok := x.named[k]; ok {
			x.named[k] = -1
		} else {
			x.named[k] = i
		}
	}
	return x
}

// at is the index of a frame's change, or -1.
func (x *changeIndex) at(f report.Frame) int {
	if i, ok := x.exact[fnKey{f.Name, f.File, f.Line}]; ok {
		return i
	}
	if i, ok := x.named[fnKey{name: f.Name, file: f.File}]; ok && (i < 0 || x.list[i].Line == 0 || f.Name != anonymous) {
		return i
	}
	return -1
}

// of is the frame's change, or nil; a nil index has none.
func (x *changeIndex) of(f report.Frame) *report.Change {
	if x == nil {
		return nil
	}
	if i := x.at(f); i >= 0 {
		return &x.list[i]
	}
	return nil
}

// anonymous is a name that says nothing: only the line tells two apart.
const anonymous = "(anonymous)"

// base adds the comparison: what changed clearly first, then by share.
func (b *builder) base(c *report.Comparison) {
	changes := slices.Clone(c.Changes)
	slices.SortStableFunc(changes, func(x, y report.Change) int {
		return cmp.Compare(max(y.Before, y.After), max(x.Before, x.After))
	})
	changes = changes[:min(len(changes), maxNodes)]
	p := &pageBase{Captures: c.Captures, Of: make([]int32, len(b.frames)), Changes: make([]pageChange, 0, len(changes))}
	x := indexChanges(changes)
	for _, ch := range changes {
		p.Changes = append(p.Changes, pageChange{
			nameOf(ch.Name), clean(ch.File, 300), finite(ch.Before), finite(ch.After), finite(ch.Low), finite(ch.High), ch.Verdict,
		})
	}
	for id, key := range b.frames {
		p.Of[id] = -1
		if key < 0 || int(key) >= len(b.t.Frames) {
			b.d.Change[id] = b.d.Kind[id]
			continue
		}
		f := b.t.Frames[key]
		if i := x.at(f); i >= 0 {
			p.Of[id] = int32(i) //nolint:gosec // at most maxNodes
			b.d.Change[id] = int(changeColour(&changes[i]))
		}
	}
	b.d.Base = p
}
