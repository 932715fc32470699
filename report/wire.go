package report

// The protobuf wire format, as far as pprof uses it. Positions are ints into
// one slice and -1 is an error, so that nothing is allocated on the way.

const (
	wireVarint = 0
	wireFixed8 = 1
	wireBytes  = 2
	wireFixed4 = 5
)

// uvarint reads the varint at b[i:] and returns the position after it.
// Like google/pprof it takes up to ten bytes and drops bits over 64.
func uvarint(b []byte, i int) (uint64, int) {
	if i < len(b) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	return uvarintLong(b, i)
}

func uvarintLong(b []byte, i int) (uint64, int) {
	var u uint64
	for n := range 10 {
		if i >= len(b) {
			return 0, -1
		}
		c := b[i]
		i++
		u |= uint64(c&0x7f) << (7 * n)
		if c < 0x80 {
			return u, i
		}
	}
	return 0, -1
}

// field is one field of a message: its value u, or its bytes b[from:to].
type field struct {
	num, typ int
	u        uint64
	from, to int
	next     int // -1 when the message is damaged
}

func readField(b []byte, i int) (f field) {
	tag, i := uvarint(b, i)
	if i < 0 {
		f.next = -1
		return f
	}
	f.num, f.typ = int(tag>>3), int(tag&7)
	switch f.typ {
	case wireVarint:
		f.u, f.next = uvarint(b, i)
	case wireBytes:
		n, at := uvarint(b, i)
		if at < 0 || n > uint64(len(b)-at) { //nolint:gosec // not negative
			f.next = -1
			return f
		}
		f.from, f.to = at, at+int(n) //nolint:gosec // at most len(b)
		f.next = f.to
	case wireFixed8:
		f.next = skip(b, i, 8)
	case wireFixed4:
		f.next = skip(b, i, 4)
	default:
		f.next = -1
	}
	return f
}

func skip(b []byte, i, n int) int {
	if len(b)-i < n {
		return -1
	}
	return i + n
}

// varints reads a message whose known fields are all varints: dst[n] is field
// n. It is false when the message is damaged or a known field is no varint.
func varints(b []byte, dst []uint64) bool {
	for i := 0; i < len(b); {
		f := readField(b, i)
		if f.next < 0 {
			return false
		}
		if f.num > 0 && f.num < len(dst) {
			if f.typ != wireVarint {
				return false
			}
			dst[f.num] = f.u
		}
		i = f.next
	}
	return true
}
