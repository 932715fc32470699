package capture

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// hand is one job in one worker's hands.
type hand struct {
	*Runner
	task Task
	job  Job
	rec  Record
	rev  uint64
	// telling is the word that the capture has started, which goes out beside it.
	telling sync.WaitGroup
}

// handle sees one delivery of a job through: to its end, or back to the queue.
// ctx ends when no new capture shall start, work when a running one is dropped.
func (r *Runner) handle(ctx, work context.Context, task Task) {
	if !r.claim(work, task.Job().ID) {
		r.giveBack(task, 2*storeRetry)
		return
	}
	defer r.drop(task.Job().ID)
	defer r.hold(task)()
	h := &hand{Runner: r, task: task, job: task.Job()}
	defer h.telling.Wait()
	rec, rev, err := r.p.Records.Record(work, h.job.ID)
	switch {
	case errors.Is(err, ErrNotFound):
		rec = Record{Job: h.job, State: Queued}
	case err != nil:
		r.o.Problem(fmt.Errorf("read the record of capture %s: %w", h.job.ID, err))
		r.giveBack(task, storeRetry)
		return
	}
	h.rec, h.rev = rec, rev
	switch rec.State {
	case Stored, Failed:
		h.conclude(work)
	case Started:
		h.lost(work)
	default:
		h.begin(ctx, work)
	}
}

// begin is a job that has not been asked for, or whose last attempt has an end.
func (h *hand) begin(ctx, work context.Context) {
	now := h.o.Now()
	switch {
	case ctx.Err() != nil:
		h.giveBack(h.task, 0)
		return
	case h.o.Paused(work):
		h.wait(work, now.Add(pausedWait), WaitPaused)
		return
	case h.job.NotBefore.After(now):
		h.wait(work, h.job.NotBefore, WaitNotBefore)
		return
	case h.rec.NextAt.After(now) && holds(h.rec.WaitFor) && h.rec.NextAt.Sub(now) < 2*maxBlock:
		h.wait(work, h.rec.NextAt, h.rec.WaitFor) // delivered early, after a restart
		return
	}
	// Looking first spares the lookups of a job that must wait anyway.
	if !h.granted(work, true) {
		return
	}
	found, err := h.p.Resolver.Resolve(work, h.job.Target)
	if err == nil && h.job.OnlyVersion {
		found, err = OnlyVersion(found, h.job.Target.VersionID)
	}
	if err != nil || len(found) == 0 {
		h.failed(work, asFailure(err, FailNotFound), len(found))
		return
	}
	if !h.granted(work, false) {
		return
	}
	h.start(ctx, work, found)
}

// holds reports whether a wait is a promise about this capture. The others are
// about the queue, which may have moved on.
func holds(w WaitCause) bool {
	switch w {
	case WaitLostAnswer, WaitRetry, WaitIsolate:
		return true
	default:
		return false
	}
}

// granted asks the budget, and waits or gives up when it says no.
func (h *hand) granted(ctx context.Context, peek bool) bool {
	s, err := h.ask(ctx, h.job, peek)
	if err != nil {
		h.o.Problem(err)
		h.giveBack(h.task, storeRetry)
		return false
	}
	if s.Granted {
		return true
	}
	if s.At.After(h.deadline()) {
		h.fail(ctx, &Failure{Kind: FailBudget, Message: string(s.Wait), Unsent: true})
		return false
	}
	h.noteWait(h.job, s)
	h.wait(ctx, s.At, s.Wait)
	return false
}

// deadline is when the capture is given up. A wrong clock does not bring it forward.
func (h *hand) deadline() time.Time {
	due := later(h.job.QueuedAt, h.job.NotBefore)
	if due.IsZero() {
		due = h.o.Now()
	}
	if h.job.Cause == CauseBaseline {
		return due.Add(baselineWait)
	}
	return due.Add(h.o.MaxWait)
}

// wait writes down what the capture waits for, says so, and gives the job back.
func (h *hand) wait(ctx context.Context, until time.Time, why WaitCause) {
	now := h.o.Now()
	moved := h.rec.NextAt.Sub(until).Abs() > tellAgain
	if why == WaitPaused && h.rec.WaitFor == WaitPaused {
		moved = false // "paused" has no time to tell
	}
	if h.rec.State != Waiting || h.rec.WaitFor != why || moved {
		h.rec.State, h.rec.WaitFor, h.rec.NextAt = Waiting, why, until
		if !h.put(ctx) {
			return
		}
		h.tell(ctx) // an error here is no loss: the next state is told again
	}
	h.giveBack(h.task, until.Sub(now))
}

// put writes the record. When it cannot, the job goes back and the truth is
// found at the next delivery.
func (h *hand) put(ctx context.Context) bool {
	rev, err := h.p.Records.PutRecord(ctx, h.rec, h.rev)
	if err == nil {
		h.rev = rev
		return true
	}
	if !errors.Is(err, ErrConflict) {
		h.o.Problem(fmt.Errorf("write the record of capture %s: %w", h.job.ID, err))
	}
	h.giveBack(h.task, storeRetry)
	return false
}

func (h *hand) tell(ctx context.Context) bool {
	h.telling.Wait()
	err := h.p.Observer.CaptureChanged(ctx, h.rec)
	if err != nil {
		h.o.Problem(fmt.Errorf("tell of capture %s: %w", h.job.ID, err))
	}
	return err == nil
}

// conclude tells of a final record, then lets the job go. Until both have
// happened the job stays in the queue.
func (h *hand) conclude(ctx context.Context) {
	if !h.tell(ctx) {
		h.giveBack(h.task, storeRetry)
		return
	}
	if err := h.task.Done(ctx); err != nil {
		h.o.Problem(fmt.Errorf("end capture %s: %w", h.job.ID, err))
	}
}

// lostGrace is how long after a capture's planned end its process may still
// write down the answer before it is taken for dead.
const lostGrace = 2 * time.Second

// lost is a job whose process died between asking and writing down the answer.
func (h *hand) lost(ctx context.Context) {
	end := h.rec.StartedAt.Add(h.rec.Duration)
	if data, err := h.p.Profiles.Profile(ctx, h.job.ID); err == nil && Sniff(data) == nil {
		h.keep(ctx, data) // it died after storing the bytes
		return
	}
	if left := end.Add(lostGrace).Sub(h.o.Now()); left > 0 && left < 2*MaxDuration {
		h.giveBack(h.task, left) // another process may be alive and busy with it
		return
	}
	h.change(ctx, func(b Budget) Budget { return b.Release(h.o.Now(), h.job, Ran, end) })
	if h.rec.AskedAgain {
		h.fail(ctx, &Failure{Kind: FailLostAnswer})
		return
	}
	h.rec.AskedAgain = true
	h.rec.Notes = append(h.rec.Notes, "snapflame was stopped while this capture ran, at "+h.rec.StartedAt.UTC().Format("15:04:05")+" UTC; it is asked for once more")
	again := end.Add(h.o.Limits().Filled().Spacing)
	h.wait(ctx, later(again, h.o.Now()), WaitLostAnswer)
}

func asFailure(err error, otherwise FailureKind) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		own := *f // lookups that ran together share one
		return &own
	}
	f := &Failure{Kind: otherwise, Unsent: true}
	if err != nil {
		f.Kind, f.Message = FailUnknown, err.Error()
	}
	return f
}
