package capture

import "time"

// Budget is the one account of what was started, shared by all replicas: it is
// small, so that it fits one key that is changed by compare-and-set.
type Budget struct {
	Starts       []time.Time          `json:"starts,omitempty"`  // within the last hour
	Targets      map[string]time.Time `json:"targets,omitempty"` // last start per target key, until the spacing has passed
	Running      map[string]time.Time `json:"running,omitempty"` // capture id → when its lease ends
	BlockedUntil time.Time            `json:"blocked_until,omitzero"`
}
