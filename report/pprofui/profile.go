package pprofui

import (
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/snapflame/snapflame/report"
)

// Profile rebuilds a pprof profile from a report's tree: one sample per call
// path, no idle time, the report's title in place of a binary's name.
func Profile(r *report.Report) *profile.Profile {
	kind, unit := "cpu", "nanoseconds"
	if r.Type == report.Heap {
		kind, unit = "alloc_space", "bytes"
	}
	m := &profile.Mapping{ID: 1, File: r.Meta.Title, HasFunctions: true, HasFilenames: true, HasLineNumbers: true}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: kind, Unit: unit}}, DefaultSampleType: kind,
		DurationNanos: r.DurationNS, Mapping: []*profile.Mapping{m},
	}
	if !r.Meta.StartedAt.IsZero() {
		p.TimeNanos = r.Meta.StartedAt.UnixNano()
	}
	if r.Tree == nil {
		return p
	}
	for i, f := range r.Tree.Frames {
		fn := &profile.Function{ID: uint64(i + 1), Name: qualified(f), SystemName: f.Name, Filename: f.File, StartLine: f.Line}
		p.Function = append(p.Function, fn)
		p.Location = append(p.Location, &profile.Location{ID: fn.ID, Mapping: m, Line: []profile.Line{{Function: fn, Line: f.Line}}})
	}
	for i, n := range r.Tree.Nodes {
		if i == 0 || n.Self == 0 {
			continue
		}
		var stack []*profile.Location
		for at := int32(i); at > 0; at = r.Tree.Nodes[at].Parent {
			stack = append(stack, p.Location[r.Tree.Nodes[at].Frame])
		}
		p.Sample = append(p.Sample, &profile.Sample{Location: stack, Value: []int64{n.Self}})
	}
	return p
}

// qualified puts the module before the name, in the characters that pprof's
// colouring understands. A function without a name is told from others of its
// file by its line; an empty name would merge them all.
func qualified(f report.Frame) string {
	name := f.Name
	if name == "" || name == "(anonymous)" {
		name = "(anonymous):" + strconv.FormatInt(f.Line, 10)
	}
	module := f.Module
	if module == "" {
		module = f.File
	}
	module = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '/', r == '_':
			return r
		default:
			return '_'
		}
	}, strings.TrimPrefix(module, "file:///"))
	module = strings.Trim(module, "/_")
	if module == "" {
		return name
	}
	return module + "." + name
}
