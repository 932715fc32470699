package capture_test

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/snapflame/snapflame/capture"
)

// world is what outlives a process, in memory: queue, records, budget, bytes.
// A nil error function never fails.
type world struct {
	mu       sync.Mutex
	now      func() time.Time
	items    map[string]*item
	records  map[string]capture.Record
	revs     map[string]uint64
	budget   capture.Budget
	profiles map[string][]byte
	heard    []capture.Record
	pulls    int
	err      func(op string) error
	ackWait  time.Duration
	changed  chan struct{} // closed when a job may have become visible
}

type item struct {
	job     capture.Job
	visible time.Time
	holder  int
}

func newWorld() *world {
	return &world{
		now: time.Now, items: map[string]*item{}, records: map[string]capture.Record{}, revs: map[string]uint64{},
		profiles: map[string][]byte{}, ackWait: 5 * time.Second, changed: make(chan struct{}), err: func(string) error { return nil },
	}
}

func (w *world) submit(j capture.Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.items[j.ID] = &item{job: j}
	w.wake()
}

// wake lets waiting workers look again. The caller holds mu.
func (w *world) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}

type task struct {
	w      *world
	it     *item
	holder int
	dead   func() bool
}

func (w *world) Next(ctx context.Context, wait time.Duration) (capture.Task, error) {
	return w.next(ctx, wait, func() bool { return false })
}

func (w *world) next(ctx context.Context, wait time.Duration, dead func() bool) (capture.Task, error) {
	deadline := time.Now().Add(wait)
	for {
		w.mu.Lock()
		if err := w.err("next"); err != nil {
			w.mu.Unlock()
			return nil, err
		}
		now := w.now()
		var best *item
		soon := time.Until(deadline)
		for _, it := range w.items {
			if it.visible.After(now) {
				soon = min(soon, it.visible.Sub(now))
			} else if best == nil || before(it.job, best.job) {
				best = it
			}
		}
		if best != nil {
			best.visible = now.Add(w.ackWait)
			best.holder++
			w.pulls++
			t := &task{w, best, best.holder, dead}
			w.mu.Unlock()
			return t, nil
		}
		changed := w.changed
		w.mu.Unlock()
		if !time.Now().Before(deadline) || ctx.Err() != nil {
			return nil, ctx.Err()
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(soon):
		}
	}
}

func before(a, b capture.Job) bool {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.QueuedAt.Compare(b.QueuedAt), cmp.Compare(a.ID, b.ID)) < 0
}

func (t *task) Job() capture.Job { return t.it.job }

func (t *task) mine(f func()) error {
	t.w.mu.Lock()
	defer t.w.mu.Unlock()
	if t.it.holder != t.holder || t.dead() {
		return errors.New("not ours any more")
	}
	if err := t.w.err("task"); err != nil {
		return err
	}
	f()
	return nil
}

func (t *task) Touch() error {
	return t.mine(func() { t.it.visible = t.w.now().Add(t.w.ackWait) })
}

func (t *task) Later(d time.Duration) error {
	return t.mine(func() { t.it.visible = t.w.now().Add(d); t.it.holder++; t.w.wake() })
}

func (t *task) Done(context.Context) error {
	return t.mine(func() { delete(t.w.items, t.it.job.ID) })
}

func (w *world) Record(_ context.Context, id string) (capture.Record, uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.err("record"); err != nil {
		return capture.Record{}, 0, err
	}
	r, ok := w.records[id]
	if !ok {
		return r, 0, capture.ErrNotFound
	}
	return r, w.revs[id], nil
}

func (w *world) PutRecord(_ context.Context, r capture.Record, rev uint64) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.err("put"); err != nil {
		return 0, err
	}
	if w.revs[r.ID] != rev {
		return 0, capture.ErrConflict
	}
	w.records[r.ID], w.revs[r.ID] = r, rev+1
	return rev + 1, nil
}

func (w *world) Change(_ context.Context, f func(capture.Budget) (capture.Budget, error)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.err("ledger"); err != nil {
		return err
	}
	b, err := f(w.budget)
	if err == nil {
		w.budget = b
	}
	return err
}

func (w *world) PutProfile(_ context.Context, id string, data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.err("bytes"); err != nil {
		return err
	}
	w.profiles[id] = data
	return nil
}

func (w *world) Profile(_ context.Context, id string) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d, ok := w.profiles[id]; ok {
		return d, nil
	}
	return nil, capture.ErrNotFound
}

func (w *world) CaptureChanged(_ context.Context, r capture.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.err("tell"); err != nil {
		return err
	}
	w.heard = append(w.heard, r)
	return nil
}

func (w *world) record(id string) capture.Record {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.records[id]
}

func (w *world) left() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.items)
}

func (w *world) story(id string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, r := range w.heard {
		if r.ID == id {
			s := string(r.State)
			if r.State == capture.Waiting {
				s += ":" + string(r.WaitFor)
			}
			if r.State == capture.Failed {
				s += ":" + string(r.Failure.Kind)
			}
			out = append(out, s)
		}
	}
	return out
}

func (w *world) parts(api capture.API, res capture.Resolver) capture.Parts {
	return capture.Parts{Queue: w, Records: w, Ledger: w, Profiles: w, Observer: w, API: api, Resolver: res}
}
