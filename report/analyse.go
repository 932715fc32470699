package report

import (
	"fmt"
	"sort"
	"strings"
)

// Analyse reads one pprof file, raw or gzip, and says what it holds. Any input
// that is no usable profile gives an *InputError: one sentence that says what
// the bytes are and what to do. A profile without samples is no error; its
// verdict is empty.
func Analyse(data []byte, o Options) (*Report, error) {
	p, facts, err := read(data, o)
	if err != nil {
		return nil, err
	}
	r, s := build([]*profile{p}, o.Meta)
	r.Samples, r.RemovedNS = facts.samples, facts.removed
	r.Notes = append(facts.notes, figureNotes(r, s, o.SourceMap != nil)...)
	r.Findings = findings(r, s)
	return r, nil
}

// readFacts is what the decoded profile no longer holds.
type readFacts struct {
	samples int64
	removed int64
	notes   []string
}

func read(data []byte, o Options) (*profile, readFacts, error) {
	var facts readFacts
	if len(data) == 0 {
		return nil, facts, inputErrorf(InputEmpty, "the file is empty: the API answered without a body; take the capture again")
	}
	raw, err := gunzip(data)
	if err != nil {
		return nil, facts, err
	}
	if len(raw) == 0 {
		return nil, facts, inputErrorf(InputEmpty, "the file is empty once uncompressed; take the capture again")
	}
	p, facts, err := decode(raw, o)
	if err != nil {
		// Only what failed as a profile is looked at as something else: a
		// profile may begin with bytes that read as text.
		if known := sniff(raw); known != nil {
			return nil, facts, known
		}
		return nil, facts, err
	}
	return p, facts, nil
}

func decode(raw []byte, o Options) (*profile, readFacts, error) {
	var facts readFacts
	t, err := readTables(raw)
	if err != nil {
		return nil, facts, err
	}
	typ, m, note, err := t.measure(o)
	if err != nil {
		return nil, facts, err
	}
	f, err := fold(t, m)
	if err != nil {
		return nil, facts, err
	}
	fr := newFramer(t, o.SourceMap)
	p, err := decodeStacks(t, f, fr)
	var foreign string
	if err == nil && fr.foreign() {
		foreign = fmt.Sprintf("the source map was not used: it seems to be of another build, as only %d of %d function names stand where it says", fr.found, fr.checked)
		fr = newFramer(t, nil)
		p, err = decodeStacks(t, f, fr)
	}
	if err != nil {
		return nil, facts, err
	}
	p.typ, p.cap, p.period = typ, m.cap, t.periodIn(typ)
	p.live = typ == Heap && m.value >= 0 && t.live(m.value)
	facts = readFacts{samples: int64(t.n.samples), removed: f.removed, notes: notes(note, f, fr)}
	if foreign != "" {
		facts.notes = append(facts.notes, foreign)
	}
	return p, facts, nil
}

func notes(note string, f *folded, fr *framer) []string {
	var n []string
	if note != "" {
		n = append(n, note)
	}
	if f.noStack > 0 {
		n = append(n, plural(f.noStack, "sample")+" without a call stack left out")
	}
	if f.negative > 0 {
		n = append(n, plural(f.negative, "sample")+" with negative values left out")
	}
	if f.saturated {
		n = append(n, "values too large to add up; the sums stop at the largest number")
	}
	if fr.fixed {
		n = append(n, "names that were not valid UTF-8 have been repaired")
	}
	if f.merged {
		n = append(n, "samples were merged per stack in the file: the cap on waits is approximate")
	}
	return append(n, mapNotes(fr.reasons)...)
}

func figureNotes(r *Report, s *sums, mapped bool) []string {
	var n []string
	if s.cut > 0 {
		n = append(n, fmt.Sprintf("%s with %d frames and more: V8 drops the outermost callers, so totals of entry points are too low", plural(s.cut, "sample"), v8Frames))
	}
	if s.trimmed > s.count/1000 { // fewer have no box that could be seen
		n = append(n, fmt.Sprintf("%s too deep or too varied to draw whole: the flamegraph ends at %d frames and a million boxes, where the inner frames' time stays; the table has all functions", plural(s.trimmed, "sample"), maxDepth))
	}
	if len(r.Modules) == 1 && !mapped && strings.HasPrefix(r.Modules[0].Name, "file:") && len(r.Functions) > 1 {
		n = append(n, "all code stands in one bundle; with its source map the report names source files and npm packages")
	}
	return n
}

func mapNotes(reasons map[MapReason]int) []string {
	var n []string
	for why, text := range map[MapReason]string{
		NoMap:     "have no source map and stand as in the bundle",
		NoColumn:  "stand on minified lines and the profile has no columns, so the source map cannot place them",
		NoSegment: "are not in the source map and stand as in the bundle",
	} {
		if c := reasons[why]; c > 0 {
			n = append(n, fmt.Sprintf("%s %s", plural(int64(c), "function position"), text))
		}
	}
	sort.Strings(n)
	return n
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
