package sourcemap

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Bounds of one map. The largest seen (21.7 MB: TypeScript, d3 and puppeteer,
// minified) has 1.1 million segments.
const (
	MaxSize     = 32 << 20
	maxSegments = 4 << 20
	maxLines    = 4 << 20
)

// Errors of Parse.
var (
	ErrTooLarge = errors.New("source map is larger than 32 MiB; give the map of the Worker's bundle alone")
	ErrSections = errors.New("source map is an index map with sections; build the bundle with one plain map")
	ErrInvalid  = errors.New("not a usable source map; build it again")
)

// segment says that from a column on the code comes from a source line.
type segment struct {
	column int32 // 0-based, in the bundle
	source int32 // -1: from nowhere
	line   int32 // 0-based, in the source
}

// Map is one decoded source map.
type Map struct {
	file     string // the bundle's name as the map says it, may be empty
	sources  []string
	segments []segment
	lines    []uint32 // segments of bundle line i: lines[i] to lines[i+1]
	texts    texts    // of the sources, when they are wanted
}

// Parse decodes a source map of version 3. It keeps no part of data. The error
// wraps ErrTooLarge, ErrSections or ErrInvalid.
func Parse(data []byte) (*Map, error) { return parse(data, false) }

func parse(data []byte, keepTexts bool) (*Map, error) {
	if len(data) > MaxSize {
		return nil, ErrTooLarge
	}
	if bytes.HasPrefix(data, []byte(")]}'")) { // written against inclusion as a script
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	var v struct {
		Version    int             `json:"version"`
		File       string          `json:"file"`
		SourceRoot string          `json:"sourceRoot"`
		Sources    []string        `json:"sources"`
		Mappings   string          `json:"mappings"`
		Sections   json.RawMessage `json:"sections"`
		Contents   json.RawMessage `json:"sourcesContent"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("read source map: %w: %w", ErrInvalid, err)
	}
	if len(v.Sections) > 0 {
		return nil, ErrSections
	}
	if v.Version != 3 {
		return nil, fmt.Errorf("source map has version %d, not 3: %w", v.Version, ErrInvalid)
	}
	m := &Map{file: v.File, sources: make([]string, len(v.Sources))}
	for i, s := range v.Sources {
		m.sources[i] = sourceName(v.SourceRoot, s)
	}
	if err := m.decode(v.Mappings); err != nil {
		return nil, err
	}
	if keepTexts {
		m.texts = readTexts(m.sources, v.Contents)
	}
	return m, nil
}

// sourceName makes the path that people know: relative to the project, so
// "../../src/x.ts" and "webpack://app/./src/x.ts" are both src/x.ts.
func sourceName(root, name string) string {
	if root != "" && !strings.HasPrefix(name, "/") && !strings.Contains(name, "://") {
		name = strings.TrimSuffix(root, "/") + "/" + name
	}
	if rest, ok := strings.CutPrefix(name, "webpack://"); ok {
		_, name, _ = strings.Cut(rest, "/")
	}
	name = strings.TrimPrefix(name, "file://")
	name = path.Clean(strings.ReplaceAll(name, "\\", "/"))
	for {
		rest, ok := strings.CutPrefix(name, "../")
		if !ok {
			return name
		}
		name = rest
	}
}

func (m *Map) decode(mappings string) error {
	lines, commas := strings.Count(mappings, ";")+1, strings.Count(mappings, ",")
	if lines > maxLines || lines+commas > maxSegments {
		return fmt.Errorf("source map with %d lines and %d segments: %w", lines, commas, ErrTooLarge)
	}
	m.lines = make([]uint32, 1, lines+1)
	m.segments = make([]segment, 0, lines+commas)
	d := vlq{s: mappings}
	var column, source, line, sourceColumn, name int64
	sorted := true
	for d.i < len(d.s) {
		switch d.s[d.i] {
		case ';':
			d.i++
			column = 0
			m.lines = append(m.lines, uint32(len(m.segments))) //nolint:gosec // at most maxSegments
			continue
		case ',':
			d.i++
			continue
		}
		before := column
		n := d.segment(&column, &source, &line, &sourceColumn, &name)
		if n != 1 && n != 4 && n != 5 || column < 0 || column > 1<<31-1 ||
			n >= 4 && (source < 0 || source >= int64(len(m.sources)) || line < 0 || line > 1<<31-1) {
			return fmt.Errorf("source map mappings break off or point nowhere at character %d: %w", d.i, ErrInvalid)
		}
		sorted = sorted && column >= before
		sg := segment{column: int32(column), source: -1}
		if n >= 4 {
			sg.source, sg.line = int32(source), int32(line) //nolint:gosec // checked above
		}
		m.segments = append(m.segments, sg)
	}
	m.lines = append(m.lines, uint32(len(m.segments))) //nolint:gosec // at most maxSegments
	if !sorted {                                       // allowed, though hardly any writer does it
		for i := range len(m.lines) - 1 {
			slices.SortStableFunc(m.segments[m.lines[i]:m.lines[i+1]], func(a, b segment) int { return cmp.Compare(a.column, b.column) })
		}
	}
	return nil
}

// vlq reads the base 64 numbers of mappings.
type vlq struct {
	s string
	i int
}

// segment adds up to five numbers to their running sums and returns how many
// there were; 0 when one is broken or there are more.
func (d *vlq) segment(fields ...*int64) int {
	n := 0
	for d.i < len(d.s) && d.s[d.i] != ',' && d.s[d.i] != ';' {
		v, ok := d.number()
		if !ok || n == len(fields) {
			return 0
		}
		*fields[n] += v
		n++
	}
	return n
}

func (d *vlq) number() (int64, bool) {
	var u uint64
	for shift := 0; shift <= 35; shift += 5 {
		if d.i >= len(d.s) {
			return 0, false
		}
		digit := base64Value(d.s[d.i])
		if digit < 0 {
			return 0, false
		}
		d.i++
		u |= uint64(digit&31) << shift
		if digit&32 == 0 {
			v := int64(u >> 1)
			if u&1 != 0 {
				v = -v
			}
			return v, true
		}
	}
	return 0, false
}

func base64Value(c byte) int {
	switch {
	case c >= 'A' && c <= 'Z':
		return int(c - 'A')
	case c >= 'a' && c <= 'z':
		return int(c-'a') + 26
	case c >= '0' && c <= '9':
		return int(c-'0') + 52
	case c == '+':
		return 62
	case c == '/':
		return 63
	default:
		return -1
	}
}
