package jet

import (
	"context"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
)

// Stats are figures for metrics and the status command.
type Stats struct {
	Events     uint64 // in the stream, handled or not
	EventBytes uint64
	Pending    uint64 // not yet handed to anybody
	InFlight   int    // handed out and not acknowledged, over all replicas
	Redeliver  int    // of those, handed out more than once
	Buffered   int    // pulled ahead in this process
	Handed     uint64 // handed to the listener by this process
	Stalls     uint64 // pull requests that went silent and were replaced
	Jobs       uint64 // queued and running captures
	Outbox     uint64 // posts owed
	Dead       uint64
	DiskFree   int64 // bytes; -1 with an external server
}

// Stats asks the server.
func (j *Jet) Stats(ctx context.Context) (Stats, error) {
	var s Stats
	if err := j.await(ctx); err != nil {
		return s, err
	}
	ev, err := j.info(ctx, j.opts.Stream)
	if err != nil {
		return s, err
	}
	s.Events, s.EventBytes = ev.State.Msgs, ev.State.Bytes
	c, err := j.js.Consumer(ctx, j.opts.Stream, eventsConsumer)
	if err != nil {
		return s, fmt.Errorf("consumer %s: %w", eventsConsumer, typed(err))
	}
	ci := c.CachedInfo()
	s.Pending, s.InFlight, s.Redeliver = ci.NumPending, ci.NumAckPending, ci.NumRedelivered
	s.Buffered, s.Stalls = j.source.pull.counts()
	s.Handed = j.source.handed.Load()
	for _, q := range []struct {
		name string
		to   *uint64
	}{{jobsStream, &s.Jobs}, {outboxStream, &s.Outbox}, {deadStream, &s.Dead}} {
		i, err := j.info(ctx, q.name)
		if err != nil {
			return s, err
		}
		*q.to = i.State.Msgs
	}
	s.DiskFree = -1
	if j.host != nil {
		if free, err := diskFree(j.opts.StoreDir); err == nil {
			s.DiskFree = free
		}
	}
	return s, nil
}

// info asks for a stream. It does not go through a kept handle, as the client's
// handle writes what it learns into itself without a lock.
func (j *Jet) info(ctx context.Context, name string) (*jetstream.StreamInfo, error) {
	st, err := j.js.Stream(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", name, typed(err))
	}
	return st.CachedInfo(), nil
}

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }
