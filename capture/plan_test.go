package capture_test

import (
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/capture"
)

func TestPlan(t *testing.T) {
	type o = capture.Outcome
	good, weak, gc := o{Type: capture.CPU, Verdict: "conclusive"}, o{Type: capture.CPU, Verdict: "weak"}, o{Type: capture.CPU, Verdict: "conclusive", GCShare: 0.966}
	some, empty, failed := o{Type: capture.Heap, Verdict: "conclusive"}, o{Type: capture.Heap, Verdict: "empty"}, o{Type: capture.Heap, Failed: true}
	over := capture.Plan{Trouble: capture.Overloaded}
	mem := capture.Plan{Trouble: capture.ExceededMemory}
	wmem := capture.Plan{Trouble: capture.ExceededMemory, Stateless: true}
	wcpu := capture.Plan{Trouble: capture.ExceededCPU, Stateless: true}
	cpu := capture.Plan{Trouble: capture.ExceededCPU}
	severe := capture.Plan{Trouble: capture.Overloaded, Severe: true}
	for name, c := range map[string]struct {
		p    capture.Plan
		done []o
		want string // type reason, or nothing
	}{
		"overloaded, conclusive":         {over, []o{good}, ""},
		"overloaded, weak":               {over, []o{weak}, "cpu weak"},
		"overloaded, weak twice":         {over, []o{weak, weak}, ""},
		"overloaded, empty":              {over, []o{{Type: capture.CPU, Verdict: "empty"}}, "cpu weak"},
		"overloaded, gc":                 {over, []o{gc}, "heap gc"},
		"overloaded, 89.9 % gc":          {over, []o{{Type: capture.CPU, Verdict: "conclusive", GCShare: 0.899}}, ""},
		"overloaded, 90 % gc":            {over, []o{{Type: capture.CPU, Verdict: "conclusive", GCShare: 0.9}}, "heap gc"},
		"overloaded, gc then heap":       {over, []o{gc, some}, ""},
		"overloaded, gc then empty heap": {over, []o{gc, empty}, ""},
		"overloaded, weak then gc":       {over, []o{weak, gc}, "heap gc"},
		"severe":                         {severe, []o{weak}, ""},
		"severe, gc":                     {severe, []o{gc}, ""},
		"memory":                         {mem, []o{some}, ""},
		"memory, empty":                  {mem, []o{empty}, "heap empty_heap"},
		"memory, empty twice":            {mem, []o{empty, empty}, "cpu cpu_after_empty_heap"},
		"memory, empty, then cpu":        {mem, []o{empty, empty, good}, ""},
		"memory, empty, then gc":         {mem, []o{empty, empty, gc}, ""},
		"memory, failed":                 {mem, []o{failed}, ""},
		"memory of a Worker":             {wmem, []o{some}, "heap spread"},
		"memory of a Worker, two":        {wmem, []o{some, some}, "heap spread"},
		"memory of a Worker, three":      {wmem, []o{some, some, some}, ""},
		"memory of a Worker, empty":      {wmem, []o{empty}, "heap empty_heap"},
		"memory of a Worker, late":       {wmem, []o{empty, some}, "heap spread"},
		"memory of a Worker, never":      {wmem, []o{empty, empty}, "cpu cpu_after_empty_heap"},
		"cpu of a Worker":                {wcpu, []o{good}, "cpu spread"},
		"cpu of a Worker, three":         {wcpu, []o{good, good, good}, ""},
		"cpu of an object":               {cpu, []o{weak}, ""},
		"a rule's two":                   {capture.Plan{Trouble: capture.ExceededCPU, Repeat: 2}, []o{good}, "cpu repeat"},
		"a rule's one of a Worker":       {capture.Plan{Trouble: capture.ExceededCPU, Stateless: true, Repeat: 1}, []o{good}, ""},
		"a rule's thousand":              {capture.Plan{Trouble: capture.ExceededCPU, Repeat: 1000}, []o{good, good, good, good, good}, ""},
		"a rule's heap":                  {capture.Plan{Trouble: capture.Overloaded, Type: capture.Heap}, []o{empty}, "heap empty_heap"},
		"somebody asked":                 {capture.Plan{Stateless: true}, []o{gc}, ""},
		"nothing has ended":              {over, nil, ""},
	} {
		s, ok := c.p.Next(c.done)
		got := ""
		if ok {
			got = string(s.Type) + " " + string(s.Reason)
			if s.Note == "" || s.Duration != 10*time.Second {
				t.Errorf("%s: note %q, duration %v", name, s.Note, s.Duration)
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if s := severe.First(); s.Duration != 3*time.Second || s.Type != capture.CPU {
		t.Errorf("severe begins with %+v, want 3 s of cpu", s)
	}
	severe.Duration = 20 * time.Second // a rule's own word
	if s := severe.First(); s.Duration != 20*time.Second || strings.Contains(s.Note, "short") {
		t.Errorf("severe with a duration begins with %+v, want its 20 s", s)
	}
	if s := mem.First(); s.Type != capture.Heap {
		t.Errorf("memory begins with %s, want heap", s.Type)
	}
	if s := wcpu.First(); s.Merge {
		t.Error("the first is merged with nothing")
	}
}

// Whatever the captures give, a plan ends, and no kind is taken more often than
// planned: twice heap or cpu of an object, three times of a Worker.
func TestPlanEnds(t *testing.T) {
	verdicts := []capture.Outcome{{Verdict: "empty"}, {Verdict: "weak"}, {Verdict: "conclusive"}, {Verdict: "conclusive", GCShare: 0.95}, {Failed: true}}
	for _, trouble := range []capture.Trouble{capture.NoTrouble, capture.Overloaded, capture.ExceededMemory, capture.ExceededCPU} {
		for _, stateless := range []bool{false, true} {
			p := capture.Plan{Trouble: trouble, Stateless: stateless}
			var walk func(done []capture.Outcome, next capture.Type)
			walk = func(done []capture.Outcome, next capture.Type) {
				count := map[capture.Type]int{}
				for _, d := range done {
					count[d.Type]++
				}
				if most := 2 + b2i(stateless); count[capture.CPU] > most || count[capture.Heap] > most {
					t.Fatalf("%+v: %v", p, done)
				}
				for _, v := range verdicts {
					v.Type = next
					d := append(append([]capture.Outcome(nil), done...), v)
					if s, ok := p.Next(d); ok {
						walk(d, s.Type)
					}
				}
			}
			walk(nil, p.First().Type)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestPriorities(t *testing.T) {
	order := []int{
		capture.PriorityOf(capture.CauseIncident, capture.Overloaded), capture.PriorityOf(capture.CauseCommand, capture.NoTrouble),
		capture.PriorityOf(capture.CauseIncident, capture.ExceededCPU), capture.PriorityOf(capture.CauseFollowUp, capture.Overloaded),
		capture.PriorityOf(capture.CauseBaseline, capture.NoTrouble),
	}
	for i, p := range order {
		if p != i || p >= capture.Priorities {
			t.Errorf("rank %d has priority %d", i, p)
		}
	}
}

func TestEveryKindIsExplained(t *testing.T) {
	for _, k := range []capture.FailureKind{
		capture.FailRateLimited, capture.FailNoExecutions, capture.FailNoIsolate, capture.FailUnavailable, capture.FailUnsupported, capture.FailCouldNotStart,
		capture.FailUnauthorized, capture.FailForbidden, capture.FailNotFound, capture.FailBadRequest, capture.FailServer, capture.FailUnreachable,
		capture.FailTimeout, capture.FailEmpty, capture.FailNotProfile, capture.FailTruncated, capture.FailTooLarge, capture.FailNoNamespace,
		capture.FailNoDeployment, capture.FailLostAnswer, capture.FailBudget, capture.FailUnknown,
	} {
		f := &capture.Failure{Kind: k}
		r := capture.Record{State: capture.Failed, Failure: f, Attempts: 2}
		if s := r.Explain(noon); !strings.Contains(s, "not tried again") && k != capture.FailBudget && k != capture.FailLostAnswer || !strings.HasSuffix(s, ".") || k != capture.FailUnknown && strings.Contains(s, "does not know (no text)") {
			t.Errorf("%s: %q", k, s)
		}
	}
	r := capture.Record{State: capture.Waiting, NextAt: noon.Add(77 * time.Second), WaitFor: capture.WaitRateLimit}
	if got, want := r.Explain(noon), "Next capture at 12:01:17 UTC: rate limit."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
