package bot

import (
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

// CaptureTarget is the one place where a trigger's target becomes a capture's.
// The two packages never import one another; a test holds this to every field
// of both, and to their keys. ok is false when nothing names what to profile.
func CaptureTarget(t triggers.Target) (target capture.Target, ok bool) {
	target = capture.Target{
		Script:            t.Script,
		Class:             t.Entrypoint,
		ObjectID:          t.ObjectID,
		VersionID:         t.VersionID,
		DispatchNamespace: t.DispatchNamespace,
	}
	switch t.Kind {
	case triggers.TargetDurableObject:
		target.Kind = capture.DurableObject
		return target, t.ObjectID != ""
	case triggers.TargetWorker:
		// The entrypoint of a stateless Worker is no Durable Object class.
		target.Kind, target.Class, target.ObjectID = capture.Worker, "", ""
		return target, t.Script != ""
	default:
		return capture.Target{}, false
	}
}
