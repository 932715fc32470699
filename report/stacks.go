package report

// maxStackFrames bounds the frames of all distinct stacks together: inlined
// lines multiply what the bytes hold. 8 million take 32 MiB; a capture has some
// 100,000.
const maxStackFrames = 8 << 20

// class is what the leaf makes of a stack.
type class uint8

const (
	classBusy class = iota
	classIdle
	classProgram
)

// profile is one capture, decoded: distinct stacks of frames, leaf first, and
// the records in time order. It is what comparing, merging and drawing need
// after the bytes are gone.
type profile struct {
	typ    Type
	frames []Frame
	stacks []callStack
	flat   []int32 // frames of all stacks

	order  []uint32 // stack of each record, in time order
	values []int64  // capped

	duration int64
	cap      int64 // of one sample; 0 is none
	period   int64 // nanoseconds or bytes between samples; 0 is unknown
	merged   bool
	live     bool // heap: the file says that it holds what is kept
}

type callStack struct {
	from, to uint32 // in flat
	class    class
	records  int64
	count    int64
	value    int64
}

func (p *profile) of(s *callStack) []int32 { return p.flat[s.from:s.to] }

// decodeStacks turns ids into frames.
func decodeStacks(t *tables, f *folded, fr *framer) (*profile, error) {
	p := &profile{
		stacks: make([]callStack, len(f.stacks)), order: f.order, values: f.values,
		duration: max(t.duration, 0), merged: f.merged,
	}
	size := 0
	for i := range f.stacks {
		size += int(f.stacks[i].to - f.stacks[i].from) // an id takes a byte or more
	}
	p.flat = make([]int32, 0, min(size, maxStackFrames))
	d := decoder{t: t, fr: fr, p: p, cache: make([]span, len(t.locations))}
	for i := range f.stacks {
		s := &f.stacks[i]
		from := len(p.flat)
		if err := d.stack(f.ids(t.raw, s), s.tagged); err != nil {
			return nil, err
		}
		if len(p.flat) > maxStackFrames {
			return nil, tooComplex(len(p.flat), "stack frames", maxStackFrames)
		}
		p.stacks[i] = callStack{
			from: uint32(from), to: uint32(len(p.flat)), //nolint:gosec // at most maxStackFrames
			records: s.records, count: s.count, value: s.value,
		}
	}
	p.frames = fr.frames
	p.classify()
	return p, nil
}

// decoder holds the frames of each location once they are known, in lines.
type decoder struct {
	t     *tables
	fr    *framer
	p     *profile
	cache []span  // per location, into lines; to == 0 is not yet known
	lines []int32 // frames
}

func (d *decoder) stack(b []byte, tagged bool) error {
	for i := 0; i < len(b); {
		if tagged {
			i++ // one byte of tag, as fold made sure
		}
		var id uint64
		if id, i = uvarint(b, i); i < 0 {
			return malformed("a sample's stack breaks off")
		}
		loc := d.t.locIndex.get(id)
		if loc < 0 {
			return malformed("a sample refers to location %d, which it does not hold", id)
		}
		c := d.cache[loc]
		if c.to == 0 {
			c = d.location(loc)
		}
		if len(d.p.flat) > maxStackFrames {
			return tooComplex(len(d.p.flat), "stack frames", maxStackFrames)
		}
		d.p.flat = append(d.p.flat, d.lines[c.from:c.to]...)
	}
	return nil
}

func (d *decoder) location(loc int32) span {
	l := d.t.locations[loc]
	c := span{from: uint32(len(d.lines))} //nolint:gosec // at most maxLines
	if l.from == l.to {
		d.lines = append(d.lines, d.fr.missing())
	}
	// The first line is the innermost: what the others have inlined.
	for _, ln := range d.t.lines[l.from:l.to] {
		d.lines = append(d.lines, d.fr.of(ln))
	}
	c.to = uint32(len(d.lines)) //nolint:gosec // at most maxLines
	d.cache[loc] = c
	return c
}

// classify looks at each leaf, and takes the synthetic root off the stacks.
func (p *profile) classify() {
	for i := range p.stacks {
		s := &p.stacks[i]
		st := p.of(s)
		if len(st) == 0 {
			continue
		}
		switch p.frames[st[0]].Name {
		case nameIdle:
			s.class = classIdle
		case nameProgram:
			s.class = classProgram
		}
		if len(st) > 1 && p.frames[st[len(st)-1]].Name == nameRoot {
			s.to--
		}
	}
}
