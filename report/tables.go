package report

// reading is the state of one pass over everything but the samples.
type reading struct {
	t         *tables
	functions idIndex
	mappings  idIndex
	maxRef    uint64 // the largest string index used
	timed     bool   // a time was set before: two profiles in one file

	// Where a field comes twice the last one counts, also for what is checked.
	scalars [fldDocURL + 1]uint64
	period  [2]uint64 // name and unit of its type
}

func (t *tables) read() error {
	r := &reading{t: t, functions: newIDIndex(t.n.functions), mappings: newIDIndex(t.n.mappings)}
	t.locIndex = newIDIndex(t.n.locations)
	for i := 0; i < len(t.raw); {
		if next := shortSample(t.raw, i); next > 0 {
			i = next
			continue
		}
		f := readField(t.raw, i)
		i = f.next
		if f.num > 0 && f.num <= fldString {
			if f.typ != wireBytes {
				return malformed("field %d is not what it should be", f.num)
			}
			if f.num == fldSample {
				continue
			}
			if err := r.message(f.num, t.raw[f.from:f.to], f.from); err != nil {
				return err
			}
			continue
		}
		if err := r.scalar(f); err != nil {
			return err
		}
	}
	r.finish()
	if r.maxRef >= uint64(len(t.strings)) {
		return malformed("it refers to text that it does not hold")
	}
	for i := range t.lines {
		fn := r.functions.get(t.lines[i].fn)
		if fn < 0 {
			return malformed("a location has a line without a function")
		}
		t.lines[i].fn = uint64(fn)
	}
	return nil
}

func (r *reading) ref(i uint64) int64 {
	r.maxRef = max(r.maxRef, i)
	return int64(i) //nolint:gosec // checked against the table at the end of read
}

func (r *reading) message(num int, b []byte, at int) error {
	t := r.t
	switch num {
	case fldString:
		if len(t.strings) == 0 && len(b) != 0 {
			return malformed("its first text is not empty")
		}
		t.strings = append(t.strings, span{uint32(at), uint32(at + len(b))}) //nolint:gosec // at most MaxRaw
		return nil
	case fldSampleType:
		v, err := r.valueType(b)
		t.types = append(t.types, v)
		return err
	case fldMapping:
		return r.mapping(b)
	case fldFunction:
		return r.function(b)
	default:
		return r.location(b)
	}
}

func (r *reading) valueType(b []byte) (valueType, error) {
	var v [3]uint64
	if !varints(b, v[:]) {
		return valueType{}, malformed("a value type is broken")
	}
	return valueType{name: r.ref(v[1]), unit: r.ref(v[2])}, nil
}

func (r *reading) mapping(b []byte) error {
	var v [11]uint64
	if !varints(b, v[:]) {
		return malformed("a mapping is broken")
	}
	r.ref(v[5])
	r.ref(v[6])
	if !r.mappings.add(v[1], 0) {
		return malformed("mapping id %d is 0 or used twice", v[1])
	}
	return nil
}

func (r *reading) function(b []byte) error {
	var v [6]uint64
	if !varints(b, v[:]) {
		return malformed("a function is broken")
	}
	r.ref(v[3])
	t := r.t
	if !r.functions.add(v[1], int32(len(t.functions))) { //nolint:gosec // at most maxFunctions
		return malformed("function id %d is 0 or used twice", v[1])
	}
	t.functions = append(t.functions, function{name: r.ref(v[2]), file: r.ref(v[4]), line: int64(v[5])}) //nolint:gosec // as the format has it
	return nil
}

func (r *reading) location(b []byte) error {
	t := r.t
	var id uint64
	loc := location{from: uint32(len(t.lines))} //nolint:gosec // at most maxLines
	for i := 0; i < len(b); {
		f := readField(b, i)
		want := wireVarint
		if f.num == 4 {
			want = wireBytes
		}
		if f.next < 0 || f.num >= 1 && f.num <= 5 && f.typ != want {
			return malformed("a location is broken")
		}
		i = f.next
		switch f.num {
		case 1:
			id = f.u
		case 4:
			var v [4]uint64
			if !varints(b[f.from:f.to], v[:]) {
				return malformed("a line is broken")
			}
			t.lines = append(t.lines, line{fn: v[1], line: int64(v[2]), column: int64(v[3])}) //nolint:gosec // as the format has it
		default:
		}
	}
	loc.to = uint32(len(t.lines))                     //nolint:gosec // at most maxLines
	if !t.locIndex.add(id, int32(len(t.locations))) { //nolint:gosec // at most maxLocations
		return malformed("location id %d is 0 or used twice", id)
	}
	t.locations = append(t.locations, loc)
	return nil
}

// scalar reads the fields that stand in the profile itself.
func (r *reading) scalar(f field) error {
	t := r.t
	if f.num < fldDropFrames || f.num > fldDocURL {
		return nil
	}
	switch f.num {
	case fldPeriodType:
		if f.typ != wireBytes {
			return malformed("the period's type is broken")
		}
		var v [3]uint64
		if !varints(t.raw[f.from:f.to], v[:]) {
			return malformed("the period's type is broken")
		}
		r.period = [2]uint64{v[1], v[2]}
		return nil
	case fldComment:
		return r.comments(f)
	default:
	}
	if f.typ != wireVarint {
		return malformed("field %d is not what it should be", f.num)
	}
	if f.num == fldTime {
		if r.timed {
			return inputErrorf(InputMalformed, "the file holds several profiles one after the other; give them one at a time")
		}
		r.timed = f.u != 0
	}
	r.scalars[f.num] = f.u
	return nil
}

func (r *reading) finish() {
	t := r.t
	t.duration, t.period = int64(r.scalars[fldDuration]), int64(r.scalars[fldPeriod]) //nolint:gosec // as the format has it
	t.defaultType = r.ref(r.scalars[fldDefaultType])
	t.periodType = valueType{name: r.ref(r.period[0]), unit: r.ref(r.period[1])}
	for _, n := range []int{fldDropFrames, fldKeepFrames, fldDocURL} {
		r.ref(r.scalars[n]) // text that is not used
	}
}

func (r *reading) comments(f field) error {
	switch f.typ {
	case wireVarint:
		r.ref(f.u)
		return nil
	case wireBytes:
		b := r.t.raw[f.from:f.to]
		for i := 0; i < len(b); {
			var u uint64
			if u, i = uvarint(b, i); i < 0 {
				return malformed("a comment is broken")
			}
			r.ref(u)
		}
		return nil
	default:
		return malformed("a comment is broken")
	}
}

func (t *tables) bytes(i int64) []byte {
	s := t.strings[i]
	return t.raw[s.from:s.to]
}
