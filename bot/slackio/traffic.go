package slackio

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"
)

// errShut says that the gate closed before a call's turn came.
var errShut = errors.New("slack is not available")

// Pace that Slack asks for: https://docs.slack.dev/apis/web-api/rate-limits.
const (
	postsPerSecond = 1.0       // per channel
	postBurst      = 4.0       // "short bursts"
	editsPerSecond = 50.0 / 60 // chat.update, Tier 3, per workspace
	editBurst      = 10.0
)

// traffic decides when a call may go: not while the gate is shut, not while
// its method is blocked by a 429, at Slack's pace, and in the order of the posts.
type traffic struct {
	now func() time.Time

	mu      sync.Mutex
	why     error         // the gate is shut for this reason
	opened  chan struct{} // closed when it opens
	onShut  func()
	blocked map[string]time.Time // by method
	buckets map[string]*tokens
	waiting []*turn
	due     map[uint64]string // bucket, by order, of who is about to wait
	timer   *time.Timer
}

type tokens struct {
	have, most, perSecond float64
	at                    time.Time
	busy                  time.Time // a call is on its way, at the latest until then
	by                    uint64    // whose call
}

// inTurn is how long one message of a channel waits for the answer to the one
// before it, so that they arrive in order.
const inTurn = time.Second

type turn struct {
	method, bucket string
	order          uint64
	ready          chan error
}

func newTraffic(now func() time.Time) *traffic {
	return &traffic{now: now, blocked: map[string]time.Time{}, buckets: map[string]*tokens{}, due: map[uint64]string{}}
}

// expect keeps a place for a post whose lane has yet to look it up, so that one
// that came later does not take its turn.
func (t *traffic) expect(channel string, order uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.due[order] = "post " + channel
}

// forget gives that place up.
func (t *traffic) forget(order uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.due[order]; ok {
		delete(t.due, order)
		t.grant()
	}
}

// wait returns when the call may go, or errShut. Of those who wait for the same
// thing the lowest order goes first.
func (t *traffic) wait(ctx context.Context, method, channel string, order uint64) error {
	bucket := "post " + channel
	if method == "chat.update" {
		bucket = method
	}
	w := &turn{method: method, bucket: bucket, order: order, ready: make(chan error, 1)}
	t.mu.Lock()
	delete(t.due, order)
	i, _ := slices.BinarySearchFunc(t.waiting, w, func(a, b *turn) int {
		if a.order < b.order {
			return -1
		}
		return 1
	})
	t.waiting = slices.Insert(t.waiting, i, w)
	t.grant()
	t.mu.Unlock()
	select {
	case err := <-w.ready:
		return err
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		if i := slices.Index(t.waiting, w); i >= 0 {
			t.waiting = slices.Delete(t.waiting, i, i+1)
			t.grant()
		}
		return ctx.Err()
	}
}

// grant lets everybody go whose time has come and sets the timer for the next;
// the caller holds mu.
func (t *traffic) grant() {
	now := t.now()
	next := time.Duration(math.MaxInt64)
	closed := map[string]bool{} // buckets whose first in line must wait
	left := t.waiting[:0]
	for _, w := range t.waiting {
		if t.why != nil {
			w.ready <- errShut
			continue
		}
		wait := t.blocked[w.method].Sub(now)
		if wait <= 0 {
			wait = t.bucket(w.bucket, now).wait()
		}
		if wait <= 0 && t.behind(w) {
			closed[w.bucket] = true
			left = append(left, w)
			continue // whoever is before us calls grant
		}
		if b := t.buckets[w.bucket]; wait <= 0 && w.bucket != w.method {
			wait = b.busy.Sub(now)
		}
		if wait <= 0 && !closed[w.bucket] {
			b := t.buckets[w.bucket]
			b.have--
			b.busy, b.by = now.Add(inTurn), w.order
			w.ready <- nil
			continue
		}
		closed[w.bucket] = true
		next = min(next, max(wait, time.Millisecond))
		left = append(left, w)
	}
	clear(t.waiting[len(left):])
	t.waiting = left
	if t.timer != nil {
		t.timer.Stop()
	}
	if next < math.MaxInt64 {
		t.timer = time.AfterFunc(next, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.grant()
		})
	}
}

// behind tells that somebody who came earlier is about to wait for the same.
func (t *traffic) behind(w *turn) bool {
	for order, bucket := range t.due {
		if bucket == w.bucket && order < w.order {
			return true
		}
	}
	return false
}

func (t *traffic) bucket(name string, now time.Time) *tokens {
	b := t.buckets[name]
	if b == nil {
		b = &tokens{have: postBurst, most: postBurst, perSecond: postsPerSecond, at: now}
		if name == "chat.update" {
			b.have, b.most, b.perSecond = editBurst, editBurst, editsPerSecond
		}
		t.buckets[name] = b
	}
	if gone := now.Sub(b.at).Seconds(); gone > 0 {
		b.have = math.Min(b.most, b.have+gone*b.perSecond)
		b.at = now
	}
	return b
}

// wait is how long until there is a token. Rounding up keeps the timer from
// firing a nanosecond early.
func (b *tokens) wait() time.Duration {
	if b.have >= 0.9999 {
		return 0
	}
	return time.Duration(math.Ceil((1 - b.have) / b.perSecond * float64(time.Second)))
}

// block keeps a method back after a 429.
func (t *traffic) block(method string, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if until := t.now().Add(wait); until.After(t.blocked[method]) {
		t.blocked[method] = until
	}
	t.grant()
}

// arrived ends the turn of a call that wait let go.
func (t *traffic) arrived(channel string, order uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b := t.buckets["post "+channel]; b != nil && b.by == order {
		b.busy = time.Time{}
		t.grant()
	}
}

// hold is how long a method is still blocked.
func (t *traffic) hold(method string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.blocked[method].Sub(t.now()), 0)
}

// shut closes the gate; false when it was shut already.
func (t *traffic) shut(why error) bool {
	t.mu.Lock()
	if t.why != nil {
		t.mu.Unlock()
		return false
	}
	t.why, t.opened = why, make(chan struct{})
	t.grant()
	t.mu.Unlock()
	if t.onShut != nil {
		t.onShut() // outside the lock: it takes the sender's
	}
	return true
}

func (t *traffic) open() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.why != nil {
		t.why = nil
		close(t.opened)
	}
}

// gate is why the gate is shut, nil when it is open, and what tells of its
// opening.
type gate struct {
	why    error
	opened <-chan struct{}
}

func (t *traffic) state() gate {
	t.mu.Lock()
	defer t.mu.Unlock()
	return gate{t.why, t.opened}
}
