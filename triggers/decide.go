package triggers

import (
	"fmt"
	"strings"
	"time"
)

// Suspector names the object that was most likely overloaded when a caller's
// event was written. Index is the one.
type Suspector interface {
	Suspect(caller Event) Suspicion
}

// State is what a decision is made from, beside the event.
type State struct {
	Rules *Rules
	// Index is asked for the object that a caller could not name; nil: nobody.
	Index Suspector
	// Counts serves rules that count. Nil takes every count for met: an event
	// is then judged alone.
	Counts   *Counts
	Silences []Silence
}

// Decide says what follows from an event: capture, report or ignore, with its
// reason and evidence. It never says join, which only the Sink can know.
func Decide(e Event, s State, now time.Time) Decision {
	var v verdict
	v.judge(&e, &s, now)
	return v.decision()
}

// verdict is a decision before it is put into words, which most are never.
type verdict struct {
	Decision // without its Event, until it is put into words
	event    *Event
	finding  finding
	ev       evidence
	rule     *compiled
	held     int64
	quiet    time.Duration
	silence  Silence
	counted  bool // a rule's count was part of it
}

// judge decides an event. v may have been used before.
func (v *verdict) judge(e *Event, s *State, now time.Time) {
	*v = verdict{finding: classify(e), event: e}
	d := &v.Decision
	d.Class, d.Subclass, d.Action = v.finding.class, v.finding.sub, ActionIgnore
	d.Attribution, d.Target.Kind = AttributionNone, TargetUnknown
	if d.Class == ClassNone && !s.Rules.wantNone {
		v.ignoreNone()
		return
	}
	if v.finding.text >= 0 {
		d.Quote = excerpt(e.Texts[v.finding.text], v.finding.hit)
	}
	v.ev = attribute(e, v.finding, s.Index)
	d.Target, d.Attribution, d.Reason = v.ev.target, v.ev.attribution, v.ev.reason
	d.Candidates = v.ev.suspicion.Targets()
	if d.Attribution == AttributionIndex {
		d.Probability = v.ev.suspicion.Probability
	}
	if v.ev.likely {
		d.Confidence = "likely"
	}
	if e.Ended {
		d.Reason = ReasonAlertEnded
		return
	}
	if !v.match(s, now) {
		if d.Class == ClassNone {
			v.ignoreNone()
		}
		return
	}
	v.apply()
	for _, silence := range s.Silences {
		if d.Action != ActionIgnore && silence.matches(d, e, now) {
			d.Action, d.Reason, v.silence = ActionIgnore, ReasonSilenced, silence
		}
	}
}

func (v *verdict) ignoreNone() {
	v.Target = Target{}
	v.Attribution, v.Confidence = "", ""
	v.Reason = ReasonNoTrouble
	if v.finding.alike != "" {
		v.Reason = ReasonLookAlike
	}
}

// match finds the first rule that matches, counting parts included. Without
// one the reason is the nearest miss.
func (v *verdict) match(s *State, now time.Time) bool {
	v.Reason = ReasonNoRule
	key := ""
	for i := range s.Rules.rules {
		r := &s.Rules.rules[i]
		if !r.fits(v.event, v.finding, v.Target) {
			continue
		}
		m := &r.Match
		if s.Counts == nil || m.Count < 2 && m.ReturnedAfter == 0 {
			v.rule = r
			return true
		}
		v.counted = true
		if key == "" {
			key = incidentKey(v.Class, &v.Target)
		}
		held, quiet := s.Counts.add(r.Name, key, m.Window, m.ReturnedAfter, max(v.event.Count, 1), now)
		switch {
		case held < int64(m.Count):
			v.Reason, v.rule, v.held = ReasonBelowCount, r, held
		case quiet < m.ReturnedAfter:
			v.Reason, v.rule = ReasonNotReturned, r
		default:
			v.rule, v.held, v.quiet = r, held, quiet
			return true
		}
	}
	return false
}

// apply does what the matching rule says, as far as the evidence goes.
func (v *verdict) apply() {
	r, d := v.rule, &v.Decision
	d.Rule, d.Channel, d.Mention, d.Quiet = r.Name, r.Channel, r.Mention, r.Quiet
	d.Reason = v.ev.reason
	switch {
	case r.Ignore:
		d.Action, d.Reason = ActionIgnore, ReasonRuleIgnores
	case d.Target.Kind == TargetUnknown:
		d.Action = ActionReport
	case r.Profile == ProfileNone:
		d.Action, d.Reason = ActionReport, ReasonReportOnly
	default:
		d.Action, d.Profile, d.Duration, d.Repeat = ActionCapture, r.Profile, r.Duration, r.Repeat
		if d.Profile == "" {
			d.Profile = profileOf(d.Class)
		}
		if d.Subclass == SubclassTooManyInWindow && !r.own {
			d.Duration = min(d.Duration, severeDuration)
		}
	}
}

