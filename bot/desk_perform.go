package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snapflame/snapflame/capture"
)

// performRounds bounds how often one call goes on with effects that its own
// clearing brought about.
const performRounds = 4

const effectLimit = 5 * time.Second

// perform does what stands in Pending, in order, and clears it by compare-and-set.
// Every effect is idempotent, so that two desks may do the same one; what fails
// stays pending, and its error is returned after the others were tried.
func (d *Desk) perform(ctx context.Context, c Case, rev uint64) error {
	for range performRounds {
		if len(c.Pending) == 0 {
			break
		}
		done, refused, errs := d.handOver(ctx, c)
		next, newRev, err := d.clear(ctx, c, rev, done, refused)
		if errors.Is(err, capture.ErrNotFound) {
			return nil // archived by another, which it is only when nothing is pending
		}
		if err != nil {
			return errors.Join(append(errs, fmt.Errorf("clear what was done: %w", err))...)
		}
		c, rev = next, newRev
		if len(errs) > 0 || len(refused) > 0 {
			return errors.Join(errs...)
		}
	}
	if c.State == Closed && len(c.Pending) == 0 {
		return d.archive(ctx, c, rev)
	}
	return nil
}

// handOver tries each effect once. refused are jobs of busy targets: no error,
// but to be tried again.
func (d *Desk) handOver(ctx context.Context, c Case) (done []Effect, refused []string, errs []error) {
	for _, e := range c.Pending {
		err := d.within(ctx, c, e)
		switch {
		case err == nil:
			done = append(done, e)
		case errors.Is(err, capture.ErrTargetBusy):
			refused = append(refused, e.Job.ID)
		default:
			errs = append(errs, err)
		}
	}
	return done, refused, errs
}

// within bounds one effect: a store that hangs must not hold up the events
// behind this one. What was cut off may have happened, and is done again.
func (d *Desk) within(ctx context.Context, c Case, e Effect) error {
	ctx, cancel := context.WithTimeout(ctx, effectLimit)
	defer cancel()
	return d.do(ctx, c, e)
}

func (d *Desk) do(ctx context.Context, c Case, e Effect) error {
	switch {
	case e.Kind == EffectCapture && e.Job != nil:
		if i := c.view(e.Job.ID); i >= 0 && c.Captures[i].Record.State != capture.Queued {
			return nil // it has been queued: its record has moved since
		}
		if err := d.jobs.Submit(ctx, *e.Job); err != nil {
			return fmt.Errorf("queue capture %s: %w", e.Job.ID, err)
		}
	case e.Kind == EffectPost && e.Post != nil:
		p, ok := d.o.Writer.Post(c, e.Post.Key, d.o.Now())
		if !ok {
			return nil // nothing to say any more
		}
		if err := d.outbox.Put(ctx, p); err != nil {
			return fmt.Errorf("post %s: %w", e.Post.Key, err)
		}
	case e.Kind == EffectLast && d.o.State != nil:
		return d.remember(ctx, c)
	}
	return nil
}

// clear takes what was done out of the case. The first try uses what is in
// hand; after a conflict the case is read again.
func (d *Desk) clear(ctx context.Context, c Case, rev uint64, done []Effect, refused []string) (Case, uint64, error) {
	id, key := c.ID, c.Key
	for range casTries {
		now := d.o.Now()
		next := c
		if len(done) > 0 {
			next = next.Done(done, now)
		}
		for _, job := range refused {
			next = next.Refused(job, now)
		}
		if next.Seq == c.Seq && len(next.Pending) == len(c.Pending) && !refusalChanged(c, next) {
			return c, rev, nil
		}
		newRev, err := d.cases.PutCase(ctx, next, rev)
		if err == nil {
			return next, newRev, nil
		}
		if !errors.Is(err, capture.ErrConflict) {
			return c, rev, err
		}
		if c, rev, err = d.cases.OpenCase(ctx, key); err != nil {
			return c, rev, err
		}
		if c.ID != id {
			return c, rev, capture.ErrNotFound
		}
	}
	return c, rev, errBusyCase
}

func refusalChanged(a, b Case) bool {
	for i := range a.Captures {
		if a.Captures[i].Busy != b.Captures[i].Busy {
			return true
		}
	}
	return false
}
