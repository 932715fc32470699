package capture

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// start writes that the API is about to be asked, asks it, and deals with the
// answer. A place in the budget is held.
func (h *hand) start(ctx, work context.Context, found []Resolution) {
	if ctx.Err() != nil {
		h.release(work, Unsent)
		h.giveBack(h.task, 0)
		return
	}
	now := h.o.Now()
	c := found[h.rec.Tried%len(found)]
	if h.rec.FirstTryAt.IsZero() {
		h.rec.FirstTryAt = now
	}
	h.rec.State, h.rec.StartedAt, h.rec.Attempts = Started, now, h.rec.Attempts+1
	h.rec.WaitFor, h.rec.NextAt, h.rec.Failure = "", time.Time{}, nil
	h.rec.Resolved, h.rec.VersionSource, h.rec.Split = c.Target, c.VersionSource, c.Split
	if h.job.RequestedBy != "" && h.job.Target.VersionID != "" && c.VersionSource == "event" {
		h.rec.VersionSource = "requested"
	}
	h.rec.Notes = withNotes(h.rec.Notes, c.Notes...)
	if late := now.Sub(h.job.FailureAt); h.job.replaced() && late > 0 {
		which := replacement
		if h.job.Target.Kind == Worker {
			which = another
		}
		h.rec.Notes = withNotes(dropReplacement(h.rec.Notes), fmt.Sprintf("%s%d s after the failure", which, int(late.Round(time.Second).Seconds())))
	}
	rev, err := h.p.Records.PutRecord(work, h.rec, h.rev)
	if err != nil {
		// On a conflict somebody else has the job, and with it this place.
		if !errors.Is(err, ErrConflict) {
			h.release(work, Unsent)
			h.o.Problem(fmt.Errorf("write the record of capture %s: %w", h.job.ID, err))
		}
		h.giveBack(h.task, storeRetry)
		return
	}
	h.rev = rev
	started := h.rec
	h.telling.Go(func() { h.p.tellStarted(work, started, h.o.Problem) })
	data, err := h.p.API.Profile(work, Request{Target: c.Target, Type: h.job.Type, Duration: h.job.Duration})
	if work.Err() != nil { // dropped: the record says that it was asked for
		h.giveBack(h.task, h.rec.StartedAt.Add(h.rec.Duration).Add(h.o.Limits().Filled().Spacing).Sub(h.o.Now()))
		return
	}
	if err != nil {
		h.failed(work, asFailure(err, FailUnknown), len(found))
		return
	}
	if f := h.check(data); f != nil {
		h.failed(work, f, len(found))
		return
	}
	h.answered(work)
	if h.p.Rewrite != nil {
		less, err := h.p.Rewrite(data)
		if err != nil {
			h.fail(work, &Failure{Kind: FailNotProfile, Message: short(err.Error())})
			return
		}
		data = less
	}
	h.keep(work, data)
}

// replaced reports whether the isolate that failed cannot be the one captured.
func (j Job) replaced() bool {
	memory := j.Trouble == ExceededMemory || j.Trouble == NoTrouble && j.Cause == CauseIncident && j.Type == Heap
	return memory && !j.FailureAt.IsZero()
}

// An object has one isolate, so what runs after the failure replaces what
// failed. A stateless Worker has many, and any one that still lives is taken.
const (
	replacement = "replacement isolate, "
	another     = "an isolate of the Worker, not the one that failed, "
)

func withNotes(notes []string, more ...string) []string {
	out := append([]string(nil), notes...)
	for _, m := range more {
		dup := false
		for _, n := range out {
			dup = dup || n == m
		}
		if !dup {
			out = append(out, m)
		}
	}
	return out
}

// dropReplacement removes the note of an earlier attempt.
func dropReplacement(notes []string) []string {
	var out []string
	for _, n := range notes {
		if !strings.HasPrefix(n, replacement) && !strings.HasPrefix(n, another) {
			out = append(out, n)
		}
	}
	return out
}

func (h *hand) check(data []byte) *Failure {
	if f := Sniff(data); f != nil {
		return f
	}
	if err := h.p.Check(h.job.Type, data); err != nil {
		f := asFailure(err, FailNotProfile)
		f.Kind, f.Unsent, f.Message = FailNotProfile, false, short(f.Message)
		return f
	}
	return nil
}

