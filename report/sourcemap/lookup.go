package sourcemap

import (
	"sort"

	"github.com/snapflame/snapflame/report"
)

// A line of the bundle whose code comes from more lines of source than this,
// or from several files, is minified: without a column nobody can say which of
// its functions is meant. Bundlers that keep lines put one source line on one
// line, or a statement broken over a few.
const linesOnOneLine = 4

// At finds the source of a place in the bundle: line 1-based, column 1-based
// or 0 for unknown.
func (m *Map) At(line, column int64) (report.Position, report.MapReason) {
	if line < 1 || line > int64(len(m.lines)-1) {
		return report.Position{}, report.NoSegment
	}
	segs := m.segments[m.lines[line-1]:m.lines[line]]
	if column <= 0 {
		return m.alone(segs)
	}
	// The last segment at or before the place, else the first of the line: a
	// function's position may be its parenthesis, before which nothing is mapped.
	i := sort.Search(len(segs), func(i int) bool { return int64(segs[i].column) > column-1 })
	if i > 0 {
		i--
	}
	if i >= len(segs) || segs[i].source < 0 {
		return report.Position{}, report.NoSegment
	}
	return m.position(segs[i]), report.Mapped
}

func (m *Map) position(s segment) report.Position {
	return report.Position{File: m.sources[s.source], Line: int64(s.line) + 1}
}

// alone is the source of a whole line, when there is but one.
func (m *Map) alone(segs []segment) (report.Position, report.MapReason) {
	first := -1
	low, high := int32(0), int32(0)
	for i, s := range segs {
		switch {
		case s.source < 0:
			continue
		case first < 0:
			first, low, high = i, s.line, s.line
		case s.source != segs[first].source:
			return report.Position{}, report.NoColumn
		}
		low, high = min(low, s.line), max(high, s.line)
	}
	switch {
	case first < 0:
		return report.Position{}, report.NoSegment
	case high-low >= linesOnOneLine:
		return report.Position{}, report.NoColumn
	default:
		return m.position(segs[first]), report.Mapped
	}
}
