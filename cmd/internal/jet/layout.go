package jet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Names on the server.
const (
	jobsStream     = "SNAPFLAME_JOBS"
	outboxStream   = "SNAPFLAME_OUTBOX"
	deadStream     = "SNAPFLAME_DEAD"
	eventsConsumer = "triggers"
	outboxConsumer = "sender"
	jobsSubject    = "snapflame.jobs."
	outboxSubject  = "snapflame.outbox."
	deadSubject    = "snapflame.dead."

	incidentsBucket = "snapflame_incidents"
	recordsBucket   = "snapflame_records"
	stateBucket     = "snapflame_state"
	objectsBucket   = "snapflame_captures"

	// managedKey marks, in a stream's metadata, that we made it and may trim it.
	managedKey = "snapflame.managed"
)

// Priorities is how many levels of urgency the job queue has: 0 to 4. A job
// with a higher number waits with the last.
const Priorities = 5

// Shares of Options.MaxBytes in percent. Every stream has a bound of its own, as
// the server's quota would stop all of them at once.
const (
	eventsShare    = 50
	objectsShare   = 30
	incidentsShare = 8
	recordsShare   = 4
	stateShare     = 4
	outboxShare    = 2
	jobsShare      = 1
	deadShare      = 1
)

const (
	defaultMaxBytes = 10 << 30
	minMaxBytes     = 64 << 20
	deadMaxAge      = 30 * 24 * time.Hour
	maxPending      = 20_000  // events handed out and not acknowledged, over all replicas
	queuePending    = 100_000 // jobs or posts: those put off with Later count as well
	// layStep bounds one step of the layout: a cluster that has no leader yet drops
	// requests without an answer, and they are made again.
	layStep = 10 * time.Second
	// markerTTL is how long a deletion stays visible to watchers.
	markerTTL = time.Minute
)

// streams are the handles of what layout has found or made.
type streams struct {
	managed                    bool // we made the event stream
	events, jobs, outbox, dead jetstream.Stream
	incidents, records, state  *bucket
	objects                    jetstream.ObjectStore
	eventsMaxBytes             int64
	subjects                   []string // of the event stream, as far as nats.subjects goes
}

// layout finds or makes everything. It can be repeated.
func (j *Jet) layout(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if j.host == nil && !j.nc.IsConnected() {
		return fmt.Errorf("%w: not connected to NATS at %s%s", ErrUnavailable, j.where, because(j.nc.LastError()))
	}
	total := j.totalBytes()
	var s streams
	if err := j.layEvents(ctx, &s, total/100*eventsShare); err != nil {
		return err
	}
	var err error
	if s.jobs, err = j.ours(ctx, jetstream.StreamConfig{
		Name: jobsStream, Description: "captures to do, one per target",
		Subjects: []string{jobsSubject + "*.>"}, Retention: jetstream.WorkQueuePolicy,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
		Duplicates: time.Hour, MaxBytes: total / 100 * jobsShare,
	}); err != nil {
		return err
	}
	if s.outbox, err = j.ours(ctx, jetstream.StreamConfig{
		Name: outboxStream, Description: "Slack messages to send, the latest per key",
		Subjects: []string{outboxSubject + ">"}, Retention: jetstream.WorkQueuePolicy,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardOld,
		Duplicates: dedupWindow, MaxBytes: total / 100 * outboxShare,
	}); err != nil {
		return err
	}
	if s.dead, err = j.ours(ctx, jetstream.StreamConfig{
		Name: deadStream, Description: "what could not be read or done, with its reason",
		Subjects: []string{deadSubject + ">"}, Retention: jetstream.LimitsPolicy,
		Discard: jetstream.DiscardOld, MaxAge: deadMaxAge, Duplicates: 2 * time.Minute, MaxBytes: total / 100 * deadShare,
	}); err != nil {
		return err
	}
	for _, b := range []struct {
		to    **bucket
		name  string
		share int64
	}{{&s.incidents, incidentsBucket, incidentsShare}, {&s.records, recordsBucket, recordsShare}, {&s.state, stateBucket, stateShare}} {
		if *b.to, err = j.layBucket(ctx, b.name, total/100*b.share); err != nil {
			return err
		}
	}
	if err := j.layObjects(ctx, &s, total/100*objectsShare); err != nil {
		return err
	}
	if err := j.layConsumers(ctx, &s); err != nil {
		return err
	}
	// Before anybody looks at the cases.
	if err := j.sweepCases(ctx, s.incidents); err != nil {
		return err
	}
	j.streams = s
	return nil
}

