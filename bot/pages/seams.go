package pages

import (
	"context"
	"net/http"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/report"
)

// Cases lists and finds incidents. Case returns capture.ErrNotFound.
type Cases interface {
	ListCases(ctx context.Context, q bot.CaseQuery) (rows []bot.CaseRow, next string, version uint64, err error)
	Case(ctx context.Context, id string) (bot.Case, error)
}

// Captures finds captures and reads their profiles again. Errors are as of Cases.
type Captures interface {
	Record(ctx context.Context, id string) (capture.Record, uint64, error)
	ListCaptures(ctx context.Context, incident, script string, limit int, cursor string) (records []capture.Record, next string, err error)
	// Report analyses a stored capture; base is another capture or empty.
	Report(ctx context.Context, id, base string) (*report.Report, error)
}

// Objects answers from the hot-object index.
type Objects interface {
	Objects(ctx context.Context, script string, limit int) (bot.ObjectList, error)
}

// Deployment is one entry of a Worker's deployment list.
type Deployment struct {
	At      time.Time
	Version string
	Percent float64
	Message string
}

// Deployments knows when versions went live. It may answer from memory; nil
// and no error means that nothing is known.
type Deployments interface {
	Deployments(ctx context.Context, script string) ([]Deployment, error)
}

// Threads finds the Slack thread of an incident; empty when there is none yet.
type Threads interface {
	Permalink(ctx context.Context, incident string) string
}

// Acting reports whether the request may start captures.
type Acting func(r *http.Request) bool
