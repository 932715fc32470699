package capture

import (
	"context"
	"errors"
	"time"
)

// Request is one call of the profiling API: everything is resolved.
type Request struct {
	Target   Target
	Type     Type
	Duration time.Duration
}

// API asks for one profile. The error is a *Failure. It never retries by
// itself: a capture that timed out may still run, and a second one would double
// the load on an overloaded object.
type API interface {
	Profile(ctx context.Context, r Request) ([]byte, error)
}

// Resolution is a target made complete, in order of likelihood.
type Resolution struct {
	Target        Target
	VersionSource string
	Split         map[string]float64
	Notes         []string
}

// Resolver finds the owner, the namespace and the version. The error is a
// *Failure. A warm target needs no call.
type Resolver interface {
	Resolve(ctx context.Context, t Target) ([]Resolution, error)
	// Forget drops what is cached about the target, after a mismatch.
	Forget(t Target)
}

// ErrTargetBusy says that the target already has a queued or running capture.
var ErrTargetBusy = errors.New("the target already has a capture queued or running")

// ErrConflict says that a compare-and-set lost against another writer.
var ErrConflict = errors.New("changed by another writer")

// ErrNotFound says that there is no such record.
var ErrNotFound = errors.New("not found")

// Task is one queued job in this process's hands.
type Task interface {
	Job() Job
	// Touch keeps the job ours for a few more seconds.
	Touch() error
	// Later gives the job back, to be delivered again at or after the delay.
	Later(delay time.Duration) error
	// Done removes the job from the queue, for certain when it returns.
	Done(ctx context.Context) error
}

// Queue gives the next job, most urgent first; nil when wait has passed.
type Queue interface {
	Next(ctx context.Context, wait time.Duration) (Task, error)
}

// Records keeps what is known of captures. rev 0 creates.
type Records interface {
	Record(ctx context.Context, id string) (Record, uint64, error)
	PutRecord(ctx context.Context, r Record, rev uint64) (uint64, error)
}

// Ledger keeps the one Budget that all replicas share. Change runs f on the
// stored value and writes the result with compare-and-set, again on a conflict;
// f returning an error leaves it as it was.
type Ledger interface {
	Change(ctx context.Context, f func(Budget) (Budget, error)) error
}

// Profiles keeps the bytes.
type Profiles interface {
	PutProfile(ctx context.Context, id string, data []byte) error
	Profile(ctx context.Context, id string) ([]byte, error)
}

// Observer hears of every change of a record after it is durable. A returned
// error is retried: the job stays in the queue until the observer has it.
type Observer interface {
	CaptureChanged(ctx context.Context, r Record) error
}
