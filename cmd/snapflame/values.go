package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/snapflame/snapflame/triggers"
)

// eachValue cuts a stream of events into its values without holding more than
// one of them: JSON values one after another (NDJSON or pretty-printed), and
// the elements of arrays at the top. It only counts brackets and quotes; what a
// value is, and whether it is one, triggers.Decode says. A damaged value takes
// the rest of the stream with it, up to the largest message: Decode then reads
// that line by line.
func eachValue(r io.Reader, f func(raw []byte) error) error {
	s := splitter{in: bufio.NewReaderSize(r, 1<<16), give: f}
	for {
		c, err := s.in.ReadByte()
		if errors.Is(err, io.EOF) {
			return s.flush()
		}
		if err != nil {
			return err
		}
		if err := s.next(c); err != nil {
			return err
		}
	}
}

type splitter struct {
	in   *bufio.Reader
	give func([]byte) error

	value   bytes.Buffer
	inArray bool // an array at the top is open
	depth   int  // brackets open within the value
	quoted  bool
	escaped bool
}

func (s *splitter) next(c byte) error {
	if s.value.Len() > triggers.MaxMessage {
		return fmt.Errorf("a value is longer than %d MiB; split it", triggers.MaxMessage>>20)
	}
	if s.quoted {
		s.value.WriteByte(c)
		switch {
		case s.escaped:
			s.escaped = false
		case c == '\\':
			s.escaped = true
		case c == '"':
			s.quoted = false
		}
		return nil
	}
	if s.depth == 0 {
		return s.between(c)
	}
	return s.within(c)
}

// between handles what stands outside of objects: the brackets and commas of an
// array at the top, line ends, and bare words, which end at any of them.
func (s *splitter) between(c byte) error {
	switch {
	case c == '[' && !s.inArray && s.value.Len() == 0:
		s.inArray = true
		return nil
	case (c == ']' || c == ',') && s.inArray:
		s.inArray = c == ','
		return s.flush()
	case c == ' ' || c == '\t' || c == '\r':
		if s.value.Len() > 0 {
			s.value.WriteByte(c)
		}
		return nil
	case c == '\n':
		return s.flush()
	}
	return s.within(c)
}

func (s *splitter) within(c byte) error {
	s.value.WriteByte(c)
	switch c {
	case '"':
		s.quoted = true
	case '{', '[':
		s.depth++
	case '}', ']':
		if s.depth--; s.depth <= 0 {
			s.depth = 0
			return s.flush()
		}
	}
	return nil
}

// flush hands over what has been collected, unless it is blank.
func (s *splitter) flush() error {
	raw := bytes.Clone(bytes.TrimSpace(s.value.Bytes()))
	s.value.Reset()
	s.depth, s.quoted, s.escaped = 0, false, false
	if len(raw) == 0 {
		return nil
	}
	return s.give(raw)
}
