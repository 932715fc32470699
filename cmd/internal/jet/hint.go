package jet

import "sync"

// hint wakes those who wait for work. It is only a hint: whoever wakes looks
// for itself, and everybody looks now and then without one.
type hint struct {
	mu sync.Mutex
	ch chan struct{}
}

func newHint() *hint { return &hint{ch: make(chan struct{})} }

// wait is a channel that closes with the next give. Take it before looking, so
// that what comes in between is not missed.
func (h *hint) wait() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ch
}

func (h *hint) give() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.ch)
	h.ch = make(chan struct{})
}
