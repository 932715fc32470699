package report

import (
	"bytes"
	"hash/maphash"
	"math"
)

// stack is one distinct call stack, told apart by its encoded bytes: of 50,000
// samples a few thousand remain, and only these are ever decoded.
type stack struct {
	from, to uint32 // location ids in folded.arena or, usually, in the raw bytes
	tagged   bool   // ids stand in single fields, each after its tag (unpacked)
	inArena  bool
	records  int64 // records of the file
	count    int64 // samples they stand for
	value    int64 // capped
	hash     uint64
}

// folded is the samples of a profile, once per distinct stack and in order.
type folded struct {
	stacks []stack
	arena  []byte
	order  []uint32 // stack of each record that counts
	values []int64  // its capped value

	removed   int64
	noStack   int64 // records without locations
	negative  int64 // records with a negative value
	merged    bool
	saturated bool
}

// measure says how the values of a sample are read.
type measure struct {
	types  int
	value  int   // index of the value; -1: count x period
	count  int   // index of the count; -1: every record is one sample
	scale  int64 // to nanoseconds or bytes
	period int64 // in nanoseconds or bytes, for value -1
	cap    int64 // per sample; 0 is none
}

type folder struct {
	t     *tables
	m     measure
	out   *folded
	table []uint32 // open addressing: stack+1
	seed  maphash.Seed
	last  int
	ids   []byte // scratch: ids of a sample whose list is in pieces
}

func fold(t *tables, m measure) (*folded, error) {
	f := &folder{
		t: t, m: m, seed: maphash.MakeSeed(), table: make([]uint32, 1<<12), last: -1,
		out: &folded{order: make([]uint32, 0, t.n.samples), values: make([]int64, 0, t.n.samples)},
	}
	left := t.n.samples
	for i := 0; left > 0; {
		fd := readField(t.raw, i)
		i = fd.next
		if fd.num != fldSample {
			continue
		}
		left--
		if err := f.sample(fd.from, fd.to); err != nil {
			return nil, err
		}
	}
	return f.out, nil
}

// sample reads one record. b is the raw profile up to the record's end, so
// that positions can be kept.
func (f *folder) sample(from, to int) error {
	b := f.t.raw[:to]
	var st stack
	pieces, values := 0, 0
	var value, count int64
	for i := from; i < to; {
		fd := readField(b, i)
		if fd.next < 0 {
			return malformed("a sample breaks off")
		}
		switch {
		case fd.num == 1 && fd.typ == wireBytes:
			if fd.to > fd.from {
				pieces++
				st.from, st.to, st.tagged = uint32(fd.from), uint32(fd.to), false //nolint:gosec // at most MaxRaw
			}
		case fd.num == 1 && fd.typ == wireVarint:
			// A run of single ids is one piece, if each has the tag's short form.
			if pieces > 0 && st.tagged && int(st.to) == i && b[i] < 0x80 {
				st.to = uint32(fd.next) //nolint:gosec // at most MaxRaw
			} else {
				pieces++
				st.from, st.to, st.tagged = uint32(i), uint32(fd.next), true //nolint:gosec // at most MaxRaw
				if b[i] >= 0x80 {
					pieces++
				}
			}
		case fd.num == 2 && fd.typ == wireBytes:
			for j := fd.from; j < fd.to; values++ {
				var u uint64
				if u, j = uvarint(b[:fd.to], j); j < 0 {
					return malformed("a sample's values break off")
				}
				f.pick(values, u, &value, &count)
			}
		case fd.num == 2 && fd.typ == wireVarint:
			f.pick(values, fd.u, &value, &count)
			values++
		case fd.num == 3 && fd.typ == wireBytes:
			if err := f.label(b[fd.from:fd.to]); err != nil {
				return err
			}
		case fd.num >= 1 && fd.num <= 3:
			return malformed("a sample's field %d is not what it should be", fd.num)
		}
		i = fd.next
	}
	if values != f.m.types {
		return malformed("a sample has %d values where %d are declared", values, f.m.types)
	}
	if pieces > 1 {
		if err := f.collect(b, from, to, &st); err != nil {
			return err
		}
	}
	if pieces == 0 {
		f.out.noStack++
		return nil
	}
	return f.add(st, value, count)
}

func (f *folder) pick(i int, u uint64, value, count *int64) {
	if i == f.m.value {
		*value = int64(u) //nolint:gosec // two's complement, as the format has it
	}
	if i == f.m.count {
		*count = int64(u) //nolint:gosec // two's complement, as the format has it
	}
}

