package bot

import (
	"container/heap"
	"time"

	"github.com/snapflame/snapflame/triggers"
)

// deadlines is when each open case is to be looked at again: a heap with an
// index. It holds keys and times only, for there may be many cases, and those
// live in the store. The zero value is empty.
type deadlines struct {
	heap  watchHeap
	index map[string]*watched
}

type watched struct {
	key     string
	rev     uint64        // newest revision seen
	at      time.Time     // zero: nothing to do
	backoff time.Duration // of the last look, while it does not succeed
	id      string        // of the open case
	counted triggers.Counted
	surely  time.Time // until when nobody can have closed it
	pos     int       // in the heap; -1: not there
}

// find returns the entry of the key, making it when needed.
func (d *deadlines) find(key string) *watched {
	if w, ok := d.index[key]; ok {
		return w
	}
	if d.index == nil {
		d.index = make(map[string]*watched)
	}
	w := &watched{key: key, pos: -1}
	d.index[key] = w
	return w
}

func (d *deadlines) set(w *watched, at time.Time) {
	w.at = at
	switch {
	case at.IsZero() && w.pos >= 0:
		heap.Remove(&d.heap, w.pos)
	case at.IsZero():
	case w.pos < 0:
		heap.Push(&d.heap, w)
	default:
		heap.Fix(&d.heap, w.pos)
	}
}

func (d *deadlines) forget(key string) {
	if w, ok := d.index[key]; ok {
		d.set(w, time.Time{})
		delete(d.index, key)
	}
}

func (d *deadlines) next() (time.Time, bool) {
	if len(d.heap) == 0 {
		return time.Time{}, false
	}
	return d.heap[0].at, true
}

func (d *deadlines) first() *watched { return d.heap[0] }

type watchHeap []*watched //nolint:recvcheck // container/heap wants it so

func (h watchHeap) Len() int           { return len(h) }
func (h watchHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h watchHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i, j
}

func (h *watchHeap) Push(x any) {
	w := x.(*watched) //nolint:forcetypeassert // container/heap gives back what set pushed
	w.pos = len(*h)
	*h = append(*h, w)
}

func (h *watchHeap) Pop() any {
	old := *h
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	w.pos = -1
	return w
}
