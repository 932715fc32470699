package report

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Names that V8 and the converters give to what is no function.
const (
	nameAnonymous = "(anonymous)"
	nameIdle      = "(idle)"
	nameProgram   = "(program)"
	nameGC        = "(garbage collector)"
	nameRoot      = "(root)"
	nameUnknown   = "(unknown)"

	// DataDog's converter renames the collector and puts it under "Node.js".
	nameGCDataDog = "Garbage Collection"
)

// clean makes text of the file safe to encode: it may hold anything.
func clean(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// kindOf says whose code a frame is. A bundle is one file for everything, so
// without a source map dependencies pass for the user's own code.
func kindOf(name, file string) Kind {
	switch {
	case name == nameGC || name == nameGCDataDog && !strings.Contains(file, "/"):
		return KindGC
	case strings.HasPrefix(file, "wasm:"), strings.HasPrefix(name, "wasm-function["),
		strings.HasSuffix(name, "JSToWasmWrapper"):
		return KindWasm
	case file == "":
		return KindBuiltin
	case strings.Contains(file, "node_modules/"):
		return KindDependency
	case hasScheme(file, "node", "cloudflare", "cloudflare-internal", "workerd", "node-internal", "internal"):
		return KindRuntime
	default:
		return KindApp
	}
}

func hasScheme(file string, schemes ...string) bool {
	s, _, ok := strings.Cut(file, ":")
	if !ok {
		return false
	}
	return slices.Contains(schemes, s)
}

// moduleOf is the npm package of a file in node_modules, else the file. The
// last node_modules counts: pnpm and nested packages have several.
func moduleOf(file string) string {
	const dir = "node_modules/"
	i := strings.LastIndex(file, dir)
	if i < 0 {
		return file
	}
	rest := file[i+len(dir):]
	name, more, _ := strings.Cut(rest, "/")
	if strings.HasPrefix(name, "@") {
		if scoped, _, _ := strings.Cut(more, "/"); scoped != "" {
			return name + "/" + scoped
		}
	}
	if name == "" {
		return file
	}
	return name
}

// frameKey is what makes a function one function.
type frameKey struct {
	name, file string
	line       int64
}

// framer turns lines of the file into frames, each made once.
type framer struct {
	t       *tables
	m       SourceMapper
	frames  []Frame
	byKey   map[frameKey]int32
	byFn    []int32 // frame+1 of functions with a start line
	byPlace map[place]int32
	texts   map[int64]string
	region  string // all texts at once, where they lie together
	start   uint32 // of region in the raw bytes
	reasons map[MapReason]int
	checked int  // functions whose name could be looked for in its source
	found   int  // and stood there
	fixed   bool // text had to be repaired
	unknown int32
}

type place struct {
	fn           uint64
	line, column int64
}

func newFramer(t *tables, m SourceMapper) *framer {
	f := &framer{
		t: t, m: m, byKey: make(map[frameKey]int32, len(t.functions)), byFn: make([]int32, len(t.functions)),
		byPlace: map[place]int32{}, texts: map[int64]string{}, reasons: map[MapReason]int{}, unknown: -1,
	}
	f.frames = make([]Frame, 0, len(t.functions))
	f.copyTexts()
	return f
}

// copyTexts copies the string table as one string, of which the names are
// parts: a copy per name is thousands of allocations. Tables that are large,
// scattered or not UTF-8 are copied name by name.
func (f *framer) copyTexts() {
	const most = 1 << 20
	s := f.t.strings
	from, to := s[0].from, s[len(s)-1].to
	if to < from || to-from > most {
		return
	}
	for i := range s {
		if s[i].from < from || s[i].to > to || !utf8.Valid(f.t.raw[s[i].from:s[i].to]) {
			return
		}
	}
	f.start, f.region = from, string(f.t.raw[from:to])
}

// of is the frame of one line. The line of a function is where it starts: its
// start line, or, as V8's converters leave that out, the line of the location,
// which V8 fills with the same thing.
func (f *framer) of(l line) int32 {
	fn := f.t.functions[l.fn]
	start := l.line
	if fn.line > 0 {
		if f.m == nil && f.byFn[l.fn] > 0 {
			return f.byFn[l.fn] - 1
		}
		start = fn.line
	}
	p := place{fn: l.fn, line: start}
	if f.m != nil && start == l.line {
		p.column = l.column // a column on another line says nothing about the start
	}
	if i, ok := f.byPlace[p]; ok {
		return i
	}
	i := f.make(fn, p)
	f.byPlace[p] = i
	if fn.line > 0 {
		f.byFn[l.fn] = i + 1
	}
	return i
}

func (f *framer) make(fn function, p place) int32 {
	k := frameKey{name: f.text(fn.name), file: f.text(fn.file), line: max(p.line, 0)}
	if k.name == "" {
		k.name = nameAnonymous
	}
	if f.m != nil && k.file != "" {
		pos, why := f.m.Map(k.file, k.line, p.column)
		f.reasons[why]++
		if why == Mapped {
			f.check(k, pos)
			k.file, k.line = clean([]byte(pos.File)), pos.Line
		}
	}
	return f.intern(k)
}

func (f *framer) check(k frameKey, at Position) {
	c, ok := f.m.(SourceChecker)
	if !ok {
		return
	}
	if holds, known := c.Holds(k.file, at, k.name); known {
		f.checked++
		if holds {
			f.found++
		}
	}
}

// foreign says that the source map is that of another build: most functions do
// not stand where it puts them.
func (f *framer) foreign() bool { return f.checked >= 3 && 2*f.found < f.checked }

func (f *framer) intern(k frameKey) int32 {
	if i, ok := f.byKey[k]; ok {
		return i
	}
	i := int32(len(f.frames)) //nolint:gosec // at most maxLines
	kind := kindOf(k.name, k.file)
	fr := Frame{Name: k.name, File: k.file, Line: k.line, Kind: kind}
	if k.file != "" {
		fr.Module = moduleOf(k.file)
	}
	f.frames = append(f.frames, fr)
	f.byKey[k] = i
	return i
}

// missing is the frame of a location without lines: an address only.
func (f *framer) missing() int32 {
	if f.unknown < 0 {
		f.unknown = f.intern(frameKey{name: nameUnknown})
	}
	return f.unknown
}

func (f *framer) text(i int64) string {
	if f.region != "" {
		s := f.t.strings[i]
		return f.region[s.from-f.start : s.to-f.start]
	}
	if s, ok := f.texts[i]; ok {
		return s
	}
	b := f.t.bytes(i)
	s := clean(b)
	f.fixed = f.fixed || len(s) != len(b) || s != string(b)
	f.texts[i] = s
	return s
}
