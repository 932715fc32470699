package bot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

// Desk drives the cases: it opens one by one compare-and-set, joins the rest,
// and does what a case wants done right after that is durable. Any number of
// desks work on the same store. What one leaves undone when it dies, the others
// find, and whoever comes second loses a compare-and-set.
//
// It is the Sink of the triggers and the Observer of the captures.
type Desk struct {
	cases  Cases
	jobs   Jobs
	outbox Outbox
	o      DeskOptions

	mu   sync.Mutex
	due  deadlines // of the open cases
	wake chan struct{}

	loaded chan struct{}
	once   sync.Once // closes it
}

var (
	_ triggers.Sink    = (*Desk)(nil)
	_ capture.Observer = (*Desk)(nil)
)

// DeskOptions are what a Desk needs besides its stores. NewID and Writer are
// required.
type DeskOptions struct {
	NewID   func() string // [a-z0-9], unguessable
	Writer  Writer        // what messages say
	State   State         // remembers each target's newest incident; nil: incidents are not linked
	Analyst Analyst       // nil: captures are announced without figures
	Plan    Planner       // nil: no follow-ups
	Routing Routing
	Policy  Policy
	// Current replaces Routing and Policy when set: it is asked each time, so
	// that a reload takes effect.
	Current  func() (Routing, Policy)
	Silences *Silences // nil: nothing is silenced
	// AtOnce is how many cases the timers act on at once (default 8): in an
	// outage each waits for its time limit, and the others should not wait for it.
	AtOnce int
	Now    func() time.Time
	Log    zerolog.Logger
}

// NewDesk returns a desk on the stores. Run must run for its timers.
func NewDesk(cases Cases, jobs Jobs, outbox Outbox, o DeskOptions) *Desk {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.AtOnce <= 0 {
		o.AtOnce = 8
	}
	if o.Current == nil {
		routing, policy := o.Routing, o.Policy
		o.Current = func() (Routing, Policy) { return routing, policy }
	}
	return &Desk{
		cases: cases, jobs: jobs, outbox: outbox, o: o,
		wake: make(chan struct{}, 1), loaded: make(chan struct{}),
	}
}

func (d *Desk) routing() Routing {
	r, _ := d.o.Current()
	return r
}

func (d *Desk) policy() Policy {
	_, p := d.o.Current()
	return p
}

// casTries bounds a compare-and-set loop. Each loss means that somebody else
// won, so many losses in a row mean a busy case, not a broken one.
const casTries = 64

// errBusyCase says that a case changed under every try.
var errBusyCase = errors.New("the incident changes too fast, try again")

// Handle opens the incident of a decision or joins the open one. It returns
// once that is durable; the effects of opening have then been tried once, and
// are found again if they failed. It counts nothing on a join: the caller sums
// joined events up and hands them to Tally.
func (d *Desk) Handle(ctx context.Context, dec triggers.Decision) (triggers.Decision, error) {
	if dec.Action != triggers.ActionCapture && dec.Action != triggers.ActionReport {
		return dec, nil
	}
	key := dec.IncidentKey()
	if id, ok := d.known(key, d.o.Now()); ok {
		dec.Action, dec.IncidentID = triggers.ActionJoin, id
		return dec, nil
	}
	for range casTries {
		now := d.o.Now()
		c, rev, err := d.cases.OpenCase(ctx, key)
		switch {
		case err == nil && c.State == Closed:
			// Its time was over; the event belongs to a new incident.
			if err := d.archive(ctx, c, rev); err != nil {
				return dec, fmt.Errorf("close incident %s: %w", c.ID, err)
			}
			continue
		case err == nil:
			joined, err := d.join(ctx, dec, c, rev, now)
			if errors.Is(err, capture.ErrConflict) {
				continue
			}
			return joined, err
		case !errors.Is(err, capture.ErrNotFound):
			return dec, fmt.Errorf("look for the open incident %s: %w", key, err)
		}
		if s, ok := d.o.Silences.Match(ctx, dec, now); ok {
			dec.Action, dec.Reason = triggers.ActionIgnore, triggers.ReasonSilenced
			dec.Sentence = silenceWords(s, now)
			return dec, nil
		}
		opened, err := d.open(ctx, New(dec, d.opening(ctx, dec, now), d.policy()))
		if errors.Is(err, capture.ErrConflict) {
			continue
		}
		if err != nil {
			return dec, fmt.Errorf("open incident %s: %w", key, err)
		}
		dec.IncidentID = opened.ID
		return dec, nil
	}
	return dec, fmt.Errorf("open incident %s: %w", key, errBusyCase)
}

