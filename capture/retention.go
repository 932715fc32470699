package capture

import (
	"slices"
	"time"
)

// Retention bounds what is kept. 0 is no bound.
type Retention struct {
	Age   time.Duration
	Count int
	Bytes int64
}

// Expired gives the captures to delete, oldest first: those older than the age,
// then as many of the oldest as exceed the count or the bytes. What is queued or
// running is never among them. The newest baseline of each target, version and
// type outlives count and bytes, so that a storm of incidents cannot push out
// what they are compared with; it does not outlive the age.
func Expired(all []Record, keep Retention, now time.Time) []Record {
	var final []Record
	for _, r := range all {
		if r.Final() {
			final = append(final, r)
		}
	}
	slices.SortStableFunc(final, func(a, b Record) int { return b.ended().Compare(a.ended()) })
	type norm struct {
		key, version string
		typ          Type
	}
	seen := map[norm]bool{}
	var gone []Record
	count, bytes := 0, int64(0)
	for _, r := range final {
		n := norm{r.Target.Key(), r.Resolved.VersionID, r.Type}
		newest := r.Cause == CauseBaseline && r.State == Stored && !seen[n]
		if newest {
			seen[n] = true
		}
		over := keep.Count > 0 && count >= keep.Count || keep.Bytes > 0 && bytes+r.Bytes > keep.Bytes
		if keep.Age > 0 && now.Sub(r.ended()) > keep.Age || over && !newest {
			gone = append(gone, r)
			continue
		}
		count++
		bytes += r.Bytes
	}
	slices.Reverse(gone)
	return gone
}

func (r Record) ended() time.Time {
	if r.EndedAt.IsZero() {
		return r.QueuedAt
	}
	return r.EndedAt
}
