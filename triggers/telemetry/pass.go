package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// term is a poller's time in office: from the progress that it found on.
type term struct {
	p      *Poller
	memory memory
	rev    uint64
}

// pass is one poll: a window, page by page. The order of the pages does not
// matter, and neither does what of them comes twice.
func (t *term) pass(ctx context.Context, now time.Time) (out Pass) {
	out.Reason = ReasonDone
	before := t.memory.until
	out.From, out.To, out.Missed = t.memory.window(now)
	if !out.From.Before(out.To) {
		return out // our clock went back
	}
	fail := func(err error) Pass {
		out.Err = err
		if f, ok := errors.AsType[*Failure](err); ok {
			out.Reason = f.Reason
		} else {
			out.Reason = ReasonUnreachable
		}
		return out
	}
	for offset := ""; ; {
		if err := t.p.calls.Wait(ctx); err != nil {
			return fail(err)
		}
		out.Calls++
		page, err := t.p.api.query(ctx, out.From, out.To, offset)
		if err != nil {
			return fail(err)
		}
		published := out.Published
		err = t.publish(ctx, page.records, before, &out)
		if out.Published > published {
			err = errors.Join(err, t.save(ctx))
		}
		if err != nil {
			return fail(err)
		}
		last := page.last()
		if len(page.records) < pageSize || last == "" || last == offset {
			break
		}
		if out.Calls == maxPages {
			out.Skipped += max(page.total-maxPages*pageSize, 0)
			break
		}
		offset = last
	}
	t.memory.done(out.To)
	if err := t.save(ctx); err != nil {
		return fail(err)
	}
	return out
}

// publish puts what is new of a page into the queue, oldest first as far as the
// page has it newest first, so that an incident opens with its first event.
func (t *term) publish(ctx context.Context, records []record, before time.Time, out *Pass) error {
	for i := len(records) - 1; i >= 0; i-- {
		r := &records[i]
		if r.at.UnixMilli() == 0 { // it does not say
			r.at = out.To
		}
		switch {
		case t.memory.knows(r.id):
			out.Known++
			continue
		case r.at.Before(t.memory.floor): // whether it was published is forgotten
			out.Skipped++
			continue
		}
		switch err := t.p.events.PublishEvent(ctx, r.script, r.data, r.id); {
		case errors.Is(err, ErrTooLarge):
			out.Skipped++
		case err != nil:
			return &Failure{Reason: ReasonQueue, Err: fmt.Errorf("put a record into the events queue: %w", err)}
		default:
			out.Published++
			if r.at.Before(before) {
				out.Late++
			}
		}
		t.memory.add(r.id, r.at)
	}
	return nil
}

// save stores the progress. What was published must be stored even when the
// process is told to stop meanwhile.
func (t *term) save(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	rev, err := t.p.store.Save(ctx, t.memory.progress(), t.rev)
	if err != nil {
		return &Failure{Reason: ReasonProgress, Err: fmt.Errorf("store how far it came: %w", err)}
	}
	t.rev = rev
	return nil
}
