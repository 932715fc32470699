package triggers

import (
	"encoding/binary"
	"math/bits"
)

// scan.go checks and frames JSON in one pass, before anything is decoded. A
// decoder is only ever given text that is known to be valid JSON no deeper than
// maxDepth, so that two decoders cannot disagree about a damaged message, and
// nesting cannot exhaust a stack. It builds nothing and allocates nothing; it
// notes where the fields of a TraceItem stand, so that the most common shape is
// not walked twice.

// maxDepth is how deep a message may nest. A TraceItem needs about 12 levels;
// the rest is for structured log lines.
const maxDepth = 64

// scanFault is why a scan stopped.
type scanFault uint8

const (
	scanOK scanFault = iota
	scanSyntax
	scanTruncated // the text ended inside a value
	scanTooDeep
)

// scanner walks data. marks collects what the top-level keys of the last
// scanned object tell about its shape.
type scanner struct {
	data  []byte
	fault scanFault
	at    int // where the fault is
	marks marks
	spots spots
	times times
}

func (s *scanner) fail(f scanFault, at int) int {
	if at >= len(s.data) && f == scanSyntax {
		f = scanTruncated
	}
	s.fault, s.at = f, at
	return -1
}

// dense is space where none is to be expected.
func (s *scanner) dense(i int) int {
	if i < len(s.data) && s.data[i] > ' ' {
		return i
	}
	return s.space(i)
}

func (s *scanner) space(i int) int {
	for i < len(s.data) {
		switch s.data[i] {
		case ' ', '\t', '\r', '\n':
			i++
		default:
			return i
		}
	}
	return i
}

// value scans the value that starts at i and returns the index behind it, or -1.
// in is where it stands.
func (s *scanner) value(i, depth int, in place) int {
	if i >= len(s.data) {
		return s.fail(scanTruncated, i)
	}
	switch c := s.data[i]; {
	case c == '"':
		return s.str(i)
	case c == '{':
		return s.object(i, depth+1, in)
	case c == '[':
		return s.array(i, depth+1, in)
	case c == 't':
		return s.literal(i, "true")
	case c == 'f':
		return s.literal(i, "false")
	case c == 'n':
		return s.literal(i, "null")
	case c == '-' || isDigit(c):
		return s.number(i)
	default:
		return s.fail(scanSyntax, i)
	}
}

func (s *scanner) object(i, depth int, in place) int {
	if depth > maxDepth {
		return s.fail(scanTooDeep, i)
	}
	i = s.space(i + 1)
	if i < len(s.data) && s.data[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(s.data) || s.data[i] != '"' {
			return s.fail(scanSyntax, i)
		}
		key := i
		if i = s.str(i); i < 0 {
			return -1
		}
		at, next := nowhere, elsewhere
		if in != elsewhere {
			at, next = s.meet(in, s.data[key+1:i-1])
		}
		if i = s.dense(i); i >= len(s.data) || s.data[i] != ':' {
			return s.fail(scanSyntax, i)
		}
		from := s.dense(i + 1)
		if i = s.value(from, depth, next); i < 0 {
			return -1
		}
		if at == atTextTime {
			s.times.add(from, i)
		} else {
			s.spots[at] = spot{int32(from), int32(i)} //nolint:gosec // a message is at most MaxMessage long
		}
		if i = s.dense(i); i >= len(s.data) {
			return s.fail(scanTruncated, i)
		}
		switch s.data[i] {
		case '}':
			return i + 1
		case ',':
			i = s.dense(i + 1)
		default:
			return s.fail(scanSyntax, i)
		}
	}
}

func (s *scanner) array(i, depth int, in place) int {
	if depth > maxDepth {
		return s.fail(scanTooDeep, i)
	}
	of := elsewhere
	if in == inTexts {
		of = inText
	}
	i = s.space(i + 1)
	if i < len(s.data) && s.data[i] == ']' {
		return i + 1
	}
	for {
		if i = s.value(i, depth, of); i < 0 {
			return -1
		}
		if i = s.dense(i); i >= len(s.data) {
			return s.fail(scanTruncated, i)
		}
		switch s.data[i] {
		case ']':
			return i + 1
		case ',':
			i = s.dense(i + 1)
		default:
			return s.fail(scanSyntax, i)
		}
	}
}

// special marks, in eight bytes, the lowest that is a quote, a backslash or a
// control character. Bits above it mean nothing.
func special(w uint64) uint64 {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	return ((quote - ones) | (slash - ones) | (w - ones*0x20)) &^ w & high
}

// plainRun skips the bytes from i on that stand for themselves.
func plainRun(d []byte, i int) int {
	for i+32 <= len(d) {
		// Four at once, as long as nothing is found.
		b := d[i : i+32]
		m := special(binary.LittleEndian.Uint64(b))
		if m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
		m, n, o := special(binary.LittleEndian.Uint64(b[8:])), special(binary.LittleEndian.Uint64(b[16:])), special(binary.LittleEndian.Uint64(b[24:]))
		switch {
		case m != 0:
			return i + 8 + bits.TrailingZeros64(m)/8
		case n != 0:
			return i + 16 + bits.TrailingZeros64(n)/8
		case o != 0:
			return i + 24 + bits.TrailingZeros64(o)/8
		}
		i += 32
	}
	for i+8 <= len(d) {
		if m := special(binary.LittleEndian.Uint64(d[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
		i += 8
	}
	for i < len(d) && d[i] >= 0x20 && d[i] != '"' && d[i] != '\\' {
		i++
	}
	return i
}

func (s *scanner) str(i int) int {
	d := s.data
	for i++; ; i++ {
		if i = plainRun(d, i); i >= len(d) {
			return s.fail(scanTruncated, i)
		}
		switch d[i] {
		case '"':
			return i + 1
		case '\\':
			if i = s.escape(i + 1); i < 0 {
				return -1
			}
		default: // a bare control character, NUL among them
			return s.fail(scanSyntax, i)
		}
	}
}

// escape scans what follows a backslash and returns its last byte, or -1.
func (s *scanner) escape(i int) int {
	if i >= len(s.data) {
		return s.fail(scanTruncated, i)
	}
	switch s.data[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i
	case 'u':
		for range 4 {
			if i++; i >= len(s.data) || !isHex(s.data[i]) {
				return s.fail(scanSyntax, i)
			}
		}
		return i
	default:
		return s.fail(scanSyntax, i)
	}
}

func (s *scanner) literal(i int, word string) int {
	end := i + len(word)
	if end > len(s.data) {
		return s.fail(scanTruncated, len(s.data))
	}
	if string(s.data[i:end]) != word {
		return s.fail(scanSyntax, i)
	}
	return end
}

func (s *scanner) number(i int) int {
	d := s.data
	if d[i] == '-' {
		i++
	}
	switch {
	case i >= len(d) || !isDigit(d[i]):
		return s.fail(scanSyntax, i)
	case d[i] == '0':
		i++
	default:
		i = digits(d, i)
	}
	if i < len(d) && d[i] == '.' {
		if i++; i >= len(d) || !isDigit(d[i]) {
			return s.fail(scanSyntax, i)
		}
		i = digits(d, i)
	}
	if i < len(d) && (d[i] == 'e' || d[i] == 'E') {
		if i++; i < len(d) && (d[i] == '+' || d[i] == '-') {
			i++
		}
		if i >= len(d) || !isDigit(d[i]) {
			return s.fail(scanSyntax, i)
		}
		i = digits(d, i)
	}
	return i
}

func digits(d []byte, i int) int {
	for i < len(d) && isDigit(d[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
