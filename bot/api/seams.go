package api

import (
	"context"
	"errors"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
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
	// Import stores an exported capture. capture.ErrConflict: it is here already;
	// ErrRefused: its bytes are no profile.
	Import(ctx context.Context, r capture.Record, data []byte) error
}

// Objects answers from the hot-object index.
type Objects interface {
	Objects(ctx context.Context, script string, limit int) (bot.ObjectList, error)
}

// Decisions are the recent ones, newest first.
type Decisions interface {
	Decisions(ctx context.Context, script string, limit int) ([]bot.DecisionRow, error)
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
