package capture

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// Kind is what is profiled.
type Kind string

// What the API can profile.
const (
	Worker        Kind = "worker"
	DurableObject Kind = "durable_object"
)

// Type is the kind of profile.
type Type string

// The profile types of the API.
const (
	CPU  Type = "cpu"
	Heap Type = "heap"
)

// Limits of the profiling API's duration_ms (Cloudflare, "Profiling in production", 2026-10-08).
const (
	MinDuration = 1 * time.Second
	MaxDuration = 50 * time.Second
)

// Target is what to profile. Fields that are empty when a Job is queued are
// resolved before the call: the owner script and the namespace of an object,
// the version with most traffic. `latest` is never used: the newest upload need
// not be deployed.
type Target struct {
	Kind              Kind   `json:"kind"`
	Script            string `json:"script,omitempty"` // the Worker that owns it
	Class             string `json:"class,omitempty"`  // exported class of a Durable Object
	ObjectID          string `json:"object_id,omitempty"`
	NamespaceID       string `json:"namespace_id,omitempty"`
	VersionID         string `json:"version_id,omitempty"`
	DispatchNamespace string `json:"dispatch_namespace,omitempty"`
}

// Key is the same as the key of the trigger's target for the same thing.
func (t Target) Key() string {
	if t.Kind == DurableObject {
		return "do-" + t.ObjectID
	}
	h := sha256.New()
	for _, p := range []string{t.DispatchNamespace, t.Script} {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return "worker-" + hex.EncodeToString(h.Sum(nil)[:10])
}

// OnlyVersion leaves the candidates of the version that was asked for. An empty
// version asks for any. The error is a *Failure.
func OnlyVersion(found []Resolution, version string) ([]Resolution, error) {
	if version == "" {
		return found, nil
	}
	var out []Resolution
	for _, r := range found {
		if strings.HasPrefix(r.Target.VersionID, version) {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil, &Failure{Kind: FailNotFound, Unsent: true, Message: "the Worker that implements the object has no version " + version + " in its deployments; name none for what is deployed"}
	}
	return out, nil
}
