package jet

import (
	"context"
	"errors"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/tidwall/gjson"

	"github.com/snapflame/snapflame/capture"
)

// indexRows is how many closed cases, or records, a list reaches back. What is
// older is still found by its ID.
const indexRows = 20_000

// index is a small projection of a bucket in memory: enough to list it newest
// first and to find an open case by its ID. It holds no values.
type index struct {
	archive string // keys under this prefix are listed
	timeKey string // JSON field that orders them

	mu   sync.Mutex
	open map[string]string // ID → key, of the rest of the bucket
	ids  map[string]string // key → ID
	rows map[string]time.Time
	// sorted is rows by time, newest first; nil when it has to be made again.
	sorted []string
}

func newIndex(archive, timeKey string) *index {
	return &index{archive: archive, timeKey: timeKey, open: map[string]string{}, ids: map[string]string{}, rows: map[string]time.Time{}}
}

func (x *index) run(ctx context.Context, b *bucket) {
	_ = b.watch(ctx, ">", x.see, func() {}) // ends with ctx
}

func (x *index) see(e jetstream.KeyValueEntry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	key := e.Key()
	put := e.Operation() == jetstream.KeyValuePut
	if id, ok := strings.CutPrefix(key, x.archive); ok {
		id = decodeKey(id)
		if !put {
			delete(x.rows, id)
			x.sorted = nil
			return
		}
		at := gjson.GetBytes(e.Value(), x.timeKey).Time()
		if at.IsZero() {
			at = e.Created()
		}
		if old, ok := x.rows[id]; !ok || !old.Equal(at) {
			x.rows[id] = at
			x.sorted = nil
		}
		x.bound()
		return
	}
	if !put {
		delete(x.open, x.ids[key])
		delete(x.ids, key)
		return
	}
	id := gjson.GetBytes(e.Value(), "id").String()
	if old := x.ids[key]; old != id {
		delete(x.open, old)
	}
	x.ids[key] = id
	x.open[id] = key
}

// bound drops the oldest tenth when there are too many. The caller holds mu.
func (x *index) bound() {
	if len(x.rows) <= indexRows+indexRows/10 {
		return
	}
	x.sort()
	for _, id := range x.sorted[indexRows:] {
		delete(x.rows, id)
	}
	x.sorted = x.sorted[:indexRows]
}

func (x *index) sort() {
	if x.sorted != nil {
		return
	}
	x.sorted = make([]string, 0, len(x.rows))
	for id := range x.rows {
		x.sorted = append(x.sorted, id)
	}
	slices.SortFunc(x.sorted, func(a, b string) int {
		if c := x.rows[b].Compare(x.rows[a]); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
}

func (x *index) openKey(id string) (string, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k, ok := x.open[id]
	return k, ok
}

// page is at most limit IDs from before a time, newest first.
func (x *index) page(before time.Time, limit int) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sort()
	from := 0
	if !before.IsZero() {
		from = sort.Search(len(x.sorted), func(i int) bool { return x.rows[x.sorted[i]].Before(before) })
	}
	to := min(len(x.sorted), from+max(0, limit))
	return slices.Clone(x.sorted[from:to])
}

// oldest is the IDs beyond the newest keep, or older than the time, oldest first.
func (x *index) oldest(keep int, before time.Time) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sort()
	var out []string
	for i, id := range x.sorted {
		if (keep > 0 && i >= keep) || x.rows[id].Before(before) {
			out = append(out, id)
		}
	}
	slices.Reverse(out)
	return out
}

// listed reads what a page of an index names. What has gone since is left out.
func listed[T any](ctx context.Context, ids []string, read func(ctx context.Context, id string) (T, uint64, error)) ([]T, error) {
	out := []T{}
	for _, id := range ids {
		v, _, err := read(ctx, id)
		if errors.Is(err, capture.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}