// short bounds a text that may quote what came.
func short(s string) string {
	const most = 300
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func (h *hand) release(ctx context.Context, how Ending) {
	h.change(ctx, func(b Budget) Budget { return b.Release(h.o.Now(), h.job, how, h.o.Now()) })
}

func (h *hand) answered(ctx context.Context) {
	h.change(ctx, func(b Budget) Budget {
		now := h.o.Now()
		return b.Answered().Release(now, h.job, Ran, now)
	})
}

// failed settles an attempt that gave no profile: again later, or never.
func (h *hand) failed(ctx context.Context, f *Failure, candidates int) {
	now, l := h.o.Now(), h.o.Limits()
	asked := h.rec.State == Started
	if !asked {
		f.Unsent = true
		if h.rec.FirstTryAt.IsZero() {
			h.rec.FirstTryAt = now
		}
	}
	retry, again := h.rec.Retry(f, now, l, candidates)
	again = again && !retry.At.After(h.deadline())
	at := retry.At
	h.change(ctx, func(b Budget) Budget {
		if asked {
			b = b.Release(now, h.job, ending(f), now)
		}
		switch {
		case f.Kind == FailRateLimited:
			return b.Answered().Block(now, retry.At, WaitRateLimit)
		case f.Outage():
			b = b.Strike(now)
			at = later(retry.At, b.BlockedUntil)
			return b
		case f.Unsent && (f.Kind == FailTimeout || f.Kind == FailUnknown):
			return b
		}
		return b.Answered()
	})
	if retry.Forget || f.Kind == FailNotFound {
		h.p.Resolver.Forget(h.job.Target)
		if h.rec.Resolved.Script != h.job.Target.Script {
			h.p.Resolver.Forget(h.rec.Resolved)
		}
	}
	if !again {
		h.fail(ctx, f)
		return
	}
	if asked && h.rec.unsure(f, now) {
		h.rec.Unsure++
	}
	if retry.Next {
		h.rec.Tried++
	}
	if retry.Cause != WaitIsolate {
		h.rec.FirstTryAt = time.Time{} // the minute for the isolate begins anew
	}
	h.rec.Failure = f
	h.rec.State = Queued // so that wait tells, even of an unchanged cause
	h.wait(ctx, at, retry.Cause)
}

func ending(f *Failure) Ending {
	switch {
	case f.MayHaveRun():
		return Ran
	case f.Unsent:
		return Unsent
	default:
		return Refused
	}
}

// fail ends the capture without a profile.
func (h *hand) fail(ctx context.Context, f *Failure) {
	h.rec.State, h.rec.Failure, h.rec.EndedAt = Failed, f, h.o.Now()
	h.rec.WaitFor, h.rec.NextAt = "", time.Time{}
	if h.put(ctx) {
		h.conclude(ctx)
	}
}

// keep stores the bytes, then the record that says so. Should another process
// have had the same job meanwhile, what it stored first stands.
func (h *hand) keep(ctx context.Context, data []byte) {
	if cur, rev, err := h.p.Records.Record(ctx, h.job.ID); err == nil && rev != h.rev {
		h.rec, h.rev = cur, rev
		if cur.Final() {
			h.conclude(ctx)
			return
		}
		if cur.WaitFor == WaitLostAnswer { // it was believed dead, and is not
			h.rec.AskedAgain, h.rec.Notes = false, cur.Notes[:max(0, len(cur.Notes)-1)]
		}
	}
	sum := sha256.Sum256(data)
	stored := func() {
		h.rec.State, h.rec.Failure, h.rec.EndedAt = Stored, nil, h.o.Now()
		h.rec.WaitFor, h.rec.NextAt = "", time.Time{}
		h.rec.Bytes, h.rec.SHA256 = int64(len(data)), hex.EncodeToString(sum[:])
	}
	for try := 0; ; try++ {
		err := h.p.Profiles.PutProfile(ctx, h.job.ID, data)
		if err == nil {
			stored()
			var rev uint64
			if rev, err = h.p.Records.PutRecord(ctx, h.rec, h.rev); err == nil {
				h.rev = rev
				h.conclude(ctx)
				return
			}
		}
		if errors.Is(err, ErrConflict) {
			// The bytes under this id are ours now, so the record must be too.
			if cur, rev, rerr := h.p.Records.Record(ctx, h.job.ID); rerr == nil {
				h.rec, h.rev = cur, rev
				continue
			}
		}
		h.o.Problem(fmt.Errorf("store capture %s: %w", h.job.ID, err))
		if try >= storeTries || ctx.Err() != nil {
			// The record still says started: the next delivery finds the bytes,
			// or asks once more.
			h.giveBack(h.task, storeRetry)
			return
		}
		pause(ctx, storeRetry)
	}
}

// tellStarted runs beside the call: a slow observer must not delay a capture of
// an isolate that may be gone in a moment.
func (p Parts) tellStarted(ctx context.Context, r Record, problem func(error)) {
	if err := p.Observer.CaptureChanged(ctx, r); err != nil {
		problem(fmt.Errorf("tell of capture %s: %w", r.ID, err))
	}
}