// label is checked as google/pprof checks it and otherwise ignored.
func (f *folder) label(b []byte) error {
	var v [5]uint64
	if !varints(b, v[:]) {
		return malformed("a label is broken")
	}
	refs := [3]uint64{v[1], v[2], 0}
	if v[2] == 0 {
		refs[2] = v[4]
	}
	for _, r := range refs {
		if r >= uint64(len(f.t.strings)) {
			return malformed("a label refers to text that it does not hold")
		}
	}
	return nil
}

// collect joins a list that came in pieces into one packed list in the arena.
func (f *folder) collect(b []byte, from, to int, st *stack) error {
	f.ids = f.ids[:0]
	for i := from; i < to; {
		fd := readField(b, i)
		i = fd.next
		switch {
		case fd.num != 1:
		case fd.typ == wireBytes:
			f.ids = append(f.ids, b[fd.from:fd.to]...)
			if fd.to > fd.from && b[fd.to-1] >= 0x80 {
				return malformed("a sample's stack breaks off")
			}
		default:
			u := fd.u
			for ; u >= 0x80; u >>= 7 {
				f.ids = append(f.ids, byte(u)|0x80)
			}
			f.ids = append(f.ids, byte(u))
		}
	}
	st.from = uint32(len(f.out.arena)) //nolint:gosec // at most MaxRaw
	f.out.arena = append(f.out.arena, f.ids...)
	st.to = uint32(len(f.out.arena)) //nolint:gosec // at most MaxRaw
	st.tagged, st.inArena = false, true
	return nil
}

func (f *folder) add(st stack, value, count int64) error {
	o := f.out
	i := f.find(st) // before anything is dropped: its ids are checked later
	f.last = i
	if f.m.count < 0 || count == 0 {
		count = 1
	}
	if count < 0 || value < 0 {
		o.negative++
		return nil
	}
	if count > 1 && f.m.cap > 0 { // a heap record counts objects
		o.merged = true
	}
	if f.m.value < 0 {
		value = o.mul(count, f.m.period)
	} else {
		value = o.mul(value, f.m.scale)
	}
	if f.m.cap > 0 {
		if most := o.mul(count, f.m.cap); value > most {
			o.removed = o.plus(o.removed, value-most)
			value = most
		}
	}
	s := &o.stacks[i]
	s.records++
	s.count = o.plus(s.count, count)
	s.value = o.plus(s.value, value)
	o.order = append(o.order, uint32(i)) //nolint:gosec // at most maxSamples
	o.values = append(o.values, value)
	return nil
}

func (o *folded) ids(raw []byte, s *stack) []byte {
	if s.inArena {
		return o.arena[s.from:s.to]
	}
	return raw[s.from:s.to]
}

func (f *folder) find(st stack) int {
	o := f.out
	key := o.ids(f.t.raw, &st)
	// Runs are the rule: a wait is many idle samples, a request one deep stack.
	if f.last >= 0 {
		if s := &o.stacks[f.last]; s.tagged == st.tagged && bytes.Equal(o.ids(f.t.raw, s), key) {
			return f.last
		}
	}
	h := maphash.Bytes(f.seed, key)
	mask := uint64(len(f.table) - 1)
	at := h & mask
	for ; f.table[at] != 0; at = (at + 1) & mask {
		i := int(f.table[at] - 1)
		if s := &o.stacks[i]; s.hash == h && s.tagged == st.tagged && bytes.Equal(o.ids(f.t.raw, s), key) {
			return i
		}
	}
	st.hash = h
	o.stacks = append(o.stacks, st)
	f.table[at] = uint32(len(o.stacks)) //nolint:gosec // at most maxSamples
	if 2*len(o.stacks) > len(f.table) {
		f.grow()
	}
	return len(o.stacks) - 1
}

func (f *folder) grow() {
	f.table = make([]uint32, 2*len(f.table))
	mask := uint64(len(f.table) - 1)
	for i := range f.out.stacks {
		at := f.out.stacks[i].hash & mask
		for f.table[at] != 0 {
			at = (at + 1) & mask
		}
		f.table[at] = uint32(i + 1) //nolint:gosec // at most maxSamples
	}
}

// plus and mul take non-negative numbers and stop at the largest one.
func (o *folded) plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		o.saturated = true
		return math.MaxInt64
	}
	return a + b
}

func (o *folded) mul(a, b int64) int64 {
	if b > 1 && a > math.MaxInt64/b {
		o.saturated = true
		return math.MaxInt64
	}
	return a * b
}
