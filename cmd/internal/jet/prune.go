package jet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Retention says what is kept. Zero fields do not bound.
type Retention struct {
	Age   time.Duration // of closed incidents, records and files
	Count int           // of closed incidents, and of records
	Bytes int64         // of files together
}

// Pruned is what Prune removed.
type Pruned struct{ Cases, Records, Files int }

// Prune removes what is beyond the retention, oldest first: closed incidents,
// records, and files. Open incidents stay, whatever their age, and so do the
// records that keep finds in use; keep may be nil.
func (j *Jet) Prune(ctx context.Context, r Retention, keep func(captureID string) bool) (Pruned, error) {
	var p Pruned
	if err := j.await(ctx); err != nil {
		return p, err
	}
	var before time.Time
	if r.Age > 0 {
		before = time.Now().Add(-r.Age)
	}
	var errs []error
	for _, id := range j.incidents.oldest(r.Count, before) {
		if k, err := closedKey(id); err != nil {
			errs = append(errs, err)
		} else if err := j.streams.incidents.remove(ctx, k, 0); err != nil {
			return p, errors.Join(append(errs, err)...)
		}
		p.Cases++
	}
	for _, id := range j.captures.oldest(r.Count, before) {
		if keep != nil && keep(id) {
			continue
		}
		k, err := encodeKey(id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if err := j.streams.records.remove(ctx, recordPrefix+k, 0); err != nil {
			return p, errors.Join(append(errs, err)...)
		}
		p.Records++
	}
	n, err := j.pruneFiles(ctx, r, before)
	p.Files = n
	return p, errors.Join(append(errs, err)...)
}

func (j *Jet) pruneFiles(ctx context.Context, r Retention, before time.Time) (int, error) {
	files, err := j.Profiles().Files(ctx)
	if err != nil {
		return 0, err
	}
	slices.SortFunc(files, func(a, b Stored) int { return b.At.Compare(a.At) })
	var sum int64
	n := 0
	for _, f := range files {
		sum += f.Size
		if !f.At.Before(before) && (r.Bytes <= 0 || sum <= r.Bytes) {
			continue
		}
		if err := j.Profiles().DeleteFile(ctx, f.Name); err != nil {
			return n, fmt.Errorf("prune: %w", err)
		}
		n++
	}
	return n, nil
}
