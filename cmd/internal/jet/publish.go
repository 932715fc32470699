package jet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Publish stores one message of the event stream and returns once JetStream has
// acknowledged it. With a msgID a repeated publish within 30 s is stored once,
// and a stall (a leader's death) is waited out; without one, only what surely
// was not stored is tried again. Errors: ErrFull, ErrTooLarge, ErrUnavailable.
func (j *Jet) Publish(ctx context.Context, subject string, data []byte, msgID string) error {
	if !subjectValid(subject) {
		return fmt.Errorf("publish to %q: not a subject", subject)
	}
	if j.health.has(condDisk) {
		return fmt.Errorf("%w: %s", ErrFull, j.health.String())
	}
	if err := j.await(ctx); err != nil {
		return err
	}
	if most := j.MaxEvent(); most > 0 && int64(len(data)) > most {
		return fmt.Errorf("%w: %d bytes, the server takes %d", ErrTooLarge, len(data), most)
	}
	_, err := j.send(ctx, &nats.Msg{Subject: subject, Data: data}, msgID)
	if err != nil {
		return fmt.Errorf("publish to %s: %w", subject, err)
	}
	return nil
}

// MaxEvent is the largest event in bytes that Publish takes; 0 while no server
// has said.
func (j *Jet) MaxEvent() int64 { return max(0, j.nc.MaxPayload()-headerRoom) }

// headerRoom is kept free in the payload limit for our own headers.
const headerRoom = 1024

// send publishes and waits for the acknowledgement, over stalls as long as ctx,
// at most sendBudget. Repeating is safe with a message id.
func (j *Jet) send(ctx context.Context, m *nats.Msg, msgID string, opts ...jetstream.PublishOpt) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, sendBudget)
	defer cancel()
	opts = append(opts, jetstream.WithRetryAttempts(0))
	if msgID != "" {
		opts = append(opts, jetstream.WithMsgID(msgID))
	}
	for wait := 25 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		ack, err := j.try(ctx, m, opts)
		if err == nil {
			return ack.Sequence, nil
		}
		err = typed(err)
		if !errors.Is(err, ErrUnavailable) || ctx.Err() != nil || (msgID == "" && !unsent(err)) {
			return 0, err
		}
		select {
		case <-ctx.Done():
			return 0, err
		case <-j.done:
			return 0, ErrClosed
		case <-time.After(wait):
		}
	}
}

// try is one attempt; a lost answer must not use up the whole budget.
func (j *Jet) try(ctx context.Context, m *nats.Msg, opts []jetstream.PublishOpt) (*jetstream.PubAck, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	return j.js.PublishMsg(ctx, m, opts...) //nolint:wrapcheck // typed by the caller
}

// unsent reports whether the server certainly has not stored the message.
func unsent(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrConnectionReconnecting)
}
