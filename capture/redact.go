package capture

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/google/pprof/profile"
)

// Redact rewrites a profile so that it holds function names, files and lines,
// and the figures: no labels, comments, mappings, addresses, build ids or
// filters, and of a file's address no query. The result is gzip.
func Redact(data []byte) ([]byte, error) {
	if f := Sniff(data); f != nil {
		return nil, fmt.Errorf("redact the profile: %w", f)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("redact the profile: %w", err)
	}
	out := &profile.Profile{
		SampleType: types(p.SampleType...), Period: p.Period,
		TimeNanos: p.TimeNanos, DurationNanos: p.DurationNanos,
	}
	if p.PeriodType != nil {
		out.PeriodType = types(p.PeriodType)[0]
	}
	functions := make(map[*profile.Function]*profile.Function, len(p.Function))
	for _, f := range p.Function {
		file, _, _ := strings.Cut(f.Filename, "?")
		file, _, _ = strings.Cut(file, "#")
		n := &profile.Function{ID: uint64(len(out.Function) + 1), Name: f.Name, SystemName: f.Name, Filename: file, StartLine: f.StartLine}
		functions[f] = n
		out.Function = append(out.Function, n)
	}
	locations := make(map[*profile.Location]*profile.Location, len(p.Location))
	for _, l := range p.Location {
		n := &profile.Location{ID: uint64(len(out.Location) + 1), IsFolded: l.IsFolded}
		for _, line := range l.Line {
			if f := functions[line.Function]; f != nil {
				n.Line = append(n.Line, profile.Line{Function: f, Line: line.Line, Column: line.Column})
			}
		}
		locations[l] = n
		out.Location = append(out.Location, n)
	}
	for _, s := range p.Sample {
		n := &profile.Sample{Value: s.Value}
		for _, l := range s.Location {
			n.Location = append(n.Location, locations[l])
		}
		out.Sample = append(out.Sample, n)
	}
	var b bytes.Buffer
	if err := out.Write(&b); err != nil {
		return nil, fmt.Errorf("redact the profile: %w", err)
	}
	return b.Bytes(), nil
}

func types(in ...*profile.ValueType) []*profile.ValueType {
	out := make([]*profile.ValueType, len(in))
	for i, t := range in {
		out[i] = &profile.ValueType{Type: t.Type, Unit: t.Unit}
	}
	return out
}
