package jet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
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
