package inspector

import (
	"bytes"
	"fmt"
	"time"

	"github.com/google/pprof/profile"

	"github.com/snapflame/snapflame/capture"
)

// frame is Runtime.CallFrame: positions count from 0, -1 is no script.
type frame struct {
	Name   string `json:"functionName"`
	URL    string `json:"url"`
	Line   int64  `json:"lineNumber"`
	Column int64  `json:"columnNumber"`
}

// cpuProfile is Profiler.Profile; times are microseconds.
type cpuProfile struct {
	Nodes []struct {
		ID       int64   `json:"id"`
		Frame    frame   `json:"callFrame"`
		Children []int64 `json:"children"`
	} `json:"nodes"`
	Start   float64 `json:"startTime"`
	End     float64 `json:"endTime"`
	Samples []int64 `json:"samples"`
	Deltas  []int64 `json:"timeDeltas"`
}

// heapProfile is HeapProfiler.SamplingHeapProfile. A sample's size is what it
// stands for, not the size of one object.
type heapProfile struct {
	Head    heapNode `json:"head"`
	Samples []struct {
		Size float64 `json:"size"`
		Node int64   `json:"nodeId"`
	} `json:"samples"`
}

type heapNode struct {
	ID       int64      `json:"id"`
	Frame    frame      `json:"callFrame"`
	Children []heapNode `json:"children"`
}

// root is V8's outermost frame, which says nothing and is left out.
const root = "(root)"

func (p *cpuProfile) pprof(at time.Time) ([]byte, error) {
	if len(p.Samples) != len(p.Deltas) {
		return nil, local(capture.FailNotProfile, "V8 gave %d samples and %d times.", len(p.Samples), len(p.Deltas))
	}
	w := newWriter(at, time.Duration(p.End-p.Start)*time.Microsecond)
	w.out.SampleType = []*profile.ValueType{{Type: "sample", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}
	w.out.PeriodType, w.out.Period = &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, samplingMicros*1000
	index := make(map[int64]int, len(p.Nodes))
	for i, n := range p.Nodes {
		index[n.ID] = i
	}
	parent := make(map[int64]int64, len(p.Nodes))
	for _, n := range p.Nodes {
		for _, child := range n.Children {
			parent[child] = n.ID
		}
	}
	stacks := make(map[int64][]*profile.Location, len(p.Nodes))
	for i, id := range p.Samples {
		stack, known := stacks[id]
		if !known {
			for at, steps := id, 0; ; steps++ {
				n, ok := index[at]
				if !ok || steps > len(p.Nodes) {
					return nil, local(capture.FailNotProfile, "V8 gave a sample of node %d, which has no path to the root.", id)
				}
				stack = w.push(stack, p.Nodes[n].Frame)
				if at, ok = parent[at]; !ok {
					break
				}
			}
			stacks[id] = stack
		}
		// V8 may take samples out of order; time does not run backwards.
		w.sample(stack, 1, max(p.Deltas[i], 0)*1000)
	}
	return w.bytes()
}

func (p *heapProfile) pprof(at time.Time, d time.Duration) ([]byte, error) {
	w := newWriter(at, d)
	w.out.SampleType = []*profile.ValueType{{Type: "objects", Unit: "count"}, {Type: "space", Unit: "bytes"}}
	w.out.PeriodType, w.out.Period = &profile.ValueType{Type: "space", Unit: "bytes"}, samplingBytes
	type open struct {
		node *heapNode
		up   []*profile.Location
	}
	stacks := map[int64][]*profile.Location{}
	for todo := []open{{&p.Head, nil}}; len(todo) > 0; {
		o := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		stack := append(w.push(nil, o.node.Frame), o.up...)
		stacks[o.node.ID] = stack
		for i := range o.node.Children {
			todo = append(todo, open{&o.node.Children[i], stack})
		}
	}
	for _, s := range p.Samples {
		stack, ok := stacks[s.Node]
		if !ok {
			return nil, local(capture.FailNotProfile, "V8 gave a sample of node %d, which is not in the tree.", s.Node)
		}
		w.sample(stack, 1, max(int64(s.Size), 0))
	}
	return w.bytes()
}

// writer collects a pprof file, with one location per distinct frame.
type writer struct {
	out       *profile.Profile
	locations map[frame]*profile.Location
	functions map[profile.Function]*profile.Function
}

func newWriter(at time.Time, d time.Duration) *writer {
	return &writer{
		out:       &profile.Profile{TimeNanos: at.UnixNano(), DurationNanos: d.Nanoseconds()},
		locations: map[frame]*profile.Location{}, functions: map[profile.Function]*profile.Function{},
	}
}

// push adds a frame behind the stack, unless it is the root.
func (w *writer) push(stack []*profile.Location, f frame) []*profile.Location {
	if f.Name == root {
		return stack
	}
	return append(stack, w.location(f))
}

func (w *writer) location(f frame) *profile.Location {
	if l, ok := w.locations[f]; ok {
		return l
	}
	name := f.Name
	if name == "" {
		name = "(anonymous)"
	}
	line := max(f.Line+1, 0)
	key := profile.Function{Name: name, SystemName: name, Filename: f.URL, StartLine: line}
	fn, ok := w.functions[key]
	if !ok {
		made := key
		made.ID = uint64(len(w.functions) + 1)
		fn = &made
		w.functions[key] = fn
		w.out.Function = append(w.out.Function, fn)
	}
	l := &profile.Location{ID: uint64(len(w.locations) + 1), Line: []profile.Line{{Function: fn, Line: line}}}
	w.locations[f] = l
	w.out.Location = append(w.out.Location, l)
	return l
}

func (w *writer) sample(stack []*profile.Location, count, value int64) {
	w.out.Sample = append(w.out.Sample, &profile.Sample{Location: stack, Value: []int64{count, value}})
}

func (w *writer) bytes() ([]byte, error) {
	if err := w.out.CheckValid(); err != nil {
		return nil, fmt.Errorf("write the profile as pprof: %w", err)
	}
	var b bytes.Buffer
	if err := w.out.Write(&b); err != nil {
		return nil, fmt.Errorf("write the profile as pprof: %w", err)
	}
	return b.Bytes(), nil
}
