package jet

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/snapflame/snapflame/triggers"
)

// advisoryPrefix is where the server says that it gave a message up. Our own
// consumers never make it do so; one that an operator has changed may.
const advisoryPrefix = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES."

// hearAdvisories puts given-up messages among the dead letters. The replicas
// share the work.
func (j *Jet) hearAdvisories(ctx context.Context) {
	ch := make(chan *nats.Msg, 256)
	for _, stream := range []string{j.opts.Stream, jobsStream, outboxStream} {
		sub, err := j.nc.ChanQueueSubscribe(advisoryPrefix+stream+".*", "snapflame", ch)
		if err != nil {
			j.log.Warn().Err(err).Str("stream", stream).Msg("subscribe to advisories")
			continue
		}
		defer func() { _ = sub.Unsubscribe() }()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-ch:
			var a struct {
				Stream     string `json:"stream"`
				Consumer   string `json:"consumer"`
				Seq        uint64 `json:"stream_seq"`
				Deliveries uint64 `json:"deliveries"`
			}
			if json.Unmarshal(m.Data, &a) != nil || !j.ourConsumer(a.Consumer) {
				continue
			}
			if err := j.rescue(ctx, a.Stream, a.Seq, a.Deliveries); err != nil {
				j.log.Error().Err(err).Str("stream", a.Stream).Uint64("seq", a.Seq).Msg("rescue a message that the server gave up")
			}
		}
	}
}

func (j *Jet) ourConsumer(name string) bool {
	if name == eventsConsumer || name == outboxConsumer {
		return true
	}
	for p := range Priorities {
		if name == jobsConsumer(p) {
			return true
		}
	}
	return false
}

// rescue copies the message and, in a work queue, removes it: there it would
// block its subject for ever.
func (j *Jet) rescue(ctx context.Context, stream string, seq, deliveries uint64) error {
	st := j.streams.events
	switch stream {
	case jobsStream:
		st = j.streams.jobs
	case outboxStream:
		st = j.streams.outbox
	}
	m, err := st.GetMsg(ctx, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return typed(err)
	}
	err = j.Dead().put(ctx, letter{
		DeadLetter: triggers.DeadLetter{
			Subject: m.Subject, Sequence: seq, Data: m.Data, At: time.Now(),
			Reason: "given up by the server after " + strconv.FormatUint(deliveries, 10) + " deliveries",
		},
		stream: stream,
	})
	if err != nil || stream == j.opts.Stream {
		return err
	}
	return typed(st.DeleteMsg(ctx, seq))
}
