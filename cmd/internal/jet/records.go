package jet

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/snapflame/snapflame/capture"
)

var _ capture.Records = (*Records)(nil)

const recordPrefix = "record."

// Records keeps what is known of captures.
type Records struct{ j *Jet }

// Records is the captures' records, for capture and pages.
func (j *Jet) Records() *Records { return &Records{j} }

func (r *Records) key(ctx context.Context, id string) (string, error) {
	k, err := encodeKey(id)
	if err != nil {
		return "", err
	}
	return recordPrefix + k, r.j.await(ctx)
}

// Record implements capture.Records.
func (r *Records) Record(ctx context.Context, id string) (capture.Record, uint64, error) {
	k, err := r.key(ctx, id)
	if err != nil {
		return capture.Record{}, 0, err
	}
	var v capture.Record
	rev, err := r.j.streams.records.getJSON(ctx, k, &v)
	return v, rev, err
}

// PutRecord implements capture.Records.
func (r *Records) PutRecord(ctx context.Context, v capture.Record, rev uint64) (uint64, error) {
	k, err := r.key(ctx, v.ID)
	if err != nil {
		return 0, err
	}
	return r.j.streams.records.putJSON(ctx, k, v, rev, 0)
}

// RecordsList lists records, newest first by QueuedAt: at most limit that were
// queued before the time given (zero: now).
func (r *Records) RecordsList(ctx context.Context, before time.Time, limit int) ([]capture.Record, error) {
	if err := r.j.await(ctx); err != nil {
		return nil, err
	}
	return listed(ctx, r.j.captures.page(before, limit), r.Record)
}

// WatchRecords calls f with every record, then init, then with every change,
// until ctx ends.
func (r *Records) WatchRecords(ctx context.Context, f func(v capture.Record, rev uint64), init func()) error {
	if err := r.j.await(ctx); err != nil {
		return err
	}
	return r.j.streams.records.watch(ctx, recordPrefix+">", func(e jetstream.KeyValueEntry) {
		var v capture.Record
		if e.Operation() == jetstream.KeyValuePut && json.Unmarshal(e.Value(), &v) == nil {
			f(v, e.Revision())
		}
	}, init)
}