// ours finds or makes a stream that belongs to us. An existing one keeps its
// size; what its meaning rests on must agree, and replicas follow the options.
func (j *Jet) ours(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, layStep)
	defer cancel()
	c.Replicas = j.opts.Replicas
	c.Storage = jetstream.FileStorage
	c.MaxMsgs, c.MaxConsumers = -1, -1
	if c.MaxMsgsPerSubject == 0 {
		c.MaxMsgsPerSubject = -1
	}
	c.Metadata = map[string]string{managedKey: "1"}
	st, err := j.js.Stream(ctx, c.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		st, err = j.js.CreateStream(ctx, c)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another replica was faster
			st, err = j.js.Stream(ctx, c.Name)
		}
	}
	if err != nil {
		return nil, j.layErr(c.Name, err)
	}
	have := st.CachedInfo().Config
	for _, d := range []struct {
		what      string
		got, want any
	}{
		{"retention", have.Retention, c.Retention},
		{"discard", have.Discard, c.Discard},
		{"max_msgs_per_subject", have.MaxMsgsPerSubject, c.MaxMsgsPerSubject},
		{"discard_new_per_subject", have.DiscardNewPerSubject, c.DiscardNewPerSubject},
		{"allow_msg_ttl", have.AllowMsgTTL, c.AllowMsgTTL},
	} {
		if d.got != d.want {
			return nil, fmt.Errorf("%w: stream %s exists with %s %v, and must have %v: rename or remove it, or put it right with `nats stream edit`",
				ErrUnusable, c.Name, d.what, d.got, d.want)
		}
	}
	if have.Replicas != c.Replicas {
		have.Replicas = c.Replicas
		if st, err = j.js.UpdateStream(ctx, have); err != nil {
			return nil, j.layErr(c.Name, fmt.Errorf("set nats.replicas %d: %w", c.Replicas, err))
		}
	}
	return st, nil
}

// layErr says what a failed creation needs.
func (j *Jet) layErr(name string, err error) error {
	err = typed(err)
	var api *jetstream.APIError
	switch {
	case errors.Is(err, ErrUnavailable) && !errors.As(err, &api):
		return fmt.Errorf("stream %s: %w: is JetStream enabled at %s, for this account, with the permission $JS.API.>?", name, err, j.where)
	case errors.Is(err, ErrFull):
		return fmt.Errorf("%w: stream %s: %w: raise the account's storage limit or lower nats.max_bytes", ErrUnusable, name, err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("%w: %w at %s: enable it for the server and the account", ErrUnusable, err, j.where)
	}
	return fmt.Errorf("stream %s: %w", name, err)
}

// layBucket makes a key-value bucket as a stream, because the client's own
// constructor cannot switch off direct reads, which may be stale on replicas.
func (j *Jet) layBucket(ctx context.Context, name string, maxBytes int64) (*bucket, error) {
	st, err := j.ours(ctx, jetstream.StreamConfig{
		Name: "KV_" + name, Subjects: []string{"$KV." + name + ".>"},
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, AllowRollup: true, DenyDelete: true,
		AllowDirect: j.opts.Replicas == 1, AllowMsgTTL: true, SubjectDeleteMarkerTTL: time.Second,
		Duplicates: dedupWindow, MaxBytes: maxBytes,
	})
	if err != nil {
		return nil, err
	}
	kv, err := j.js.KeyValue(ctx, name)
	if err != nil {
		return nil, j.layErr("KV_"+name, err)
	}
	return &bucket{j: j, name: name, stream: st, kv: kv, prefix: "$KV." + name + "."}, nil
}

// layObjects makes the file store as a stream, for the same reason as a bucket.
func (j *Jet) layObjects(ctx context.Context, s *streams, maxBytes int64) error {
	_, err := j.ours(ctx, jetstream.StreamConfig{
		Name: "OBJ_" + objectsBucket, Description: "profiles and pictures",
		Subjects: []string{"$O." + objectsBucket + ".C.>", "$O." + objectsBucket + ".M.>"},
		Discard:  jetstream.DiscardNew, AllowRollup: true, AllowDirect: j.opts.Replicas == 1, MaxBytes: maxBytes,
	})
	if err != nil {
		return err
	}
	if s.objects, err = j.js.ObjectStore(ctx, objectsBucket); err != nil {
		return j.layErr("OBJ_"+objectsBucket, err)
	}
	return nil
}

func (j *Jet) layConsumers(ctx context.Context, s *streams) error {
	type want struct {
		st  jetstream.Stream
		cfg jetstream.ConsumerConfig
	}
	list := []want{
		{s.events, j.eventsConsumerConfig(s)},
		{s.outbox, jetstream.ConsumerConfig{Durable: outboxConsumer, MaxAckPending: queuePending}},
	}
	for p := range Priorities {
		list = append(list, want{s.jobs, jetstream.ConsumerConfig{
			Durable: jobsConsumer(p), FilterSubject: jobsSubject + strconv.Itoa(p) + ".>", MaxAckPending: queuePending,
		}})
	}
	for _, w := range list {
		w.cfg.AckPolicy = jetstream.AckExplicitPolicy
		w.cfg.AckWait = ackWait
		if err := j.layConsumer(ctx, w.st, w.cfg); err != nil {
			name := w.st.CachedInfo().Config.Name
			if err = typed(err); errors.Is(err, ErrUnavailable) {
				return fmt.Errorf("consumer %s of stream %s: %w", w.cfg.Durable, name, err)
			}
			return fmt.Errorf("%w: consumer %s of stream %s: %w: remove that consumer, or the one it collides with", ErrUnusable, w.cfg.Durable, name, err)
		}
	}
	return nil
}

func (j *Jet) layConsumer(ctx context.Context, st jetstream.Stream, c jetstream.ConsumerConfig) error {
	ctx, cancel := context.WithTimeout(ctx, layStep)
	defer cancel()
	_, err := st.CreateOrUpdateConsumer(ctx, c)
	return err //nolint:wrapcheck // named by the caller
}

func jobsConsumer(priority int) string { return "captures-" + strconv.Itoa(priority) }
