package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snapflame/snapflame/capture"
)

// CaptureChanged takes in what became of a capture, analysing it first when it
// is stored, so that its report and the news of it are one change. An error
// means: tell me again. Hearing the same again is harmless.
func (d *Desk) CaptureChanged(ctx context.Context, r capture.Record) error {
	if r.IncidentID == "" {
		return nil // a baseline or an export: nobody's thread
	}
	c, err := d.cases.Case(ctx, r.IncidentID)
	if errors.Is(err, capture.ErrNotFound) {
		// Its incident is gone with retention or another data folder. The bytes
		// are stored; asking for ever would block the queue behind it.
		d.o.Log.Warn().Str("capture", r.ID).Str("incident", r.IncidentID).Msg("capture of an incident that is not kept")
		return nil
	}
	if err != nil {
		return fmt.Errorf("find incident %s of capture %s: %w", r.IncidentID, r.ID, err)
	}
	var a *Analysed
	if i := c.view(r.ID); r.State == capture.Stored && (i < 0 || c.Captures[i].Summary == nil) {
		if a, err = d.analyse(ctx, c, r); err != nil {
			return err
		}
	}
	return d.change(ctx, c, r.IncidentID, func(c Case, now time.Time) (Case, bool) {
		return c.CaptureChanged(r, a, d.o.Plan, d.policy(), now)
	})
}

// analyse asks the Analyst. Its failures are counted in the case, where every
// replica sees them, and end in a report that says so.
func (d *Desk) analyse(ctx context.Context, c Case, r capture.Record) (*Analysed, error) {
	if d.o.Analyst == nil {
		return &Analysed{Summary: Summary{Headline: "The profile is stored; this process does not analyse it.", Window: span(r.Duration) + " asked for"}}, nil
	}
	a, err := d.o.Analyst.Analyse(ctx, Study{Record: r, With: c.With(r.ID), Case: c.ID})
	if err == nil {
		return &a, nil
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("analyse capture %s: %w", r.ID, err)
	}
	last := false
	if cerr := d.change(ctx, c, c.ID, func(c Case, now time.Time) (Case, bool) {
		c, _ = c.CaptureChanged(r, nil, nil, d.policy(), now)
		c, last = c.Unread(r.ID)
		return c, true
	}); cerr != nil {
		return nil, errors.Join(fmt.Errorf("analyse capture %s: %w", r.ID, err), cerr)
	}
	if !last {
		return nil, fmt.Errorf("analyse capture %s: %w", r.ID, err)
	}
	d.o.Log.Error().Err(err).Str("capture", r.ID).Msg("capture cannot be analysed")
	return &Analysed{Summary: Summary{
		Verdict:  verdictUnread,
		Headline: "The profile is stored, but reading it failed each time. Download it and open it with go tool pprof.",
		Window:   span(r.Duration) + " asked for, " + number(r.Bytes) + " bytes stored",
	}}, nil
}

// change applies f to one case by its ID, with compare-and-set, opening it
// again if it was closed and f changes it.
func (d *Desk) change(ctx context.Context, known Case, id string, f func(Case, time.Time) (Case, bool)) error {
	for range casTries {
		now := d.o.Now()
		c, rev, err := d.cases.OpenCase(ctx, known.Key)
		switch {
		case err == nil && c.ID == id:
		case err == nil:
			// A newer incident has the key. The old one can only be read; its
			// captures ended before it closed, so this is a late repetition.
			d.o.Log.Warn().Str("incident", id).Str("newer", c.ID).Msg("late news of a closed incident dropped")
			return nil
		case errors.Is(err, capture.ErrNotFound):
			if c, err = d.cases.Case(ctx, id); err != nil {
				return err
			}
			rev = 0
		default:
			return fmt.Errorf("read incident %s: %w", id, err)
		}
		wasClosed := c.State == Closed
		next, changed := f(c, now)
		if !changed {
			return nil // what is still pending has its own retries
		}
		if wasClosed {
			next = next.Reopened(now, "a capture ended after the close")
		}
		newRev, err := d.cases.PutCase(ctx, next, rev)
		if errors.Is(err, capture.ErrConflict) {
			continue
		}
		if err != nil {
			return fmt.Errorf("write incident %s: %w", id, err)
		}
		if err := d.perform(ctx, next, newRev); err != nil {
			d.o.Log.Warn().Err(err).Str("incident", id).Msg("effects wait for a retry")
		}
		return nil
	}
	return fmt.Errorf("change incident %s: %w", id, errBusyCase)
}
