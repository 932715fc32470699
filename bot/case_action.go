package bot

import (
	"fmt"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

// Refusal is why something a person asked for is not done: the code for logs,
// the sentence for the person, and what to look at instead.
type Refusal struct { //nolint:errname // it is a refusal, to people and in logs
	Reason   RefusalReason
	Sentence string
	Refs     []string // people, groups or channels that may, by id
	Capture  string   // the capture that is in the way
	Incident string
}

func (r *Refusal) Error() string { return r.Sentence }

// RefusalReason is the log field and metric label of a refusal.
type RefusalReason string

// The refusals.
const (
	RefusedBusy      RefusalReason = "busy"       // the target has a capture queued or running
	RefusedFull      RefusalReason = "full"       // the incident holds as many captures as it can
	RefusedNoTarget  RefusalReason = "no_target"  // nothing names what to profile
	RefusedUser      RefusalReason = "user"       // not among the allowed users and groups
	RefusedChannel   RefusalReason = "channel"    // not in an allowed channel
	RefusedWorkspace RefusalReason = "workspace"  // a guest of another workspace
	RefusedPaused    RefusalReason = "paused"     // captures are paused
	RefusedOff       RefusalReason = "off"        // captures are switched off in the configuration
	RefusedUnknown   RefusalReason = "unknown_id" // no such capture, incident or candidate
)

// Again decides one more capture of the case's target because a person asked.
// An error is a *Refusal: while one is unfinished there is no second.
func (c Case) Again(a Asked, now time.Time) (next Case, id string, err error) {
	if v, unfinished := c.Unfinished(); unfinished {
		return c, "", &Refusal{
			Reason: RefusedBusy, Capture: v.Record.ID, Incident: c.ID,
			Sentence: "A capture of this target is already under way: " + progressWords(v, now) + ".",
		}
	}
	if len(c.Captures) >= maxCaptures {
		return c, "", &Refusal{
			Reason: RefusedFull, Incident: c.ID,
			Sentence: fmt.Sprintf("This incident already holds %d captures, which is all it keeps. Ask for one outside it: it gets a thread of its own.", maxCaptures),
		}
	}
	if a.Target.Script == "" && a.Target.ObjectID == "" {
		target, ok := c.captureTarget()
		if !ok {
			return c, "", &Refusal{
				Reason: RefusedNoTarget, Incident: c.ID,
				Sentence: "No evidence names the object, so there is nothing to profile yet. Pick a candidate, or name one with object=.",
			}
		}
		target.VersionID = orText(a.Target.VersionID, target.VersionID)
		a.Target = target
	}
	c = c.clone()
	id = c.take(wanted{
		target: a.Target, typ: a.Type, duration: orDuration(a.Duration, c.Duration),
		cause: capture.CauseCommand, by: a.RequestedBy, only: a.OnlyVersion, failureAt: c.failureAt(),
	}, now)
	c.ActiveAt = now
	c.log(now, "requested", fmt.Sprintf("%s capture %s asked for by %s", typeWords(a.Type), id, a.RequestedBy))
	c.rootChanged(now, rootEvery)
	return c, id, nil
}

// failureAt is what a capture by hand of an incident is told against; a case
// without events has no failure.
func (c Case) failureAt() time.Time {
	if c.Class == ClassRequested {
		return time.Time{}
	}
	return c.LastAt
}

// captureTarget is what the case would profile: what the last capture did, else
// what was picked, else what the evidence names.
func (c Case) captureTarget() (capture.Target, bool) {
	if n := len(c.Captures); n > 0 {
		return c.Captures[n-1].Record.Target, true
	}
	if c.Picked != nil {
		return CaptureTarget(*c.Picked)
	}
	return CaptureTarget(c.Target)
}

// Pick captures one of the candidates that were offered because no evidence
// names the object. The incident stays what it is; only what is profiled is known.
func (c Case) Pick(n int, by string, now time.Time) (next Case, id string, err error) {
	if n < 0 || n >= len(c.Candidates) {
		return c, "", &Refusal{Reason: RefusedUnknown, Incident: c.ID, Sentence: "That candidate is no longer offered. Name the object with object=."}
	}
	picked := c.Candidates[n]
	target, ok := CaptureTarget(picked)
	if !ok {
		return c, "", &Refusal{Reason: RefusedNoTarget, Incident: c.ID, Sentence: "That candidate has no object id. Name the object with object=."}
	}
	next, id, err = c.Again(Asked{Target: target, Type: c.Profile, RequestedBy: by}, now)
	if err != nil {
		return c, "", err
	}
	next.Picked = &picked
	next.Action = triggers.ActionCapture
	next.log(now, "picked", "object "+short(picked.ObjectID)+" picked by "+by)
	return next, id, nil
}

// Noted writes a line into the decision log and shows it on the root.
func (c Case) Noted(reason, text string, now time.Time) Case {
	c = c.clone()
	c.log(now, reason, text)
	c.rootChanged(now, rootEvery)
	return c
}
