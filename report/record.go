package report

// Reading one sample record: the fast way, which nearly all take, and the one
// that takes whatever the format allows.

// plain reads a record as every writer known writes it: ids packed or single,
// then values packed or single, nothing else. It is false, and has done
// nothing, when the record is anything else; then sample has its say. This
// takes half the time, and samples are nine tenths of a file.
func (f *folder) plain(from, to int) bool {
	b := f.t.raw[:to]
	i := from
	if to-from < 4 {
		return false
	}
	var st stack
	switch b[i] {
	case 0x0a:
		n := int(b[i+1])
		if n == 0 || n >= 0x80 || i+2+n >= to {
			return false
		}
		st.from, st.to = uint32(i+2), uint32(i+2+n) //nolint:gosec // at most MaxRaw
		i += 2 + n
	case 0x08:
		st.from, st.tagged = uint32(i), true //nolint:gosec // at most MaxRaw
		for i < to && b[i] == 0x08 {
			if _, i = uvarint(b, i+1); i < 0 {
				return false
			}
		}
		st.to = uint32(i) //nolint:gosec // at most MaxRaw
	default:
		return false
	}
	var v [maxTypes]uint64 // 0 to types-1 are set before they are read
	n := 0
	switch {
	case i < to && b[i] == 0x12:
		if i+1 >= to || i+2+int(b[i+1]) != to { // a longer list has its length in two bytes
			return false
		}
		for i += 2; i < to && n < f.m.types; n++ {
			if v[n], i = uvarint(b, i); i < 0 {
				return false
			}
		}
	default:
		for i < to && b[i] == 0x10 && n < f.m.types {
			if v[n], i = uvarint(b, i+1); i < 0 {
				return false
			}
			n++
		}
	}
	if i != to || n != f.m.types {
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
	f.add(st, value, count)
	return nil
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
