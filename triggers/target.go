package triggers

import (
	"crypto/sha256"
	"encoding/hex"
)

// TargetKind is what sort of thing a capture would profile.
type TargetKind string

// The kinds of target. TargetUnknown means that no evidence names the object.
const (
	TargetWorker        TargetKind = "worker"
	TargetDurableObject TargetKind = "durable_object"
	TargetUnknown       TargetKind = "unknown"
)

// Target is what an event is about, as far as the evidence goes: an empty
// field is unknown, never guessed. The Script of an unknown target is who
// reported the trouble, not who has it.
type Target struct {
	Kind       TargetKind `json:"kind"`
	Script     string     `json:"script,omitempty"`
	Entrypoint string     `json:"entrypoint,omitempty"` // the exported class name of a Durable Object
	ObjectID   string     `json:"object_id,omitempty"`  // 64 lower-case hexadecimal digits
	VersionID  string     `json:"version_id,omitempty"`
	// DispatchNamespace is set for Workers for Platforms user Workers.
	DispatchNamespace string `json:"dispatch_namespace,omitempty"`
}

// Key names the target in subjects and keys: two events about the same thing
// have the same key, whichever evidence named it. It holds only [a-z0-9-.], so
// a hostile script name cannot leave its place in a NATS subject. The version
// is not part of it: a rollout does not split an incident.
func (t Target) Key() string {
	switch t.Kind {
	case TargetDurableObject:
		return "do-" + t.ObjectID
	case TargetWorker:
		return "worker-" + digest(t.DispatchNamespace, t.Script)
	default:
		return "unknown-" + digest(t.DispatchNamespace, t.Script, t.Entrypoint)
	}
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:10])
}

// Attribution is how the target is known.
type Attribution string

// The kinds of evidence, as in the contract.
const (
	AttributionEvent  Attribution = "event"  // the record is the target's own
	AttributionLogged Attribution = "logged" // its id stands in the record
	AttributionIndex  Attribution = "index"  // the hot-object index named it
	AttributionNone   Attribution = "none"
)
