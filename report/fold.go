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
	raw, left := t.raw, t.n.samples
	for i := 0; left > 0; {
		var from, to int
		if next := shortSample(raw, i); next > 0 {
			from, to = i+2, next
			i = next
		} else {
			fd := readField(raw, i)
			i = fd.next
			if fd.num != fldSample {
				continue
			}
			from, to = fd.from, fd.to
		}
		left--
		if f.plain(from, to) {
			continue
		}
		if err := f.sample(from, to); err != nil {
			return nil, err
		}
	}
	return f.out, nil
}

func (f *folder) add(st stack, value, count int64) {
	o := f.out
	i := f.find(st) // before anything is dropped: its ids are checked later
	f.last = i
	if f.m.count < 0 || count == 0 {
		count = 1
	}
	if count < 0 || value < 0 {
		o.negative++
		return
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
	mask := uint64(len(f.table) - 1) //nolint:gosec // a power of two
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
	mask := uint64(len(f.table) - 1) //nolint:gosec // a power of two
	for i := range f.out.stacks {
		at := f.out.stacks[i].hash & mask
		for f.table[at] != 0 {
			at = (at + 1) & mask
		}
		f.table[at] = uint32(i + 1)
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
