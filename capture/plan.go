package capture

import (
	"fmt"
	"time"
)

// Plan is what one incident wants captured. It is a value and its methods are
// pure: asked twice with the same outcomes they say the same.
type Plan struct {
	Trouble   Trouble
	Stateless bool // a Worker: a capture is one random isolate of many
	// Severe is an overload so heavy that the profiler itself could tip the
	// object over: one short capture and nothing after it.
	Severe   bool
	Type     Type          // of a rule; empty takes the class's own
	Duration time.Duration // 0 is 10 s, and 3 s of a severe overload
	// Repeat is how many captures of the type are wanted; 0 is what the class
	// wants: one, and up to three of a stateless Worker.
	Repeat int
}

const (
	defaultDuration = 10 * time.Second // the dashboard's
	severeDuration  = 3 * time.Second
	statelessRepeat = 3
	maxSteps        = 5    // captures of one incident, whatever a rule says
	gcOnly          = 0.90 // of busy time: CPU cannot say who allocates
)

// StepReason is why a capture follows another.
type StepReason string

// The reasons.
const (
	StepFirst     StepReason = "first"
	StepGC        StepReason = "gc"         // nothing but garbage collector: who allocates?
	StepWeak      StepReason = "weak"       // too few samples
	StepEmptyHeap StepReason = "empty_heap" // no allocation was sampled
	StepCPU       StepReason = "cpu_after_empty_heap"
	StepSpread    StepReason = "spread" // another random isolate
	StepRepeat    StepReason = "repeat" // a rule asks for it
)

// Step is one capture to take.
type Step struct {
	Type     Type
	Duration time.Duration
	Reason   StepReason
	Note     string // for the thread
	// Merge: its profile is of the same kind and is merged with those before it.
	Merge bool
}

// Outcome is what one capture of the plan came to, in the order they ended.
type Outcome struct {
	Type    Type
	Verdict string  // of the report: empty, weak, conclusive
	GCShare float64 // of busy CPU
	Failed  bool
}

// First is the capture that an incident begins with.
func (p Plan) First() Step {
	s := Step{Type: p.primary(), Duration: p.Duration, Reason: StepFirst}
	switch {
	case s.Duration > 0:
	case p.Severe:
		s.Duration = severeDuration
	default:
		s.Duration = defaultDuration
	}
	if p.Severe {
		s.Note = "severe overload: one capture, none after it"
		if s.Duration <= severeDuration {
			s.Note = "severe overload: one short capture, none after it"
		}
	}
	return s
}

func (p Plan) primary() Type {
	switch {
	case p.Type != "":
		return p.Type
	case p.Trouble == ExceededMemory:
		return Heap
	default:
		return CPU
	}
}

// Next is the capture that follows done, the last of which has just ended. It
// comes after the spacing; false means that the plan is complete. A capture
// that failed ends it: its own retries are over.
func (p Plan) Next(done []Outcome) (Step, bool) {
	if len(done) == 0 || len(done) >= maxSteps || p.Severe || p.Trouble == NoTrouble && p.Repeat <= 1 {
		return Step{}, false
	}
	last := done[len(done)-1]
	if last.Failed {
		return Step{}, false
	}
	step := func(t Type, why StepReason, note string) (Step, bool) {
		return Step{Type: t, Duration: p.First().Duration, Reason: why, Note: note, Merge: count(done, t) > 0}, true
	}
	cpus, heaps := count(done, CPU), count(done, Heap)
	switch {
	case last.Type == CPU && last.GCShare >= gcOnly && last.Verdict != "empty" && heaps == 0:
		return step(Heap, StepGC, fmt.Sprintf("%.0f %% garbage collector: CPU cannot say who allocates, a heap capture can", last.GCShare*100))
	case last.Type == Heap && p.primary() == Heap && allEmpty(done, Heap):
		if heaps < 2 {
			return step(Heap, StepEmptyHeap, "no allocation was sampled: trying once more")
		}
		if cpus == 0 {
			return step(CPU, StepCPU, "two heap captures were empty: taking CPU in their place")
		}
		return Step{}, false
	case last.Type != p.primary(): // a side branch ends the plan
		return Step{}, false
	case count(done, p.primary()) < p.repeat():
		if p.Repeat > 0 {
			return step(p.primary(), StepRepeat, fmt.Sprintf("capture %d of %d, as the rule says", count(done, p.primary())+1, p.repeat()))
		}
		return step(p.primary(), StepSpread, fmt.Sprintf("another isolate, %d of up to %d: one alone is an anecdote", count(done, p.primary())+1, p.repeat()))
	case p.Trouble == Overloaded && last.Verdict != "conclusive" && cpus == 1 && p.primary() == CPU:
		return step(CPU, StepWeak, "the first capture was too weak to tell shares apart")
	}
	return Step{}, false
}

func (p Plan) repeat() int {
	switch {
	case p.Repeat > 0:
		return min(p.Repeat, maxSteps)
	case p.Stateless && p.Trouble != NoTrouble:
		return statelessRepeat
	default:
		return 1
	}
}

func count(done []Outcome, t Type) int {
	n := 0
	for _, o := range done {
		if o.Type == t && !o.Failed {
			n++
		}
	}
	return n
}

func allEmpty(done []Outcome, t Type) bool {
	for _, o := range done {
		if o.Type == t && o.Verdict != "empty" {
			return false
		}
	}
	return true
}
