package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
)

// Bounds of a poller. The calls are a tenth of the 1,200 per five minutes that
// Cloudflare allows ("API rate limits").
const (
	callEvery  = 2500 * time.Millisecond
	callBurst  = 20
	overlap    = 30 * time.Second // of every window with the one before
	late       = 5 * time.Minute  // of one window a minute
	sweepEvery = time.Minute
	firstLook  = 2 * time.Minute  // back from the first poll ever
	longest    = 15 * time.Minute // back from any other
	maxPages   = 10               // of one window
	lastPause  = 5 * time.Minute  // between polls that fail
)

// ErrTooLarge is what a Publisher says of an event that the queue never takes.
var ErrTooLarge = errors.New("over the event queue's message size limit")

// Publisher puts one event into the events queue and returns once it is
// acknowledged. id makes a repeated publish idempotent for a while.
type Publisher interface {
	PublishEvent(ctx context.Context, script string, data []byte, id string) error
}

// Store keeps the Progress that all replicas share. A progress that was never
// stored is the zero one at revision 0. Save is a compare-and-set: it fails when
// rev is not the newest.
type Store interface {
	Load(ctx context.Context) (p Progress, rev uint64, err error)
	Save(ctx context.Context, p Progress, rev uint64) (uint64, error)
}

// Reason is how a poll ended.
type Reason string

// The reasons.
const (
	ReasonDone        Reason = "done"
	ReasonRateLimited Reason = "rate_limited" // 429: too many calls, ours or others'
	ReasonForbidden   Reason = "forbidden"    // the token may not read Workers Logs
	ReasonRefused     Reason = "refused"      // the query itself was not accepted
	ReasonUnreachable Reason = "unreachable"  // no whole answer
	ReasonServer      Reason = "server"       // 5xx, or an answer that is none
	ReasonQueue       Reason = "queue"        // the events queue did not take it
	ReasonProgress    Reason = "progress"     // the progress could not be stored
)

// Failure is why a poll ended early. What was published until then stays
// published; the next poll asks for the same window again.
type Failure struct { //nolint:errname // as capture.Failure is: what a poll ends with
	Reason     Reason
	Status     int           // of the answer; 0: there was none
	RetryAfter time.Duration // 0: not said
	Err        error
}

func (f *Failure) Error() string { return "poll Workers Logs: " + f.Err.Error() }

// Unwrap gives what went wrong.
func (f *Failure) Unwrap() error { return f.Err }

// Pass is one poll.
type Pass struct {
	Reason    Reason
	Err       error // nil when Reason is ReasonDone
	From, To  time.Time
	Calls     int
	Published int           // events that are new
	Late      int           // of these, older than the window before
	Known     int           // events that an earlier poll published
	Skipped   int           // events beyond maxPages, forgotten ones, and those over the queue's limit
	Missed    time.Duration // that nobody polled and that is not asked for any more
	Wait      time.Duration // until the next poll
}

// Options of a Poller. AccountID, Token, BaseURL and Every are required.
type Options struct {
	Account Account
	// Every is how often is polled.
	Every time.Duration
	// Observe is told of every poll; nil: nobody is.
	Observe func(Pass)
	// Now is the clock of windows; nil: time.Now.
	Now func() time.Time
}

// Poller polls. One at a time may run in an account: the caller holds a lease.
type Poller struct {
	events Publisher
	store  Store
	o      Options
	api    *client
	calls  *rate.Limiter
}

// New makes a poller. It makes no call.
func New(events Publisher, store Store, o Options) (*Poller, error) {
	if o.Every <= 0 {
		return nil, fmt.Errorf("poll Workers Logs every %s: cloudflare.poll must be above 0s", o.Every)
	}
	api, err := newClient(o.Account)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Observe == nil {
		o.Observe = func(Pass) {}
	}
	return &Poller{events: events, store: store, o: o, api: api, calls: rate.NewLimiter(rate.Every(callEvery), callBurst)}, nil
}

// Run polls until ctx ends, and returns nil then. It returns an error when the
// progress cannot be read or somebody else has stored one: then another poller
// is at work, or was, and the caller starts anew under its lease.
func (p *Poller) Run(ctx context.Context) error {
	stored, rev, err := p.store.Load(ctx)
	if err != nil {
		return fmt.Errorf("read how far Workers Logs were polled: %w", err)
	}
	t := &term{p: p, memory: recall(stored), rev: rev}
	for fails := 0; ctx.Err() == nil; {
		began := p.o.Now()
		pass := t.pass(ctx, began)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was told to stop
		}
		if pass.Reason == ReasonDone {
			fails = 0
			pass.Wait = max(p.o.Every-p.o.Now().Sub(began), 0)
		} else {
			fails++
			pass.Wait = p.pause(pass, fails)
		}
		p.o.Observe(pass)
		if pass.Reason == ReasonProgress {
			return pass.Err
		}
		wait(ctx, pass.Wait)
	}
	return nil
}

// pause is how long to wait after a poll that failed: as long as Cloudflare
// says, else longer each time. A 429 that does not say blocks for five minutes.
func (p *Poller) pause(pass Pass, fails int) time.Duration {
	f, ok := errors.AsType[*Failure](pass.Err)
	switch {
	case ok && f.RetryAfter > 0:
		return max(f.RetryAfter, p.o.Every)
	case ok && f.Reason == ReasonRateLimited:
		return lastPause
	}
	return min(time.Second<<min(fails-1, 9), lastPause)
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
