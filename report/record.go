package report

// Reading one sample record: the fast way, which nearly all take, and the one
// that takes whatever the format allows.

// plain reads a record as every writer known writes it: ids packed or single,
// then values packed or single, nothing else. It is false, and has done
// nothing, when the record is anything else; then sample has its say. This
// takes half the time, and samples are nine tenths of a file.
func (f *folder) plain(from, to int) bool {
	b := f.t.raw[:to]
	if to-from < 4 {
		return false
	}
	st, i := plainIDs(b, from)
	if i < 0 || i >= to {
		return false
	}
	var v [maxTypes]uint64
	if !f.plainValues(b, i, &v) {
		return false
	}
	var value, count int64
	if f.m.value >= 0 {
		value = int64(v[f.m.value]) //nolint:gosec // two's complement, as the format has it
	}
	if f.m.count >= 0 {
		count = int64(v[f.m.count]) //nolint:gosec // two's complement, as the format has it
	}
	f.add(st, value, count)
	return true
}

// plainIDs reads the ids at b[i:], at least two bytes, and returns the place
// after them, -1 when there is anything else.
func plainIDs(b []byte, i int) (st stack, next int) {
	switch b[i] {
	case 0x0a:
		n := int(b[i+1])
		if n == 0 || n >= 0x80 {
			return st, -1
		}
		st.from, st.to = uint32(i+2), uint32(i+2+n) //nolint:gosec // at most MaxRaw
		return st, i + 2 + n
	case 0x08:
		st.from, st.tagged = uint32(i), true //nolint:gosec // at most MaxRaw
		for i < len(b) && b[i] == 0x08 {
			if _, i = uvarint(b, i+1); i < 0 {
				return st, -1
			}
		}
		st.to = uint32(i) //nolint:gosec // at most MaxRaw
		return st, i
	default:
		return st, -1
	}
}

// plainValues reads as many values as there are types, up to the end of b.
func (f *folder) plainValues(b []byte, i int, v *[maxTypes]uint64) bool {
	packed := b[i] == 0x12
	if packed {
		if i+1 >= len(b) || i+2+int(b[i+1]) != len(b) { // a longer list has its length in two bytes
			return false
		}
		i += 2
	}
	for n := range f.m.types {
		if !packed {
			if i >= len(b) || b[i] != 0x10 {
				return false
			}
			i++
		}
		if v[n], i = uvarint(b, i); i < 0 {
			return false
		}
	}
	return i == len(b)
}

// record is a sample while it is read.
type record struct {
	st           stack
	pieces       int // in which the ids come
	values       int
	value, count int64
}

// sample reads one record, whatever its form. b is the raw profile up to the
// record's end, so that positions can be kept.
func (f *folder) sample(from, to int) error {
	b := f.t.raw[:to]
	var r record
	for i := from; i < to; {
		fd := readField(b, i)
		if fd.next < 0 {
			return malformed("a sample breaks off")
		}
		var err error
		switch fd.num {
		case 1:
			err = r.ids(b, fd, i)
		case 2:
			err = f.values(b, fd, &r)
		case 3:
			if fd.typ != wireBytes {
				return malformed("a label is broken")
			}
			err = f.label(b[fd.from:fd.to])
		}
		if err != nil {
			return err
		}
		i = fd.next
	}
	if r.values != f.m.types {
		return malformed("a sample has %d values where %d are declared", r.values, f.m.types)
	}
	if r.pieces == 0 {
		f.out.noStack++
		return nil
	}
	if r.pieces > 1 {
		if err := f.collect(b, from, to, &r.st); err != nil {
			return err
		}
	}
	f.add(r.st, r.value, r.count)
	return nil
}

// ids notes where the ids stand, and in how many pieces: a run of single ids
// with tags of one byte is one.
func (r *record) ids(b []byte, fd field, at int) error {
	st := &r.st
	switch {
	case fd.typ == wireBytes && fd.to == fd.from:
	case fd.typ == wireBytes:
		r.pieces++
		st.from, st.to, st.tagged = uint32(fd.from), uint32(fd.to), false //nolint:gosec // at most MaxRaw
	case fd.typ != wireVarint:
		return malformed("a sample's stack is broken")
	case r.pieces > 0 && st.tagged && int(st.to) == at && b[at] < 0x80:
		st.to = uint32(fd.next) //nolint:gosec // at most MaxRaw
	default:
		r.pieces++
		st.from, st.to, st.tagged = uint32(at), uint32(fd.next), true //nolint:gosec // at most MaxRaw
		if b[at] >= 0x80 {
			r.pieces++
		}
	}
	return nil
}

func (f *folder) values(b []byte, fd field, r *record) error {
	switch fd.typ {
	case wireVarint:
		f.pick(fd.u, r)
	case wireBytes:
		for j := fd.from; j < fd.to; {
			var u uint64
			if u, j = uvarint(b[:fd.to], j); j < 0 {
				return malformed("a sample's values break off")
			}
			f.pick(u, r)
		}
	default:
		return malformed("a sample's values are broken")
	}
	return nil
}

func (f *folder) pick(u uint64, r *record) {
	if r.values == f.m.value {
		r.value = int64(u) //nolint:gosec // two's complement, as the format has it
	}
	if r.values == f.m.count {
		r.count = int64(u) //nolint:gosec // two's complement, as the format has it
	}
	r.values++
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
