package report

// Numbers of the pprof message (google/pprof, proto/profile.proto).
const (
	fldSampleType  = 1
	fldSample      = 2
	fldMapping     = 3
	fldLocation    = 4
	fldFunction    = 5
	fldString      = 6
	fldDropFrames  = 7
	fldKeepFrames  = 8
	fldTime        = 9
	fldDuration    = 10
	fldPeriodType  = 11
	fldPeriod      = 12
	fldComment     = 13
	fldDefaultType = 14
	fldDocURL      = 15
)

// What one profile may hold. A capture of 50 s has some 50,000 samples and a
// few thousand functions; these bounds keep the tables of a hostile file under
// 100 MiB, and are checked on the counts before any table is made.
const (
	maxSamples   = 4 << 20
	maxStrings   = 2 << 20
	maxLocations = 1 << 20
	maxLines     = 2 << 20
	maxFunctions = 1 << 18
	maxMappings  = 1 << 16
	maxTypes     = 64
)

type counts struct {
	samples, strings, locations, lines, functions, mappings, types int
}

func (c counts) check() error {
	for _, l := range []struct {
		n, most int
		what    string
	}{
		{c.samples, maxSamples, "samples"},
		{c.strings, maxStrings, "strings"},
		{c.locations, maxLocations, "locations"},
		{c.lines, maxLines, "lines"},
		{c.functions, maxFunctions, "functions"},
		{c.mappings, maxMappings, "mappings"},
		{c.types, maxTypes, "values per sample"},
	} {
		if l.n > l.most {
			return tooComplex(l.n, l.what, l.most)
		}
	}
	return nil
}

func tooComplex(n int, what string, most int) error {
	return inputErrorf(InputTooComplex, "the profile holds %d %s, more than the %d that are read; no single capture has so many: give the file of one capture", n, what, most)
}

type span struct{ from, to uint32 }

type valueType struct{ name, unit int64 }

type function struct{ name, file, line int64 }

// location holds its lines as a range of tables.lines.
type location struct{ from, to uint32 }

type line struct {
	fn     uint64 // its id as read, then the index into tables.functions
	line   int64
	column int64
}

// tables is a profile without its samples.
type tables struct {
	raw       []byte
	n         counts
	strings   []span
	types     []valueType
	functions []function
	locations []location
	lines     []line
	locIndex  idIndex

	periodType  valueType
	period      int64
	duration    int64
	defaultType int64
}

// idIndex finds a table index by id. Ids are 1..n in every writer known, so a
// slice serves; whatever is beyond it goes to a map.
type idIndex struct {
	dense  []int32 // index+1
	sparse map[uint64]int32
}

func newIDIndex(n int) idIndex { return idIndex{dense: make([]int32, n+1)} }

// add is false when the id is 0 or taken.
func (x *idIndex) add(id uint64, i int32) bool {
	if id == 0 || x.get(id) >= 0 {
		return false
	}
	if id < uint64(len(x.dense)) {
		x.dense[id] = i + 1
		return true
	}
	if x.sparse == nil {
		x.sparse = map[uint64]int32{}
	}
	x.sparse[id] = i + 1
	return true
}

func (x *idIndex) get(id uint64) int32 {
	if id < uint64(len(x.dense)) {
		return x.dense[id] - 1
	}
	return x.sparse[id] - 1
}

// readTables counts, then reads everything but the samples, and refuses what
// google/pprof's parser and CheckValid refuse.
func readTables(raw []byte) (*tables, error) {
	t := &tables{raw: raw}
	if err := t.count(); err != nil {
		return nil, err
	}
	t.strings = make([]span, 0, t.n.strings)
	t.types = make([]valueType, 0, t.n.types)
	t.functions = make([]function, 0, t.n.functions)
	t.locations = make([]location, 0, t.n.locations)
	t.lines = make([]line, 0, t.n.lines)
	return t, t.read()
}

func (t *tables) count() error {
	for i := 0; i < len(t.raw); {
		if next := shortSample(t.raw, i); next > 0 {
			t.n.samples++
			i = next
			continue
		}
		f := readField(t.raw, i)
		if f.next < 0 {
			if t.n.strings+t.n.types == 0 {
				return notPprof()
			}
			return malformed("it breaks off or turns into something else at byte %d of %d", i, len(t.raw))
		}
		switch f.num {
		case fldSample:
			t.n.samples++
		case fldString:
			t.n.strings++
		case fldLocation:
			t.n.locations++
			t.n.lines += linesIn(t.raw[f.from:f.to])
		case fldFunction:
			t.n.functions++
		case fldMapping:
			t.n.mappings++
		case fldSampleType:
			t.n.types++
		default:
		}
		i = f.next
	}
	if t.n.strings == 0 || t.n.types == 0 && t.n.samples == 0 {
		return notPprof()
	}
	return t.n.check()
}

// shortSample is the end of a sample of less than 128 bytes at i, as nearly
// all are; 0 when there is something else.
func shortSample(b []byte, i int) int {
	if b[i] != fldSample<<3|wireBytes || i+1 >= len(b) || b[i+1] >= 0x80 {
		return 0
	}
	if next := i + 2 + int(b[i+1]); next <= len(b) {
		return next
	}
	return 0
}

func linesIn(location []byte) int {
	n := 0
	for i := 0; i < len(location); {
		f := readField(location, i)
		if f.next < 0 {
			return n // read says what is wrong
		}
		if f.num == 4 {
			n++
		}
		i = f.next
	}
	return n
}

func notPprof() error {
	return inputErrorf(InputNotPprof, "this is not a pprof file; give the bytes that the profiling API answered, raw or gzip")
}
