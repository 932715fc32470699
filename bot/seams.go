package bot

import (
	"context"

	"github.com/snapflame/snapflame/capture"
)

// Cases keeps the incidents. Errors are capture.ErrNotFound and capture.ErrConflict.
type Cases interface {
	// OpenCase returns the open case of the key, with its revision.
	OpenCase(ctx context.Context, key string) (Case, uint64, error)
	// PutCase writes an open case; rev 0 creates and conflicts when one is open.
	PutCase(ctx context.Context, c Case, rev uint64) (uint64, error)
	// CloseCase moves a case from the open ones to the archive, under its ID.
	CloseCase(ctx context.Context, c Case, rev uint64) error
	// Case finds a case by its ID, open or closed.
	Case(ctx context.Context, id string) (Case, error)
	// OpenCases calls f with every open case, then with every change, until ctx ends.
	WatchOpen(ctx context.Context, f func(c Case, rev uint64, closed bool)) error
}

// Jobs queues captures. Submit returns capture.ErrTargetBusy when the target
// has one queued already; a repeated Submit of one ID is not an error.
type Jobs interface {
	Submit(ctx context.Context, j capture.Job) error
}

// State keeps small shared values under a key: silences, the pause switch,
// audit. Errors as in Cases; rev 0 creates.
type State interface {
	Get(ctx context.Context, key string, v any) (rev uint64, err error)
	Put(ctx context.Context, key string, v any, rev uint64) (uint64, error)
	Delete(ctx context.Context, key string) error
	Keys(ctx context.Context, prefix string) ([]string, error)
}

// Study is one stored capture to analyse, with the earlier ones of its series
// that are merged with it.
type Study struct {
	Record capture.Record
	With   []string // capture IDs, oldest first; empty: the record alone
	Case   string   // incident ID, for titles
}

// Analysed is what a study gave.
type Analysed struct {
	Summary Summary
	PNG     *File // nil: nothing worth a picture
}

// Analyst turns stored bytes into figures and pictures, and stores the
// pictures. It may be asked again about the same study and then gives the same
// answer. An error means that asking again may help; whatever will never get
// better is a Summary that says so.
type Analyst interface {
	Analyse(ctx context.Context, s Study) (Analysed, error)
}

// Links makes signed addresses that expire; "" when no public URL is known.
type Links interface {
	Incident(id string) string
	Capture(id string) string
}
