package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// matcher gives the functions of several reports common numbers. A function is
// name and file; its line may move from version to version.
type matcher struct {
	reports []*Report
	groups  map[groupKey]*group
	ids     int
	frames  [][]int32 // per report: the number of each frame; -1 is none
}

type groupKey struct{ name, file string }

// group is all functions of one name and file: one of them, as a rule, or all
// the anonymous ones.
type group struct {
	lines [][]int64 // per report, sorted
	ids   []map[int64]int32
}

func newMatcher(reports []*Report) *matcher {
	m := &matcher{reports: reports, groups: map[groupKey]*group{}}
	// Only what has its share somewhere, as caller too, is worth a number; all
	// functions of its name then count, for telling which is which.
	for _, r := range reports {
		for k := range r.Functions {
			if f := &r.Functions[k]; f.TotalShare >= leastShare {
				m.groups[groupKey{f.Name, plainFile(f.File)}] = nil
			}
		}
	}
	for i, r := range reports {
		for k := range r.Functions {
			f := &r.Functions[k]
			key := groupKey{f.Name, plainFile(f.File)}
			g, ok := m.groups[key]
			if !ok {
				continue
			}
			if g == nil {
				g = &group{lines: make([][]int64, len(reports))}
				m.groups[key] = g
			}
			g.lines[i] = append(g.lines[i], f.Line)
		}
	}
	keys := slices.SortedFunc(maps.Keys(m.groups), func(a, b groupKey) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.file, b.file))
	})
	for _, k := range keys { // in order, so that the same reports always give the same answer
		m.number(m.groups[k])
	}
	for i, r := range reports {
		frames := r.parts[0].frames // of all parts
		ids := make([]int32, len(frames))
		for k := range frames {
			ids[k] = m.id(i, &frames[k])
		}
		m.frames = append(m.frames, ids)
	}
	return m
}

// number decides who is who inside a group: by line where the lines agree, by
// order where there are equally many, else they are one.
func (m *matcher) number(g *group) {
	g.ids = make([]map[int64]int32, len(g.lines))
	longest := 0
	for i, l := range g.lines {
		slices.Sort(l)
		l = slices.Compact(l)
		g.lines[i] = l
		if len(l) > len(g.lines[longest]) {
			longest = i
		}
	}
	all := g.lines[longest]
	byLine, byRank := true, true
	for _, l := range g.lines {
		byRank = byRank && (len(l) == 0 || len(l) == len(all))
		for _, x := range l {
			_, found := slices.BinarySearch(all, x)
			byLine = byLine && found
		}
	}
	for i, l := range g.lines {
		g.ids[i] = make(map[int64]int32, len(l))
		for rank, x := range l {
			at := 0
			switch {
			case byLine:
				at, _ = slices.BinarySearch(all, x)
			case byRank:
				at = rank
			}
			g.ids[i][x] = int32(m.ids + at) //nolint:gosec // at most the number of functions
		}
	}
	if byLine || byRank {
		m.ids += len(all)
	} else {
		m.ids++
	}
}

// id is -1 for what is in no busy sample.
func (m *matcher) id(report int, f *Frame) int32 {
	g := m.groups[groupKey{f.Name, plainFile(f.File)}]
	if g == nil {
		return -1
	}
	if id, ok := g.ids[report][f.Line]; ok {
		return id
	}
	return -1
}

// plainFile lets the forms of one bundle's name meet: file:///bundle/worker.js,
// file:/bundle/worker.js (pprof cleans it so) and the bare worker.js.
func plainFile(file string) string {
	rest, ok := strings.CutPrefix(file, "file:")
	if !ok {
		return file
	}
	return strings.TrimPrefix(strings.TrimLeft(rest, "/"), "bundle/")
}

// subject is one function that is compared, with where it was found.
type subject struct {
	frame  Frame
	caller int32   // id of the caller with a file that has most of it; -1 is none
	most   float64 // the largest share in any report
}

// subjects picks what is worth comparing: 1 % in any of the reports.
func (m *matcher) subjects() map[int32]*subject {
	out := map[int32]*subject{}
	callers := map[int32]map[int32]int64{}
	for i, r := range m.reports {
		sums := make([]int64, m.ids)
		var busy int64
		for _, p := range r.parts {
			busy = plus(busy, m.charge(i, p, sums, callers, out))
		}
		for id, v := range sums {
			if s := out[int32(id)]; s != nil && busy > 0 {
				s.most = max(s.most, float64(v)/float64(busy))
			}
		}
	}
	for id, s := range out {
		if s.most < leastShare {
			delete(out, id)
			continue
		}
		s.caller = heaviest(callers[id])
	}
	return out
}

func heaviest(v map[int32]int64) int32 {
	best := int32(-1)
	for id, n := range v {
		if best < 0 || cmp.Or(cmp.Compare(n, v[best]), cmp.Compare(best, id)) > 0 {
			best = id
		}
	}
	return best
}

func (m *matcher) charge(report int, p *profile, sums []int64, callers map[int32]map[int32]int64, out map[int32]*subject) (busy int64) {
	for i := range p.stacks {
		c := &p.stacks[i]
		st := p.of(c)
		if c.records == 0 || len(st) == 0 || p.typ == CPU && c.class != classBusy {
			continue
		}
		busy = plus(busy, c.value)
		f := chargedFrame(p.frames, st)
		id := m.frames[report][f]
		if id < 0 {
			continue
		}
		sums[id] = plus(sums[id], c.value)
		if out[id] == nil {
			out[id] = &subject{frame: p.frames[f]} // the current report comes first
			callers[id] = map[int32]int64{}
		}
		if up := m.callerOf(report, p, st, f); up >= 0 && up != id {
			callers[id][up] += c.value
		}
	}
	return busy
}

func (m *matcher) callerOf(report int, p *profile, st []int32, f int32) int32 {
	below := true
	for _, x := range st {
		switch {
		case x == f:
			below = false
		case !below && p.frames[x].File != "":
			return m.frames[report][x]
		}
	}
	return -1
}
