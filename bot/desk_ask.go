package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snapflame/snapflame/capture"
)

// Ask starts a capture that a person wants: in the open case of such requests
// for the target, or in a new one. From there on its path is an incident's. The
// error is a *Refusal when the target has one under way, wherever it was
// started: asking twice does not start two.
func (d *Desk) Ask(ctx context.Context, a Asked) (Case, string, error) {
	if err := d.busyElsewhere(ctx, a); err != nil {
		return Case{}, "", err
	}
	a.Duration = orDuration(a.Duration, d.policy().duration())
	key := a.RequestKey()
	for range casTries {
		now := d.o.Now()
		c, rev, err := d.cases.OpenCase(ctx, key)
		switch {
		case err == nil && c.State == Closed:
			if err := d.archive(ctx, c, rev); err != nil {
				return Case{}, "", fmt.Errorf("close %s: %w", c.ID, err)
			}
			continue
		case err == nil:
			next, id, err := c.Again(a, now)
			if err != nil {
				return c, "", err
			}
			newRev, err := d.cases.PutCase(ctx, next, rev)
			if errors.Is(err, capture.ErrConflict) {
				continue
			}
			if err != nil {
				return c, "", fmt.Errorf("ask for a capture in %s: %w", c.ID, err)
			}
			if err := d.perform(ctx, next, newRev); err != nil {
				d.o.Log.Warn().Err(err).Str("incident", next.ID).Msg("effects wait for a retry")
			}
			return next, id, nil
		case !errors.Is(err, capture.ErrNotFound):
			return Case{}, "", fmt.Errorf("look for an open request: %w", err)
		}
		c, err = d.open(ctx, NewRequested(a, Opening{
			ID: d.o.NewID(), Channel: orText(a.Channel, d.routing().Channel), Previous: d.previous(ctx, a.Target.Key()), Now: now,
		}, d.policy()))
		if errors.Is(err, capture.ErrConflict) {
			continue
		}
		if err != nil {
			return Case{}, "", fmt.Errorf("open a request: %w", err)
		}
		return c, c.Captures[0].Record.ID, nil
	}
	return Case{}, "", errBusyCase
}

// busyElsewhere refuses a capture of a target whose newest incident has one
// under way: the queue holds one per target, so this one would only wait.
func (d *Desk) busyElsewhere(ctx context.Context, a Asked) error {
	id := d.previous(ctx, a.Target.Key())
	if id == "" {
		return nil
	}
	c, err := d.cases.Case(ctx, id)
	if err != nil || c.State == Closed {
		return nil //nolint:nilerr // only a courtesy: the queue refuses a second capture anyway
	}
	if v, unfinished := c.Unfinished(); unfinished && v.Record.Target.Key() == a.Target.Key() {
		return &Refusal{
			Reason: RefusedBusy, Capture: v.Record.ID, Incident: c.ID,
			Sentence: "A capture of this target is already under way: " + progressWords(v, d.o.Now()) + ".",
		}
	}
	return nil
}

// Again takes one more capture of an incident, in its own thread; a closed
// incident is opened again. Errors are a *Refusal and capture.ErrNotFound.
func (d *Desk) Again(ctx context.Context, incident string, a Asked) (Case, string, error) {
	return d.decide(ctx, incident, func(c Case, now time.Time) (Case, string, error) { return c.Again(a, now) })
}

// Pick captures the n-th candidate of an incident whose object nobody named.
func (d *Desk) Pick(ctx context.Context, incident string, n int, by string) (Case, string, error) {
	return d.decide(ctx, incident, func(c Case, now time.Time) (Case, string, error) { return c.Pick(n, by, now) })
}

// Note writes a line into an open incident's log; a closed one is left alone.
func (d *Desk) Note(ctx context.Context, incident, reason, text string) error {
	c, err := d.cases.Case(ctx, incident)
	if err != nil {
		return err
	}
	if c.State == Closed {
		return nil
	}
	return d.change(ctx, c, incident, func(c Case, now time.Time) (Case, bool) { return c.Noted(reason, text, now), true })
}

func (d *Desk) decide(ctx context.Context, incident string, f func(Case, time.Time) (Case, string, error)) (Case, string, error) {
	c, err := d.cases.Case(ctx, incident)
	if err != nil {
		return Case{}, "", err
	}
	id := ""
	c, err = d.changeOpen(ctx, c.Key, c.ID, "a capture was asked for in its thread", func(c Case, now time.Time) (Case, error) {
		next, got, err := f(c, now)
		id = got
		return next, err
	})
	return c, id, err
}
