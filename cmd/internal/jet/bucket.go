package jet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/snapflame/snapflame/capture"
)

// Headers of a key-value bucket (NATS ADR-8) and of its expired keys (ADR-43).
const (
	opHeader     = "KV-Operation"
	opPurge      = "PURGE"
	markerHeader = "Nats-Marker-Reason"
)

// bucket is a key-value bucket, written with compare-and-set only. It goes
// beneath the client's KeyValue for three reasons: Update drops a key's time to
// live, a repeated write after a lost answer must not look like a conflict, and
// creating over the mark of a deletion must be one step.
type bucket struct {
	j      *Jet
	name   string
	prefix string
	stream jetstream.Stream
	kv     jetstream.KeyValue
}

// get returns value and revision; capture.ErrNotFound when there is none, with
// the revision of the deletion, if one is still visible.
func (b *bucket) get(ctx context.Context, key string) ([]byte, uint64, error) {
	for wait := 25 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		m, err := b.stream.GetLastMsgForSubject(ctx, b.prefix+key)
		switch {
		case err == nil && deleted(m.Header):
			return nil, m.Sequence, capture.ErrNotFound
		case err == nil:
			return m.Data, m.Sequence, nil
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return nil, 0, capture.ErrNotFound
		}
		err = typed(err)
		if !errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
			return nil, 0, fmt.Errorf("read %s of %s: %w", decodeKey(key), b.name, err)
		}
		select {
		case <-ctx.Done():
			return nil, 0, fmt.Errorf("read %s of %s: %w", decodeKey(key), b.name, err)
		case <-b.j.done:
			return nil, 0, ErrClosed
		case <-time.After(wait):
		}
	}
}

func deleted(h nats.Header) bool {
	return h.Get(opHeader) != "" || h.Get(markerHeader) != ""
}

// put writes when the key's revision is rev; 0: when there is no such key. A
// ttl > 0 ends the key by itself, in whole seconds. capture.ErrConflict when
// another writer was first.
func (b *bucket) put(ctx context.Context, key string, value []byte, rev uint64, ttl time.Duration) (uint64, error) {
	n, err := b.write(ctx, key, value, rev, ttl)
	if rev == 0 && errors.Is(err, errWrongLast) {
		// What is there may be the mark of a deletion or an expiry.
		_, mark, e := b.get(ctx, key)
		if errors.Is(e, capture.ErrNotFound) {
			n, err = b.write(ctx, key, value, mark, ttl)
		} else if e != nil {
			err = e
		}
	}
	if err != nil {
		return 0, b.wrap("write", key, err)
	}
	return n, nil
}

func (b *bucket) write(ctx context.Context, key string, value []byte, rev uint64, ttl time.Duration) (uint64, error) {
	opts := []jetstream.PublishOpt{jetstream.WithExpectLastSequencePerSubject(rev)}
	if ttl > 0 {
		opts = append(opts, jetstream.WithMsgTTL(max(ttl, time.Second)))
	}
	return b.j.send(ctx, &nats.Msg{Subject: b.prefix + key, Data: value}, nuid.Next(), opts...)
}

// remove deletes the key; rev 0: whatever its revision. The mark of it goes by
// itself, so that a million short-lived keys leave nothing behind.
func (b *bucket) remove(ctx context.Context, key string, rev uint64) error {
	m := &nats.Msg{Subject: b.prefix + key, Header: nats.Header{
		opHeader:            []string{opPurge},
		jetstream.MsgRollup: []string{jetstream.MsgRollupSubject},
	}}
	opts := []jetstream.PublishOpt{jetstream.WithMsgTTL(markerTTL)}
	if rev > 0 {
		opts = append(opts, jetstream.WithExpectLastSequencePerSubject(rev))
	}
	if _, err := b.j.send(ctx, m, nuid.Next(), opts...); err != nil {
		return b.wrap("delete", key, err)
	}
	return nil
}

func (b *bucket) wrap(verb, key string, err error) error {
	if errors.Is(err, errWrongLast) {
		err = capture.ErrConflict
	}
	return fmt.Errorf("%s %s of %s: %w", verb, decodeKey(key), b.name, err)
}

func (b *bucket) getJSON(ctx context.Context, key string, v any) (uint64, error) {
	data, rev, err := b.get(ctx, key)
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return 0, fmt.Errorf("read %s of %s: %w", decodeKey(key), b.name, err)
	}
	return rev, nil
}

func (b *bucket) putJSON(ctx context.Context, key string, v any, rev uint64, ttl time.Duration) (uint64, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return 0, fmt.Errorf("write %s of %s: %w", decodeKey(key), b.name, err)
	}
	return b.put(ctx, key, data, rev, ttl)
}

// keys lists the keys that match a filter of the bucket.
func (b *bucket) keys(ctx context.Context, filter string) ([]string, error) {
	l, err := b.kv.ListKeysFiltered(ctx, filter)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", b.name, typed(err))
	}
	defer func() { _ = l.Stop() }()
	var out []string
	for {
		select {
		case k, ok := <-l.Keys():
			if !ok {
				return out, nil
			}
			out = append(out, k)
		case <-ctx.Done():
			return nil, fmt.Errorf("list %s: %w", b.name, ctx.Err())
		}
	}
}

// watch calls f with every key that matches, then init, then every change,
// until ctx ends. It survives reconnections; after one, f may see a value again.
func (b *bucket) watch(ctx context.Context, filter string, f func(e jetstream.KeyValueEntry), init func()) error {
	for {
		err := b.watchOnce(ctx, filter, f, &init)
		if ctx.Err() != nil {
			return ctx.Err() //nolint:wrapcheck // the caller's own context
		}
		b.j.log.Debug().Err(err).Str("bucket", b.name).Msg("watch again")
		select {
		case <-ctx.Done():
			return ctx.Err() //nolint:wrapcheck // the caller's own context
		case <-b.j.done:
			return ErrClosed
		case <-time.After(250 * time.Millisecond):
		}
	}
}

func (b *bucket) watchOnce(ctx context.Context, filter string, f func(e jetstream.KeyValueEntry), init *func()) error {
	w, err := b.kv.Watch(ctx, filter)
	if err != nil {
		return typed(err)
	}
	defer func() { _ = w.Stop() }()
	// A server that was started anew knows nothing of the watch, which finds out
	// from missing heartbeats: after ten seconds, or only after minutes.
	again := make(chan struct{}, 1)
	defer b.j.hooks.add(func() {
		select {
		case again <- struct{}{}:
		default:
		}
	})()
	for {
		select {
		case <-again:
			return errors.New("connected again")
		case e, ok := <-w.Updates():
			switch {
			case !ok:
				return errors.New("the watch ended")
			case e != nil:
				f(e)
			case *init != nil:
				(*init)()
				*init = nil
			}
		case <-ctx.Done():
			return ctx.Err() //nolint:wrapcheck // the caller's own context
		case <-b.j.done:
			return ErrClosed
		}
	}
}
