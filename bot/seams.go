package bot

import (
	"context"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/report"
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
	// WatchOpen calls f with every open case, init, then f with every change, until
	// ctx ends.
	WatchOpen(ctx context.Context, f func(c Case, rev uint64, closed bool), init func()) error
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

// Shelf finds what is kept. Errors are capture.ErrNotFound.
type Shelf interface {
	ListCases(ctx context.Context, q CaseQuery) (rows []CaseRow, next string, version uint64, err error)
	Case(ctx context.Context, id string) (Case, error)
	// ListCaptures returns records newest first; empty filters take all.
	ListCaptures(ctx context.Context, incident, script string, limit int, cursor string) (records []capture.Record, next string, err error)
	Record(ctx context.Context, id string) (capture.Record, uint64, error)
}

// Figures reads a stored profile again. base is another capture, or Baseline
// for the quiet captures of its target, or empty. capture.ErrNotFound: no such
// capture, or no profile of it. A *Refusal says why two cannot be compared.
type Figures interface {
	Report(ctx context.Context, id, base string) (*report.Report, error)
}

// Workers knows the names of Workers, the recently active first. complete is
// true when these are all that match in the account. A query that nothing known
// matches is asked of the account again: Workers are made while people work.
type Workers interface {
	Workers(ctx context.Context, query string, limit int) (names []string, complete bool, err error)
}

// Objects answers from the hot-object index, hottest first.
type Objects interface {
	Objects(ctx context.Context, script string, limit int) (ObjectList, error)
}

// Decisions are the recent ones about a Worker, newest first.
type Decisions interface {
	Decisions(ctx context.Context, script string, limit int) ([]DecisionRow, error)
}

// Threads finds the incident that a thread of ours is about; capture.ErrNotFound
// when the thread is somebody else's.
type Threads interface {
	CaseOfThread(ctx context.Context, channel, ts string) (incident string, err error)
}

// Status is how the service does, for status and the App Home.
type Status struct {
	Running      []capture.Record // the API has been asked
	Waiting      []capture.Record // queued or waiting, most urgent first
	UsedHour     int              // captures started within the last hour
	PerHour      int
	BlockedUntil time.Time // Cloudflare's rate limit; zero: not blocked
	Health       []Check
}

// Check is one line of health.
type Check struct {
	Name string
	OK   bool
	Text string // what is wrong and the fix, or how it is
}

// Statuses tells the Status.
type Statuses interface {
	Status(ctx context.Context) (Status, error)
}

// Members knows who is in a Slack user group.
type Members interface {
	InGroup(ctx context.Context, user, group string) (bool, error)
}
