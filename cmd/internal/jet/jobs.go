package jet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

var (
	_ bot.Jobs      = (*Jobs)(nil)
	_ capture.Queue = (*Jobs)(nil)
	_ capture.Task  = (*task)(nil)
)

// jobTries bounds how often one job is handed out. Later counts as well, so it
// is far beyond any honest wait; it ends a job that kills its process each time.
const jobTries = 5000

// pollSlow is how often work is looked for without a hint: jobs that were put
// off or whose owner died. After a hint the looks come faster, because it can
// be ahead of the store.
const (
	pollSlow = 250 * time.Millisecond
	pollFast = time.Millisecond
)

// Jobs is the queue of captures: one message per target, whatever its urgency,
// the server sees to it. Delivered jobs stay in the queue, and their targets
// busy, until Done.
type Jobs struct {
	j    *Jet
	hint *hint
	turn chan struct{} // one waiter at a time asks the server
	ask  *asker
}

// Jobs is the queue of captures, for bot (Submit) and capture (Next).
func (j *Jet) Jobs() *Jobs { return j.jobs }

func jobTarget(j capture.Job) (string, error) { return encodeKey(j.Target.Key()) }

// Submit implements bot.Jobs.
func (q *Jobs) Submit(ctx context.Context, v capture.Job) error {
	key, err := jobTarget(v)
	if err != nil {
		return fmt.Errorf("queue capture %s: %w", v.ID, err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("queue capture %s: %w", v.ID, err)
	}
	if err := q.j.await(ctx); err != nil {
		return err
	}
	level := min(max(v.Priority, 0), Priorities-1)
	m := &nats.Msg{Subject: jobsSubject + strconv.Itoa(level) + "." + key, Data: data}
	// The stream allows one message per subject, and the subject has the
	// priority in it: the expectation spans all priorities of the target.
	every := jobsSubject + "*." + key
	_, err = q.j.send(ctx, m, v.ID, jetstream.WithExpectLastSequenceForSubject(0, every))
	switch {
	case err == nil:
		q.hint.give()
		return nil
	case errors.Is(err, errPerSubject), errors.Is(err, errWrongLast):
		return q.busy(ctx, v, every)
	}
	return fmt.Errorf("queue capture %s: %w", v.ID, err)
}

// busy tells another job of the target from the same one, submitted again.
func (q *Jobs) busy(ctx context.Context, v capture.Job, subject string) error {
	m, err := q.j.streams.jobs.GetLastMsgForSubject(ctx, subject)
	if err == nil {
		var there capture.Job
		if json.Unmarshal(m.Data, &there) == nil && there.ID == v.ID {
			return nil
		}
	}
	return fmt.Errorf("queue capture %s: %w", v.ID, capture.ErrTargetBusy)
}

// overhear hears of work put anywhere: a JetStream publish is an ordinary
// message as well. Without the permission, work is found by polling.
func (j *Jet) overhear(subject string, h *hint) {
	if _, err := j.nc.Subscribe(subject, func(*nats.Msg) { h.give() }); err != nil {
		j.log.Warn().Err(err).Str("subject", subject).Msg("subscribe")
	}
}

// Next implements capture.Queue. A job that cannot be read goes to the dead
// letters.
func (q *Jobs) Next(ctx context.Context, wait time.Duration) (capture.Task, error) {
	if err := q.j.await(ctx); err != nil {
		return nil, err
	}
	var got *task
	err := q.j.look(ctx, wait, q.hint, q.turn, func() (bool, error) {
		t, err := q.first(ctx)
		got = t
		return t != nil, err
	})
	if got == nil || err != nil {
		return nil, err
	}
	return got, nil
}

// look calls f until it finds something or wait has passed. Waiters take turns.
func (j *Jet) look(ctx context.Context, wait time.Duration, h *hint, turn chan struct{}, f func() (bool, error)) error {
	deadline := time.NewTimer(max(wait, time.Millisecond)) // at least one look
	defer deadline.Stop()
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-deadline.C:
		return nil
	case <-j.done:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err() //nolint:wrapcheck // the caller's own context
	}
	pause := pollSlow
	for {
		woken := h.wait()
		found, err := f()
		if found || (err != nil && !errors.Is(err, ErrUnavailable)) {
			return err
		}
		if err != nil {
			j.log.Debug().Err(err).Msg("look for work")
		}
		poll := time.NewTimer(pause)
		select {
		case <-woken:
			pause = pollFast
		case <-poll.C:
			pause = min(2*pause, pollSlow)
		case <-deadline.C:
			poll.Stop()
			return nil
		case <-j.done:
			poll.Stop()
			return ErrClosed
		case <-ctx.Done():
			poll.Stop()
			return ctx.Err() //nolint:wrapcheck // the caller's own context
		}
		poll.Stop()
	}
}