func (d *Desk) join(ctx context.Context, dec triggers.Decision, c Case, rev uint64, now time.Time) (triggers.Decision, error) {
	if touched, changed := c.Touched(now); changed {
		if _, err := d.cases.PutCase(ctx, touched, rev); err != nil {
			return dec, fmt.Errorf("join incident %s: %w", c.ID, err)
		}
	}
	dec.Action, dec.IncidentID = triggers.ActionJoin, c.ID
	return dec, nil
}

// open creates the case, which is the one thing that can happen once, and then
// does what it wants done. Only the creation can fail it.
func (d *Desk) open(ctx context.Context, c Case) (Case, error) {
	rev, err := d.cases.PutCase(ctx, c, 0)
	if err != nil {
		return c, err
	}
	d.o.Log.Info().Str("incident", c.ID).Str("key", c.Key).Str("class", string(c.Class)).
		Str("reason", string(c.Reason)).Str("action", string(c.Action)).Msg("incident opened")
	if err := d.perform(ctx, c, rev); err != nil {
		d.o.Log.Warn().Err(err).Str("incident", c.ID).Msg("effects of the opening wait for a retry")
	}
	return c, nil
}

func (d *Desk) opening(ctx context.Context, dec triggers.Decision, now time.Time) Opening {
	channel, mention := d.routing().For(dec)
	return Opening{
		ID: d.o.NewID(), Channel: channel, Mention: mention,
		Previous: d.previous(ctx, dec.Target.Key()), Now: now,
	}
}

// Tally adds what joined. An incident that closed in between takes its late
// events back by being opened again, unless the key has a newer one: then that
// one counts them, and no event is lost.
func (d *Desk) Tally(ctx context.Context, tallies []triggers.Tally) error {
	errs := make([]error, len(tallies))
	var wg sync.WaitGroup
	free := make(chan struct{}, d.o.AtOnce)
	for i, t := range tallies {
		if t.Count == 0 {
			continue
		}
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			errs[i] = d.tally(ctx, t)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// errPartly says that a tally holds messages that the incident has counted: what
// was known of it was older than the incident.
var errPartly = errors.New("a part of them is counted already")

func (d *Desk) tally(ctx context.Context, t triggers.Tally) error {
	_, err := d.changeOpen(ctx, t.IncidentKey, t.IncidentID, "late events", func(c Case, now time.Time) (Case, error) {
		if !c.Counted.Covers(t.Counted) && c.Counted.Overlaps(t.Counted) {
			d.noteCounted(c) // the messages come again, and are told apart then
			return c, errPartly
		}
		return c.Tallied(t, now), nil
	})
	switch {
	case errors.Is(err, capture.ErrNotFound):
		// Gone with retention: nothing is left to count on, and asking again
		// would stop the events behind it.
		d.o.Log.Warn().Str("incident", t.IncidentID).Int64("events", t.Count).Msg("events of an incident that is not kept")
		return nil
	case err != nil:
		return fmt.Errorf("count %d events on incident %s: %w", t.Count, t.IncidentID, err)
	}
	return nil
}

// changeOpen applies f to the open case of the key, or opens the archived case
// id again when there is none, with compare-and-set. It then does what the
// change wants done; a failure there is not an error, for it is found again.
func (d *Desk) changeOpen(ctx context.Context, key, id, why string, f func(Case, time.Time) (Case, error)) (Case, error) {
	for range casTries {
		now := d.o.Now()
		c, rev, err := d.cases.OpenCase(ctx, key)
		switch {
		case errors.Is(err, capture.ErrNotFound):
			if c, err = d.cases.Case(ctx, id); err != nil {
				return Case{}, err
			}
			rev = 0
		case err != nil:
			return Case{}, err
		}
		before := c
		if c.State == Closed {
			c = c.Reopened(now, why)
		}
		next, err := f(c, now)
		if err != nil {
			return before, err
		}
		newRev, err := d.cases.PutCase(ctx, next, rev)
		if errors.Is(err, capture.ErrConflict) {
			continue
		}
		if err != nil {
			return before, err
		}
		if err := d.perform(ctx, next, newRev); err != nil {
			d.o.Log.Warn().Err(err).Str("incident", next.ID).Msg("effects wait for a retry")
		}
		return next, nil
	}
	return Case{}, errBusyCase
}

// archive finishes a closed case: what it still wants done first, then away.
func (d *Desk) archive(ctx context.Context, c Case, rev uint64) error {
	if len(c.Pending) > 0 {
		return d.perform(ctx, c, rev) // it archives when all is done
	}
	err := d.cases.CloseCase(ctx, c, rev)
	if errors.Is(err, capture.ErrConflict) || errors.Is(err, capture.ErrNotFound) {
		return nil // somebody else has, or it was opened again: the caller looks anew
	}
	return err
}
