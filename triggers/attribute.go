package triggers

import (
	"slices"
	"strings"
)

// evidence is how the target of an event is known.
type evidence struct {
	target      Target
	attribution Attribution
	reason      Reason
	likely      bool
	ids         []string // of ReasonSeveralObjects
	suspicion   Suspicion
}

// attribute finds the target of an event of class f.class. The order of
// evidence is: an outcome that makes it the record's own; an id logged with the
// error; the index; the record's own object when the error cannot have come
// through its code.
func attribute(e *Event, f finding, index Suspector) evidence {
	unknown := evidence{target: unknownTarget(e), attribution: AttributionNone}
	switch {
	case f.class == ClassAccountOverloaded:
		unknown.reason = ReasonAccountWide
		return unknown
	case f.own, f.class == ClassNone:
		own, reason := ownTarget(e)
		if own.Kind != TargetUnknown {
			return evidence{target: own, attribution: AttributionEvent, reason: reason}
		}
		unknown.target, unknown.reason = own, reason
		if f.class == ClassNone {
			return unknown
		}
		if logged := attributeLogged(e, f); logged.reason != "" {
			return logged
		}
		return unknown
	}
	if logged := attributeLogged(e, f); logged.reason != "" {
		return logged
	}
	own, _ := ownTarget(e)
	object := own.Kind == TargetDurableObject
	if object && f.class != ClassOverloaded && e.Outcome == "" && (e.Shape == ShapeWorkersLogs || e.Shape == ShapeOTLPLogs) {
		return evidence{target: own, attribution: AttributionEvent, reason: ReasonOwnRecord}
	}
	unknown.reason = ReasonNoObjectNamed
	if index != nil {
		s := index.Suspect(*e)
		if s.Named {
			return evidence{target: s.Target, attribution: AttributionIndex, reason: ReasonIndexNamed, suspicion: s}
		}
		unknown.suspicion = s
	}
	switch {
	case !object:
	case uncaught(e, f):
		return evidence{target: own, attribution: AttributionEvent, reason: ReasonOwnLikely, likely: true, suspicion: unknown.suspicion}
	default:
		unknown.reason = ReasonPassedThrough
	}
	return unknown
}

// attributeLogged looks for an object id beside the error: first in the texts
// that say it, then in the rest of the record. The record's own id is never
// one: code logs it with every line.
func attributeLogged(e *Event, f finding) evidence {
	for _, beside := range []bool{true, false} {
		var ids []string
		for i := range e.Texts {
			if beside != says(e, i, f) {
				continue
			}
			for _, id := range e.Texts[i].ObjectIDs {
				if id != e.ObjectID && !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
		}
		switch {
		case len(ids) == 1:
			return evidence{target: Target{Kind: TargetDurableObject, ObjectID: ids[0]}, attribution: AttributionLogged, reason: ReasonLoggedID}
		case len(ids) > 1:
			return evidence{target: unknownTarget(e), attribution: AttributionNone, reason: ReasonSeveralObjects, ids: ids}
		}
	}
	return evidence{}
}

// says tells whether text i is one of those that report the class.
func says(e *Event, i int, f finding) bool {
	if i == f.text {
		return true
	}
	h, ok := find(e.Texts[i].Message)
	return ok && !h.quoted && h.class == f.class
}

// ownTarget is what the record itself is about, as far as it says.
func ownTarget(e *Event) (Target, Reason) {
	t := unknownTarget(e)
	object := e.ExecutionModel == "durableObject" || e.ExecutionModel == "stateful"
	named := e.Entrypoint != "" && e.Entrypoint != "default"
	switch {
	case object, e.ExecutionModel == "" && (e.ObjectID != "" || named):
		// Without an execution model (Logpush never has one) a named entrypoint
		// may be a Durable Object's class: which object is not said.
		t.Entrypoint = e.Entrypoint
		if !isObjectID(e.ObjectID) {
			return t, ReasonClassOnly
		}
		t.Kind, t.ObjectID, t.VersionID = TargetDurableObject, e.ObjectID, e.VersionID
		return t, ReasonOwnRecord
	case e.Script == "" || e.Shape == ShapeWebhook:
		return t, ReasonNoScript
	default:
		t.Kind, t.VersionID = TargetWorker, e.VersionID
		return t, ReasonOwnRecord
	}
}

// unknownTarget keeps who reported, so that two callers' unknown objects are
// two incidents.
func unknownTarget(e *Event) Target {
	return Target{Kind: TargetUnknown, Script: e.Script, DispatchNamespace: e.DispatchNamespace}
}

// uncaught says whether the error can be the record's own: it stands in an
// exception, and no exception that says it has a frame in user code. With such
// a frame it passed through this object's code, so another object is meant;
// and what code has logged, it has caught.
func uncaught(e *Event, f finding) bool {
	if f.text < 0 || e.Texts[f.text].Source != TextException {
		return false
	}
	for i := range e.Texts {
		if t := &e.Texts[i]; t.Source == TextException && userFrame(t.Stack) && says(e, i, f) {
			return false
		}
	}
	return true
}

// userFrame says whether a stack has a frame in user code: an "at" line that is
// neither the runtime's nor native. A frame that cannot be read counts as one.
func userFrame(stack string) bool {
	for line := range strings.Lines(stack) {
		frame, ok := strings.CutPrefix(strings.TrimSpace(line), "at ")
		if !ok {
			continue
		}
		if i := strings.LastIndexByte(frame, '('); i >= 0 {
			frame = frame[i+1:]
		}
		frame = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(frame), "async "), ")")
		switch {
		case frame == "" || frame == "<anonymous>" || frame == "native" || strings.HasPrefix(frame, "index "):
		case strings.HasPrefix(frame, "cloudflare-internal:"), strings.HasPrefix(frame, "node-internal:"),
			strings.HasPrefix(frame, "node:"), strings.HasPrefix(frame, "internal:"), strings.HasPrefix(frame, "workerd:"):
		default:
			return true
		}
	}
	return false
}
