package bot

import (
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

// PlanOf is what the incident wants captured.
func PlanOf(c Case) capture.Plan {
	return capture.Plan{
		Trouble: troubleOf(c.Class), Stateless: c.Target.Kind == triggers.TargetWorker,
		// Cloudflare calls this text the more extreme one: the profiler's own
		// start and stop could tip such an object over.
		Severe: c.Subclass == triggers.SubclassTooManyInWindow,
		Type:   c.Profile, Duration: c.Duration, Repeat: c.Repeat,
	}
}

// FollowUps plans what follows a capture that the incident itself wanted. What
// people ask for is one capture and nothing after it.
func FollowUps(spacing time.Duration) Planner {
	return func(c Case, ended CaptureView, now time.Time) []FollowUp {
		if !automatic(ended) {
			return nil
		}
		var done []capture.Outcome
		for _, v := range c.Captures {
			if automatic(v) && v.told() {
				done = append(done, outcomeOf(v))
			}
		}
		step, ok := PlanOf(c).Next(done)
		if !ok {
			return nil
		}
		return []FollowUp{{
			Type: step.Type, Duration: step.Duration, NotBefore: now.Add(spacing), Note: step.Note, Series: step.Merge,
		}}
	}
}

func automatic(v CaptureView) bool {
	return v.Record.Cause == capture.CauseIncident || v.Record.Cause == capture.CauseFollowUp
}

func outcomeOf(v CaptureView) capture.Outcome {
	o := capture.Outcome{Type: v.Record.Type, Failed: v.Record.State == capture.Failed}
	if v.Summary != nil {
		o.Verdict, o.GCShare = v.Summary.Verdict, v.Summary.GCShare
	}
	return o
}

// troubleOf is the class in the words of capture, which has no others.
func troubleOf(c triggers.Class) capture.Trouble {
	switch t := capture.Trouble(c); t {
	case capture.Overloaded, capture.ExceededMemory, capture.ExceededCPU:
		return t
	default:
		return capture.NoTrouble
	}
}