// first is the most urgent job that is there now.
func (q *Jobs) first(ctx context.Context) (*task, error) {
	for level := range Priorities {
		m, err := q.ask.one(ctx, jobsStream, jobsConsumer(level))
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		md, _ := readMeta(m.Reply)
		t := &task{j: q.j, m: m}
		err = json.Unmarshal(m.Data, &t.job)
		switch {
		case err != nil:
			q.j.buryMsg(ctx, jobsStream, m, md, "not a job: "+err.Error())
		case md.delivered >= jobTries:
			q.j.buryMsg(ctx, jobsStream, m, md, "handed out "+itoa(md.delivered)+" times without an end")
		default:
			return t, nil
		}
	}
	return nil, nil
}

// buryMsg copies a message of a work queue to the dead letters and ends it. If
// the copy fails it stays and comes again.
func (j *Jet) buryMsg(ctx context.Context, stream string, m *nats.Msg, md meta, reason string) {
	err := j.Dead().put(ctx, letter{
		DeadLetter: triggers.DeadLetter{Subject: m.Subject, Sequence: md.sequence, Data: m.Data, Reason: reason, At: time.Now()},
		stream:     stream,
	})
	if err == nil {
		err = j.confirm(ctx, m.Reply, term("moved to the dead letters"))
	}
	if err != nil {
		j.log.Error().Err(err).Str("stream", stream).Uint64("seq", md.sequence).Msg("put a bad message aside")
		return
	}
	j.log.Warn().Str("stream", stream).Uint64("seq", md.sequence).Str("reason", reason).Msg("moved to the dead letters")
}

// task is one job in our hands.
type task struct {
	j     *Jet
	m     *nats.Msg
	job   capture.Job
	ended atomic.Bool
}

// Job implements capture.Task.
func (t *task) Job() capture.Job { return t.job }

// Touch implements capture.Task: another five seconds.
func (t *task) Touch() error {
	if t.ended.Load() {
		return nil
	}
	return t.j.tell(t.m.Reply, []byte(ackProgress))
}

// Later implements capture.Task.
func (t *task) Later(delay time.Duration) error {
	if t.ended.Swap(true) {
		return nil
	}
	return t.j.tell(t.m.Reply, nak(delay))
}

// Done implements capture.Task. With replicas the confirmed acknowledgement is
// a little ahead of the removal; the target is free only after that.
func (t *task) Done(ctx context.Context) error {
	t.ended.Store(true)
	err := t.j.confirm(ctx, t.m.Reply, []byte(ackAck))
	for wait := time.Millisecond; err == nil; wait = min(2*wait, 100*time.Millisecond) {
		var there bool
		if there, err = t.queued(ctx); err != nil || !there {
			break
		}
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-t.j.done:
			err = ErrClosed
		case <-time.After(wait):
		}
	}
	if err != nil {
		return fmt.Errorf("end capture %s: %w", t.job.ID, err)
	}
	return nil
}

// queued reports whether the message still stands in the stream.
func (t *task) queued(ctx context.Context) (bool, error) {
	md, _ := readMeta(t.m.Reply)
	_, err := t.j.streams.jobs.GetMsg(ctx, md.sequence)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return false, nil
	}
	if err = typed(err); errors.Is(err, ErrUnavailable) && ctx.Err() == nil {
		return true, nil // looked at again
	}
	return false, err
}
