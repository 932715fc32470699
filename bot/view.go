package bot

import (
	"time"

	"github.com/snapflame/snapflame/triggers"
)

// ObjectList is the per-object view, hottest first, with since when it is known.
type ObjectList struct {
	Since   time.Time   `json:"since"` // the index knows nothing from before
	Window  string      `json:"window"`
	Objects []ObjectRow `json:"objects"`
}

// ObjectRow is one Durable Object over the window of the index. Times are in
// milliseconds, summed over its requests.
type ObjectRow struct {
	Script      string    `json:"script"`
	Entrypoint  string    `json:"entrypoint,omitempty"`
	ObjectID    string    `json:"object_id"`
	Requests    int64     `json:"requests"`
	Errors      int64     `json:"errors"`
	CPUMS       int64     `json:"cpu_ms"`
	WallMS      int64     `json:"wall_ms"`
	QueuedMS    int64     `json:"queued_ms"` // wall beyond CPU: requests that waited for their turn or for something else
	ErrorBound  int64     `json:"error_bound_ms"`
	LastSeen    time.Time `json:"last_seen"`
	LastError   time.Time `json:"last_error,omitzero"` // the newest overload attributed to it
	LastCapture string    `json:"last_capture,omitempty"`
	Incident    string    `json:"incident,omitempty"` // the open one
}

// DecisionRow is one live decision: the line of `explain`, with what came of it.
type DecisionRow struct {
	At       time.Time        `json:"at"`
	Incident string           `json:"incident,omitempty"`
	Class    triggers.Class   `json:"class"`
	Decision triggers.Action  `json:"decision"`
	Script   string           `json:"script"`
	Target   *triggers.Target `json:"target,omitempty"`
	Rule     string           `json:"rule,omitempty"`
	Reason   string           `json:"reason"`
	Code     triggers.Reason  `json:"code"`
}
