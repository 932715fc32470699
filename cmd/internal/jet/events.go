package jet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// maxTries is how often one event is handed out before it goes to the dead
// letters. It is counted here and not by the server (max_deliver): pulling ahead
// counts as handing out, so that a process that dies again and again soon after
// its start would make the server give up events that nobody has looked at,
// without a word if no pull is waiting. Seen with 33 restarts in a minute.
const maxTries = 100

// layEvents finds the event stream or makes it. A stream that exists is
// checked and never altered.
func (j *Jet) layEvents(ctx context.Context, s *streams, maxBytes int64) error {
	ctx, cancel := context.WithTimeout(ctx, layStep)
	defer cancel()
	name := j.opts.Stream
	st, err := j.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		st, err = j.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Description: "events of Workers", Subjects: j.opts.Subjects,
			Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, Storage: jetstream.FileStorage,
			MaxAge: j.opts.MaxAge, MaxBytes: maxBytes, MaxMsgs: -1, MaxConsumers: -1, MaxMsgsPerSubject: -1,
			Duplicates: dedupWindow, Replicas: j.opts.Replicas, Metadata: map[string]string{managedKey: "1"},
		})
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			st, err = j.js.Stream(ctx, name)
		}
	}
	if err != nil {
		var api *jetstream.APIError
		if errors.As(err, &api) && api.ErrorCode == codeSubjectOverlap {
			return j.overlap(ctx, err)
		}
		return j.layErr(name, err)
	}
	c := st.CachedInfo().Config
	if err := j.usable(c); err != nil {
		return err
	}
	s.events, s.managed, s.eventsMaxBytes = st, c.Metadata[managedKey] == "1", c.MaxBytes
	s.subjects = overlaps(j.opts.Subjects, c.Subjects)
	return nil
}

// overlap names the stream that has our subjects already.
func (j *Jet) overlap(ctx context.Context, err error) error {
	for _, subj := range j.opts.Subjects {
		if other, e := j.js.StreamNameBySubject(ctx, subj); e == nil {
			return fmt.Errorf("%w: stream %s cannot be made: stream %s has the subject %s already: set nats.stream to %s, or choose other nats.subjects",
				ErrUnusable, j.opts.Stream, other, subj, other)
		}
	}
	return fmt.Errorf("%w: stream %s cannot be made: another stream has one of the subjects %s: set nats.stream to that stream, or choose other nats.subjects: %w",
		ErrUnusable, j.opts.Stream, strings.Join(j.opts.Subjects, ", "), err)
}

// usable reports what keeps an existing stream from being the event stream.
func (j *Jet) usable(c jetstream.StreamConfig) error {
	bad := func(why string) error {
		return fmt.Errorf("%w: stream %s exists and %s; it is not altered: set nats.stream to another name, or edit it with the nats tool", ErrUnusable, c.Name, why)
	}
	switch {
	case c.Sealed:
		return bad("is sealed, so nothing can be published to it")
	case c.Mirror != nil:
		return bad("is a mirror of " + c.Mirror.Name + ", so nothing can be published to it")
	case c.NoAck:
		return bad("does not acknowledge (no_ack), so an event could be lost unseen")
	}
	if len(overlaps(j.opts.Subjects, c.Subjects)) == 0 {
		return bad("listens on " + strings.Join(c.Subjects, ", ") + ", which has nothing of nats.subjects " + strings.Join(j.opts.Subjects, ", "))
	}
	return nil
}

func (j *Jet) eventsConsumerConfig(s *streams) jetstream.ConsumerConfig {
	c := jetstream.ConsumerConfig{
		Durable: eventsConsumer, MaxAckPending: maxPending, MaxDeliver: -1,
		DeliverPolicy: jetstream.DeliverAllPolicy,
	}
	if !slices.Equal(s.events.CachedInfo().Config.Subjects, s.subjects) {
		c.FilterSubjects = s.subjects
	}
	return c
}

// trim keeps room in an event stream of our own: handled events beyond
// KeepHandled go, so that the stream is only ever full of work not done.
// Without it a limits stream that refuses when full would refuse for good.
func (j *Jet) trim(ctx context.Context) {
	if !j.streams.managed || j.streams.eventsMaxBytes <= 0 {
		return
	}
	keep := j.opts.KeepHandled
	if keep <= 0 {
		keep = j.streams.eventsMaxBytes / 4
	}
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if err := j.trimOnce(ctx, keep); err != nil && ctx.Err() == nil {
			j.log.Debug().Err(err).Msg("trim the event stream")
		}
	}
}

func (j *Jet) trimOnce(ctx context.Context, keep int64) error {
	info, err := j.info(ctx, j.opts.Stream)
	if err != nil {
		return err
	}
	if info.State.Bytes <= uint64(max(keep, 0)) {
		j.fullness(info)
		return nil
	}
	floor, err := j.ackFloor(ctx)
	if err != nil {
		return err
	}
	if floor >= info.State.FirstSeq {
		// Half of what may stay, by count: sizes of single events are not known.
		span := info.State.LastSeq - info.State.FirstSeq + 1
		back := uint64(float64(span) * float64(keep) / 2 / float64(info.State.Bytes))
		upTo := min(floor, info.State.LastSeq-min(back, info.State.LastSeq))
		if upTo >= info.State.FirstSeq {
			if err := j.streams.events.Purge(ctx, jetstream.WithPurgeSequence(upTo+1)); err != nil {
				return typed(err)
			}
		}
	}
	j.fullness(info)
	return nil
}

// ackFloor is the newest event up to which all are acknowledged, by every
// consumer of the stream: others may read it as well.
func (j *Jet) ackFloor(ctx context.Context) (uint64, error) {
	floor, found := uint64(0), false
	l := j.streams.events.ListConsumers(ctx)
	for c := range l.Info() {
		if c.Config.AckPolicy == jetstream.AckNonePolicy && c.Config.Durable == "" {
			continue // somebody looking in
		}
		if !found || c.AckFloor.Stream < floor {
			floor, found = c.AckFloor.Stream, true
		}
	}
	return floor, typed(l.Err())
}

// fullness tells Health before senders are refused.
func (j *Jet) fullness(info *jetstream.StreamInfo) {
	if m := info.Config.MaxBytes; m > 0 && info.State.Bytes > uint64(m)/100*95 {
		j.health.set(condFull, fmt.Sprintf("stream %s is full (%d of %d bytes): events are refused until they are handled", info.Config.Name, info.State.Bytes, m))
		return
	}
	j.health.clear(condFull)
}
