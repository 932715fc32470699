package jet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
)

// sweepEvery is how often leftovers are looked for after the start.
const sweepEvery = time.Minute

// sweep removes leftovers from the work queues until ctx ends.
//
// A server that is killed may keep an acknowledgement and forget the removal
// that came with it: the message is back after the restart, and below its
// consumer's acknowledgement floor, so that nobody ever gets it again. In the
// job queue it would refuse every later capture of its target.
func (j *Jet) sweep(ctx context.Context) {
	for {
		if err := j.sweepOnce(ctx); err != nil && ctx.Err() == nil {
			j.log.Debug().Err(err).Msg("look for leftovers again later")
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(sweepEvery):
		}
	}
}

func (j *Jet) sweepOnce(ctx context.Context) error {
	errs := []error{j.sweepQueue(ctx, j.streams.outbox, outboxConsumer, outboxSubject+">")}
	for p := range Priorities {
		errs = append(errs, j.sweepQueue(ctx, j.streams.jobs, jobsConsumer(p), jobsSubject+strconv.Itoa(p)+".>"))
	}
	return errors.Join(errs...)
}

// sweepQueue removes what a consumer has acknowledged and the stream still has.
func (j *Jet) sweepQueue(ctx context.Context, st jetstream.Stream, consumer, subject string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	name := st.CachedInfo().Config.Name
	info, err := j.info(ctx, name)
	if err != nil || info.State.Msgs == 0 {
		return err
	}
	c, err := st.Consumer(ctx, consumer)
	if err != nil {
		return fmt.Errorf("consumer %s of stream %s: %w", consumer, name, typed(err))
	}
	// The floor only rises: what is below it now was handled.
	floor := c.CachedInfo().AckFloor.Stream
	n := 0
	for seq := info.State.FirstSeq; seq <= floor; seq++ {
		m, err := st.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && m.Sequence > floor {
			break
		}
		if err != nil {
			return fmt.Errorf("look for leftovers in stream %s: %w", name, typed(err))
		}
		seq = m.Sequence
		if err := st.DeleteMsg(ctx, seq); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return fmt.Errorf("remove message %d of stream %s: %w", seq, name, typed(err))
		}
		n++
	}
	if n > 0 {
		j.log.Info().Str("stream", name).Str("consumer", consumer).Int("messages", n).Msg("removed messages that were handled before a crash")
	}
	return nil
}

// sweepCases removes open cases that a crash has brought back: the archive has
// them with a close that is younger than the last thing that the open one knows
// of. Alive, an old revision would be closed once more and overwrite the
// archived one. A case that was opened again is younger than its archive.
func (j *Jet) sweepCases(ctx context.Context, b *bucket) error {
	keys, err := b.keys(ctx, openPrefix+">")
	if err != nil {
		return err
	}
	var errs []error
	for _, k := range keys {
		var open, closed bot.Case
		rev, err := b.getJSON(ctx, k, &open)
		if errors.Is(err, capture.ErrNotFound) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		archived, err := closedKey(open.ID)
		if err != nil {
			continue // nothing of ours has such an ID
		}
		if _, err := b.getJSON(ctx, archived, &closed); err != nil {
			if !errors.Is(err, capture.ErrNotFound) {
				errs = append(errs, err)
			}
			continue
		}
		if open.State == bot.Closed || !closed.ClosedAt.After(open.ActiveAt) {
			continue
		}
		if err := b.remove(ctx, k, rev); err != nil && !errors.Is(err, capture.ErrConflict) {
			errs = append(errs, err)
			continue
		}
		j.log.Info().Str("incident", open.ID).Msg("removed an open incident that was closed before a crash")
	}
	return errors.Join(errs...)
}
