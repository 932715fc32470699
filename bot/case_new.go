package bot

import (
	"strconv"
	"strings"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

// ClassRequested is the class of a case that a person opened by a command.
const ClassRequested triggers.Class = "requested"

// Policy is what the configuration says about cases. The zero value works.
type Policy struct {
	Quiet    time.Duration // default 10 minutes
	Duration time.Duration // of a capture when neither rule nor person says; default 10 s
	// Off switches kinds of notice off. The root cannot be switched off.
	Off map[Notice]bool
}

// Notice is a kind of message that can be switched off.
type Notice string

// The notices.
const (
	NoticeEvidence Notice = "evidence" // the evidence in the thread
	NoticeReport   Notice = "report"   // the report in the thread
	NoticePicture  Notice = "picture"  // the flamegraph
	NoticeFailure  Notice = "failure"  // a capture that gave no profile
	NoticeClosed   Notice = "closed"   // the incident is over
	NoticeMention  Notice = "mention"  // the mention on the first post
)

// Notices is every kind that can be switched off, for configuration checks.
func Notices() []Notice {
	return []Notice{NoticeEvidence, NoticeReport, NoticePicture, NoticeFailure, NoticeClosed, NoticeMention}
}

func (p Policy) quiet() time.Duration {
	if p.Quiet > 0 {
		return p.Quiet
	}
	return 10 * time.Minute
}

func (p Policy) duration() time.Duration {
	if p.Duration > 0 {
		return p.Duration
	}
	return 10 * time.Second
}

// Opening is what a case gets besides the decision.
type Opening struct {
	ID       string // unique; [a-z0-9], for it becomes part of subjects and keys
	Channel  string
	Mention  string
	Previous string // the target's incident before this one
	Now      time.Time
}

// New opens the case of a capture or report decision. What it wants done
// stands in Pending, the capture first: every other effect can wait for it.
func New(d triggers.Decision, o Opening, p Policy) Case {
	first := d.Event.Time
	if first.IsZero() || first.After(o.Now) {
		first = o.Now
	}
	c := Case{
		ID: o.ID, Key: d.IncidentKey(), State: Open, OpenedAt: first, LastAt: first, ActiveAt: o.Now,
		Quiet: orDuration(d.Quiet, p.quiet()),
		Class: d.Class, Subclass: d.Subclass, Target: d.Target,
		Attribution: d.Attribution, Confidence: d.Confidence, Probability: d.Probability,
		Candidates: firstN(d.Candidates, maxCandidates),
		Script:     d.Event.Script, Environment: d.Event.Environment,
		Quote: d.Quote, Rule: d.Rule, Action: d.Action, Reason: d.Reason, Sentence: d.Sentence,
		Profile: capture.Type(d.Profile), Duration: orDuration(d.Duration, p.duration()), Repeat: d.Repeat,
		Channel: o.Channel, Mention: o.Mention, Previous: o.Previous,
		Sample: sampleOf(d.Event),
	}
	if p.Off[NoticeMention] {
		c.Mention = ""
	}
	if c.Profile == "" {
		c.Profile = capture.CPU
	}
	c.count(eventTally(d, first))
	c.log(o.Now, string(d.Reason), d.Sentence)
	if target, ok := CaptureTarget(d.Target); ok && d.Action == triggers.ActionCapture {
		step := PlanOf(c).First()
		c.take(wanted{
			target: target, typ: step.Type, duration: step.Duration, note: step.Note,
			cause: capture.CauseIncident, failureAt: first,
		}, o.Now)
	}
	c.post(c.rootKey())
	c.RootAt = o.Now
	if !p.Off[NoticeEvidence] {
		c.EvidenceAt = o.Now.Add(evidenceAfter)
	}
	c.effect(Effect{Kind: EffectLast})
	return c
}

// Asked is a capture that a person wants.
type Asked struct {
	Target      capture.Target
	Type        capture.Type
	Duration    time.Duration
	RequestedBy string // Slack user id, or "api:<name>"
	Name        string // what that person is called, when known
	Channel     string
	OnlyVersion bool   // the target's version was named, and is the only one wanted
	ThreadTS    string // a foreign thread to answer in; empty: a thread of our own
}

// RequestKey is the key of the case that requests for the target share.
func (a Asked) RequestKey() string {
	key := string(ClassRequested) + "." + a.Target.Key()
	if a.ThreadTS != "" {
		// Asked inside a thread: the answer belongs there, whatever else runs.
		key += "-t" + strings.ReplaceAll(a.ThreadTS, ".", "-")
	}
	return key
}

// NewRequested opens a case without an event, because a person asked for a
// capture. From here on its path is the same.
func NewRequested(a Asked, o Opening, p Policy) Case {
	c := Case{
		ID: o.ID, Key: a.RequestKey(), State: Open, OpenedAt: o.Now, LastAt: o.Now, ActiveAt: o.Now, Quiet: p.quiet(),
		Class: ClassRequested, Target: triggerTarget(a.Target), Attribution: triggers.AttributionEvent,
		Script: a.Target.Script, Action: triggers.ActionCapture, Reason: "requested",
		Sentence: "A capture was asked for.",
		Profile:  a.Type, Duration: orDuration(a.Duration, p.duration()),
		Channel: o.Channel, ThreadTS: a.ThreadTS, RequestedBy: a.RequestedBy, RequestedName: clip(a.Name, 80), Previous: o.Previous,
	}
	c.log(o.Now, "requested", typeWords(a.Type)+" capture asked for by "+a.RequestedBy)
	c.take(wanted{target: a.Target, typ: a.Type, duration: c.Duration, cause: capture.CauseCommand, by: a.RequestedBy, only: a.OnlyVersion}, o.Now)
	c.post(c.rootKey())
	c.RootAt = o.Now
	c.effect(Effect{Kind: EffectLast})
	return c
}

func triggerTarget(t capture.Target) triggers.Target {
	kind := triggers.TargetWorker
	if t.Kind == capture.DurableObject {
		kind = triggers.TargetDurableObject
	}
	return triggers.Target{
		Kind: kind, Script: t.Script, Entrypoint: t.Class, ObjectID: t.ObjectID,
		VersionID: t.VersionID, DispatchNamespace: t.DispatchNamespace,
	}
}

func sampleOf(e triggers.Event) Sample {
	route := strings.TrimSpace(e.Method + " " + e.Route)
	return Sample{
		Shape: e.Shape, Outcome: e.Outcome, Trigger: e.Trigger, Route: clip(route, 200),
		Colo: clip(e.Colo, 20), RayID: clip(e.RayID, 40), Version: clip(e.VersionID, 64), Time: e.Time,
		CPU: e.CPU, Wall: e.Wall,
	}
}

// eventTally is the opening event as a tally of one.
func eventTally(d triggers.Decision, at time.Time) triggers.Tally {
	n := max(d.Event.Count, 1)
	t := triggers.Tally{Count: n, Counted: d.Counted, First: at, Last: at, PerMinute: map[int64]int64{at.Unix() / 60: n}, Slots: map[int64]map[string]int64{at.Unix() / 10: {d.Event.VersionID: n}}}
	one := func(s string) map[string]int64 {
		if s == "" {
			return nil
		}
		return map[string]int64{s: n}
	}
	t.Versions, t.Colos, t.Scripts = one(d.Event.VersionID), one(d.Event.Colo), one(d.Event.Script)
	if d.Event.Route != "" {
		t.Routes = one(strings.TrimSpace(d.Event.Method + " " + d.Event.Route))
	}
	if d.Subclass != "" {
		t.Subclasses = map[triggers.Subclass]int64{d.Subclass: n}
	}
	if d.Event.Size > 0 {
		t.Sizes, t.MaxSize = []int64{d.Event.Size}, d.Event.Size
	}
	return t
}

// wanted is a capture about to be decided.
type wanted struct {
	target    capture.Target
	typ       capture.Type
	duration  time.Duration
	cause     capture.Cause
	by, note  string
	notBefore time.Time
	failureAt time.Time
	series    string
	only      bool // the target's version and no other
}

// take decides a capture: it is numbered within the case, so that deciding it
// twice from the same state gives the same job.
func (c *Case) take(w wanted, now time.Time) string {
	c.Taken++
	job := capture.Job{
		ID: c.ID + "-" + strconv.Itoa(c.Taken), IncidentID: c.ID, Target: w.target, Type: w.typ,
		Duration: w.duration, Cause: w.cause, Priority: capture.PriorityOf(w.cause, troubleOf(c.Class)),
		QueuedAt: now, NotBefore: w.notBefore, FailureAt: w.failureAt, Trouble: troubleOf(c.Class), RequestedBy: w.by, Note: w.note, OnlyVersion: w.only,
	}
	c.Captures = append(c.Captures, CaptureView{Record: capture.Record{Job: job, State: capture.Queued}, Series: w.series})
	c.effect(Effect{Kind: EffectCapture, Job: &job})
	return job.ID
}

func orDuration(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}
