package api

import (
	"context"
	"errors"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

// Cases lists and finds incidents. Case returns capture.ErrNotFound.
type Cases interface {
	ListCases(ctx context.Context, q bot.CaseQuery) (rows []bot.CaseRow, next string, version uint64, err error)
	Case(ctx context.Context, id string) (bot.Case, error)
}

// Captures lists and finds captures. Record and Profile return capture.ErrNotFound.
type Captures interface {
	// ListCaptures returns records newest first; next is empty at the end.
	ListCaptures(ctx context.Context, incident, script string, limit int, cursor string) (records []capture.Record, next string, err error)
	Record(ctx context.Context, id string) (capture.Record, uint64, error)
	Profile(ctx context.Context, id string) ([]byte, error)
	// Analysis is report --json of a stored capture.
	Analysis(ctx context.Context, id string) ([]byte, error)
}

// Objects answers from the hot-object index.
type Objects interface {
	Objects(ctx context.Context, script string, limit int) (ObjectList, error)
}

// ObjectList is the per-object view, hottest first, with since when it is known.
type ObjectList struct {
	Since   time.Time   `json:"since"` // the index knows nothing from before
	Window  string      `json:"window"`
	Objects []ObjectRow `json:"objects"`
}

// ObjectRow is one Durable Object over the window of the index.
type ObjectRow struct {
	Script      string    `json:"script"`
	Entrypoint  string    `json:"entrypoint,omitempty"`
	ObjectID    string    `json:"object_id"`
	Requests    int64     `json:"requests"`
	Errors      int64     `json:"errors"`
	CPUMS       int64     `json:"cpu_ms"`
	WallMS      int64     `json:"wall_ms"`
	QueuedMS    int64     `json:"queued_ms"` // wall beyond CPU per request: how long requests waited or awaited
	ErrorBound  int64     `json:"error_bound_ms"`
	LastSeen    time.Time `json:"last_seen"`
	LastCapture string    `json:"last_capture,omitempty"`
	Incident    string    `json:"incident,omitempty"` // the open one
}

// Decisions are the recent ones, newest first.
type Decisions interface {
	Decisions(ctx context.Context, script string, limit int) ([]DecisionRow, error)
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

// Start is a request for a capture.
type Start struct {
	Worker    string `json:"worker"`
	ObjectID  string `json:"object_id,omitempty"`
	Class     string `json:"class,omitempty"`
	Namespace string `json:"namespace_id,omitempty"`
	Version   string `json:"version_id,omitempty"`
	Type      string `json:"type,omitempty"`     // cpu (default) or heap
	Duration  string `json:"duration,omitempty"` // "10s"
}

// Started says what became of it.
type Started struct {
	Capture  string `json:"capture"`
	Incident string `json:"incident"`
	State    string `json:"state"`
}

// ErrRefused is wrapped by a Starter's error when the request cannot be done;
// the text is for the caller.
var ErrRefused = errors.New("refused")

// Starter queues captures, on the same path as a Slack command.
type Starter interface {
	StartCapture(ctx context.Context, s Start, by string) (Started, error)
}

// DeadLetter is one entry of the dead letters.
type DeadLetter struct {
	Sequence uint64    `json:"sequence"`
	Subject  string    `json:"subject"`
	Reason   string    `json:"reason"`
	At       time.Time `json:"at"`
	Bytes    int       `json:"bytes"`
	Head     string    `json:"head"` // the first bytes, for recognition
}

// DeadLetters lists and replays what could not be read.
type DeadLetters interface {
	DeadLetters(ctx context.Context, limit int) ([]DeadLetter, error)
	ReplayDeadLetter(ctx context.Context, sequence uint64) error
}