// severeDuration is the longest capture of an object that is told of with the
// most extreme of Cloudflare's texts, unless a rule names a duration: starting
// and stopping the profiler takes the isolate's lock.
const severeDuration = 3 * time.Second

func profileOf(c Class) ProfileType {
	if c == ClassExceededMemory {
		return ProfileHeap
	}
	return ProfileCPU
}

func (v *verdict) decision() Decision {
	v.Event = *v.event
	v.Sentence = v.sentence()
	return v.Decision
}

// sentence puts the reason into words, with the values that mattered.
func (v *verdict) sentence() string {
	d, e := &v.Decision, &v.Event
	var b strings.Builder
	switch d.Reason {
	case ReasonOwnRecord:
		if v.finding.own {
			fmt.Fprintf(&b, "the record is the target's own and its outcome is %s", e.Outcome)
		} else {
			b.WriteString("the record is the target's own")
		}
	case ReasonLoggedID:
		fmt.Fprintf(&b, "object %s… is logged with the error", short(d.Target.ObjectID))
	case ReasonIndexNamed:
		b.WriteString(v.ev.suspicion.sentence())
	case ReasonOwnLikely:
		b.WriteString("the record is an object's own and its exception has no stack frame in user code, so it is likely the object itself")
	case ReasonNoObjectNamed:
		b.WriteString("the error was thrown where an object was called, and nothing in the record names that object")
		if s := v.ev.suspicion.sentence(); s != "" {
			b.WriteString("; " + s)
		}
	case ReasonPassedThrough:
		b.WriteString("the error passed through this object's own code, so another object is meant, and nothing names it")
	case ReasonSeveralObjects:
		fmt.Fprintf(&b, "%d different object ids stand in the record, so none is taken", len(v.ev.ids))
	case ReasonClassOnly:
		fmt.Fprintf(&b, "the record is of class %s, but does not say of which object", orNone(e.Entrypoint))
	case ReasonNoScript:
		b.WriteString("the event names no Worker")
	case ReasonAccountWide:
		b.WriteString("the whole account is limited, so there is no single object to profile")
	case ReasonReportOnly:
		fmt.Fprintf(&b, "rule %s wants no capture", d.Rule)
	case ReasonRuleIgnores:
		fmt.Fprintf(&b, "rule %s ignores it", d.Rule)
	default:
		b.WriteString(v.ignored())
	}
	if d.Action == ActionCapture && v.rule != nil && d.Duration < v.rule.Duration {
		fmt.Fprintf(&b, "; so many requests that the capture is short: %s", d.Duration)
	}
	if d.Action == ActionCapture && v.rule != nil && v.rule.Match.Count > 1 && v.held > 0 {
		fmt.Fprintf(&b, "; %d events within %s reach the %d of rule %s", v.held, v.rule.Match.Window, v.rule.Match.Count, d.Rule)
	}
	return b.String()
}

// ignored puts the reasons of events that are ignored into words.
func (v *verdict) ignored() string {
	d := &v.Decision
	switch d.Reason {
	case ReasonNoTrouble:
		if d.Event.Outcome == "" {
			return "no text of the event names an overload or an exceeded limit"
		}
		return fmt.Sprintf("outcome %s, and no text names an overload or an exceeded limit", d.Event.Outcome)
	case ReasonLookAlike:
		return v.finding.alike
	case ReasonNoRule:
		return fmt.Sprintf("no rule matches class %s of script %s", d.Class, orNone(d.Event.Script))
	case ReasonBelowCount:
		return fmt.Sprintf("%d of the %d events within %s that rule %s wants", v.held, v.rule.Match.Count, v.rule.Match.Window, v.rule.Name)
	case ReasonNotReturned:
		return fmt.Sprintf("rule %s wants the trouble to return after %s of quiet", v.rule.Name, v.rule.Match.ReturnedAfter)
	case ReasonSilenced:
		s := "silenced until " + v.silence.Until.UTC().Format("2006-01-02 15:04 UTC")
		if v.silence.By != "" {
			s += " by " + v.silence.By
		}
		return s
	case ReasonAlertEnded:
		return "the notification says that the alert is over"
	case ReasonJoined:
		return "an open incident covers it"
	default:
		return string(d.Reason)
	}
}

func short(id string) string { return id[:min(len(id), 8)] }

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
