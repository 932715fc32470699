package triggers

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
)

// parts calls f with every part of a message and returns how many there were.
// s may have been used before.
// A message is a JSON object, an array of them, or several such values one
// after another (NDJSON, or pretty-printed). When a value is damaged the rest
// is read line by line, so that one bad line of NDJSON costs one part.
func parts(s *scanner, data []byte, f func(part)) int {
	if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		var fault *DecodeError
		if data, fault = unpacked(data); fault != nil {
			f(part{fault: fault})
			return 1
		}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(data) > MaxMessage {
		f(part{fault: &DecodeError{
			Reason: DecodeTooLong, Data: data[:MaxMessage],
			Detail: fmt.Sprintf("is %d bytes long, more than %d; split it", len(data), MaxMessage),
		}})
		return 1
	}
	p := parter{f: f}
	s.data = data
	for i := s.space(0); i < len(data); i = s.space(i) {
		end := p.top(s, i, data)
		if end < 0 {
			p.lines(data[i:], s.fault, s.at-i)
			break
		}
		i = end
	}
	return p.n
}

// unpacked is what a gzip message holds. One byte more than a message may have
// is enough to refuse it.
func unpacked(packed []byte) ([]byte, *DecodeError) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(z, MaxMessage+1))
	}
	if err != nil {
		return nil, &DecodeError{Reason: DecodeBadGzip, Data: packed, Detail: "begins like gzip and cannot be unpacked: " + err.Error()}
	}
	if len(data) > MaxMessage {
		return nil, &DecodeError{Reason: DecodeTooLong, Data: packed, Detail: fmt.Sprintf("unpacks to more than %d bytes; split it", MaxMessage)}
	}
	return data, nil
}

type parter struct {
	f func(part)
	n int // parts so far
}

func (p *parter) give(one part) {
	one.index = p.n
	p.n++
	if one.fault != nil {
		one.fault.Index = one.index
	}
	p.f(one)
}

// top scans one top-level value and gives its parts. It returns -1, having
// given nothing, when the value is damaged.
func (p *parter) top(s *scanner, i int, data []byte) int {
	if data[i] != '[' {
		end := s.record(i)
		if end >= 0 {
			p.give(p.classed(s, i, end))
		}
		return end
	}
	// The array is scanned as a whole first: its elements are events only if
	// it is one.
	end := s.value(i, 0, elsewhere)
	if end < 0 {
		return -1
	}
	for j := s.space(i + 1); data[j] != ']'; {
		to := s.record(j)
		p.give(p.classed(s, j, to))
		if j = s.space(to); data[j] == ',' {
			j = s.space(j + 1)
		}
	}
	return end
}

// classed tells the shape of the valid JSON value that was just scanned.
func (*parter) classed(s *scanner, from, to int) part {
	data := s.data[from:to]
	p := part{data: data, marks: s.marks, spots: &s.spots, times: &s.times, base: int32(from)} //nolint:gosec // a message is at most MaxMessage long
	if data[0] == '{' {
		p.shape = s.marks.shape()
	}
	if p.shape == "" {
		p.fault = &DecodeError{Reason: DecodeShape, Data: data, Detail: "is " + kindOf(data) + "; expected a TraceItem, a Workers Logs event, a workers_trace_events record, OTLP/JSON or a notification"}
	}
	return p
}

func kindOf(data []byte) string {
	switch c := data[0]; {
	case c == '{' && len(bytes.TrimSpace(data[1:len(data)-1])) == 0:
		return "an empty object"
	case c == '{':
		return "an object of no known shape"
	case c == '[':
		return "an array inside an array"
	case c == '"':
		return "a string"
	case c == 'n':
		return "null"
	case c == 't' || c == 'f':
		return "a boolean"
	default:
		return "a number"
	}
}

// lines reads a damaged rest line by line. A rest of which no line is whole is
// one fault, the one that was found first: it is a damaged document, not NDJSON.
func (p *parter) lines(rest []byte, first scanFault, at int) {
	if first == scanTooDeep || !anyWhole(rest) {
		p.give(part{fault: syntaxError(0, rest, first, at)})
		return
	}
	for len(rest) > 0 {
		line := rest
		if n := bytes.IndexByte(rest, '\n'); n >= 0 {
			line, rest = rest[:n], rest[n+1:]
		} else {
			rest = nil
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		p.line(line)
	}
}

func (p *parter) line(line []byte) {
	s := scanner{data: line}
	for i := 0; i < len(line); i = s.space(i) {
		end := p.top(&s, i, line)
		if end < 0 {
			p.give(part{fault: syntaxError(0, line[i:], s.fault, s.at-i)})
			return
		}
		i = end
	}
}

// anyWhole says whether some line of rest is a JSON object or array by itself.
func anyWhole(rest []byte) bool {
	for len(rest) > 0 {
		line := rest
		if n := bytes.IndexByte(rest, '\n'); n >= 0 {
			line, rest = rest[:n], rest[n+1:]
		} else {
			rest = nil
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] != '{' && line[0] != '[' {
			continue
		}
		s := scanner{data: line}
		if end := s.value(0, 0, elsewhere); end == len(line) && len(line) > 2 {
			return true
		}
	}
	return false
}
