package fakecf

import (
	"bytes"
	"compress/gzip"
	"io"

	"github.com/google/pprof/profile"
)

func (s *Server) bytes(c Capture) []byte {
	if s.Bytes != nil {
		if b := s.Bytes(c); b != nil {
			return b
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, target := range []string{c.Actor, c.Script, ""} {
		if b, ok := s.profiles[target+" "+c.Type]; ok {
			return b
		}
	}
	return builtin(c)
}

func (s *Server) encode(data []byte) []byte {
	packed := len(data) > 1 && data[0] == 0x1f && data[1] == 0x8b
	switch {
	case s.Encoding == "raw" && packed:
		zr, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return data
		}
		out, err := io.ReadAll(io.LimitReader(zr, 256<<20))
		if err != nil {
			return data
		}
		return out
	case s.Encoding == "gzip" && !packed:
		var buf bytes.Buffer
		zw := gzip.NewWriter(&buf)
		_, _ = zw.Write(data)
		_ = zw.Close()
		return buf.Bytes()
	}
	return data
}

// builtin is a small honest profile: one function, busy for half of the time.
func builtin(c Capture) []byte {
	unit := []*profile.ValueType{{Type: "sample", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}
	value := []int64{1, 1_090_000}
	n := int(c.Duration.Milliseconds() / 2)
	if c.Type == "heap" {
		unit = []*profile.ValueType{{Type: "objects", Unit: "count"}, {Type: "space", Unit: "bytes"}}
		value, n = []int64{1, 512 << 10}, 200
	}
	fn := &profile.Function{ID: 1, Name: "handle", SystemName: "handle", Filename: "file:///bundle/worker.js", StartLine: 12}
	loc := &profile.Location{ID: 1, Line: []profile.Line{{Function: fn, Line: 12}}}
	p := &profile.Profile{
		SampleType: unit, PeriodType: unit[1], Period: 1_000_000, DurationNanos: c.Duration.Nanoseconds(),
		Function: []*profile.Function{fn}, Location: []*profile.Location{loc},
	}
	for range n {
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{loc}, Value: value})
	}
	var buf bytes.Buffer
	_ = p.Write(&buf) // to memory, of a profile that is valid by construction
	return buf.Bytes()
}
