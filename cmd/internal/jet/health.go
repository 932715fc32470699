package jet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// condition is one thing that can be wrong.
type condition int

const (
	condConnection condition = iota
	condPermission
	condLayout
	condDisk
	condStore
	condFull
	condPull
)

// conditions are what is wrong now, as sentences.
type conditions struct {
	mu   sync.Mutex
	list map[condition]string
}

// set notes what is wrong, and reports whether that is news.
func (c *conditions) set(k condition, sentence string) (news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil {
		c.list = map[condition]string{}
	}
	news = c.list[k] != sentence
	c.list[k] = sentence
	return news
}

func (c *conditions) clear(k condition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.list, k)
}

func (c *conditions) has(k condition) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.list[k]
	return ok
}

func (c *conditions) sentences() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := make([]condition, 0, len(c.list))
	for k := range c.list {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := make([]string, 0, len(keys))
	for _, k := range keys {
		out = append(out, c.list[k])
	}
	return out
}

func (c *conditions) String() string { return strings.Join(c.sentences(), "; ") }

// Health returns nil when events are taken and handled, else an error that says
// what is wrong and what to do. It asks the server, within a second.
func (j *Jet) Health(ctx context.Context) error {
	if j.closing() {
		return ErrClosed
	}
	if s := j.health.String(); s != "" {
		return fmt.Errorf("%w: %s", ErrUnavailable, s)
	}
	if !j.nc.IsConnected() {
		return fmt.Errorf("%w: NATS at %s: not connected%s", ErrUnavailable, j.where, because(j.nc.LastError()))
	}
	if !j.settled() {
		return fmt.Errorf("%w: the streams at %s are still being looked up", ErrUnavailable, j.where)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := j.info(ctx, j.opts.Stream); err != nil {
		if errors.Is(err, ErrUnavailable) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// hooks are called after each (re)connection.
type hooks struct {
	mu   sync.Mutex
	list map[int]func()
	next int
}

func (h *hooks) add(f func()) (remove func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.list == nil {
		h.list = map[int]func(){}
	}
	id := h.next
	h.next++
	h.list[id] = f
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.list, id)
	}
}

func (h *hooks) run() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.list {
		f()
	}
}
