package triggers

import (
	"sync"
	"time"
)

// maxCounted bounds how many (rule, incident key) pairs are counted at once.
// Beyond it the longest-unseen are forgotten, which can only make a counting
// rule fire later.
const maxCounted = 50_000

// Counts remembers how often, and when last, each rule saw each trouble. It is
// what Match.Count and Match.ReturnedAfter need; it lives in memory, so that a
// restart starts the windows again. Its zero value is ready.
type Counts struct {
	mu   sync.Mutex
	seen map[countKey]*counted
}

type countKey struct{ rule, key string }

// counted is a window in slices: good to a tenth of the window, in constant
// memory.
type counted struct {
	slots [10]int64
	at    int64 // the newest slot
	last  time.Time
	quiet time.Duration // the silence before the newest burst
}

// add counts n events and returns how many the window holds, and for how long
// the trouble had been quiet before its newest burst (0 when it is new).
func (c *Counts) add(rule, key string, window, gap time.Duration, n int64, now time.Time) (held int64, quiet time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = make(map[countKey]*counted)
	}
	k := countKey{rule, key}
	w := c.seen[k]
	if w == nil {
		if len(c.seen) >= maxCounted {
			c.forget()
		}
		w = &counted{last: now}
		c.seen[k] = w
	}
	if since := now.Sub(w.last); gap > 0 && since >= gap {
		w.quiet = since
	}
	if now.After(w.last) {
		w.last = now
	}
	if window <= 0 {
		return n, w.quiet
	}
	size := max(int64(window)/int64(len(w.slots)), 1)
	slot := now.UnixNano() / size
	for i := max(w.at+1, slot-int64(len(w.slots))+1); i <= slot; i++ {
		w.slots[i%int64(len(w.slots))] = 0
	}
	w.at = max(w.at, slot)
	w.slots[w.at%int64(len(w.slots))] += n
	for _, s := range w.slots {
		held += s
	}
	return held, w.quiet
}

// forget drops the half that was not seen for longest.
func (c *Counts) forget() {
	var oldest, newest time.Time
	for _, w := range c.seen {
		if oldest.IsZero() || w.last.Before(oldest) {
			oldest = w.last
		}
		if w.last.After(newest) {
			newest = w.last
		}
	}
	middle := oldest.Add(newest.Sub(oldest) / 2)
	dropped := 0
	for k, w := range c.seen {
		if !w.last.After(middle) && dropped <= maxCounted/2 {
			delete(c.seen, k)
			dropped++
		}
	}
}

// Len is how many pairs are counted.
func (c *Counts) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}
