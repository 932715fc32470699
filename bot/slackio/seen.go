package slackio

import (
	"container/list"
	"sync"
	"time"
)

// Slack delivers again after a lost acknowledgement: over HTTP within six
// minutes, over Socket Mode up to an hour late as others have seen.
const (
	seenFor  = 90 * time.Minute
	seenMost = 50_000
	clickFor = time.Minute
)

// seen remembers for a while what came, within bounded memory.
type seen struct {
	now func() time.Time

	mu    sync.Mutex
	order *list.List // of *mark, by expiry as well as nearly so
	at    map[string]*list.Element
}

type mark struct {
	key   string
	until time.Time
}

func newSeen(now func() time.Time) *seen {
	return &seen{now: now, order: list.New(), at: map[string]*list.Element{}}
}

// first tells whether the key is new, and remembers it for a while.
func (s *seen) first(key string, keep time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if e := s.at[key]; e != nil {
		m := e.Value.(*mark)
		if m.until.After(now) {
			return false
		}
		s.remove(e)
	}
	for e := s.order.Front(); e != nil; e = s.order.Front() {
		m := e.Value.(*mark)
		if m.until.After(now) && s.order.Len() < seenMost {
			break
		}
		s.remove(e)
	}
	s.at[key] = s.order.PushBack(&mark{key, now.Add(keep)})
	return true
}

// forget makes a key new again: what came could not be taken after all.
func (s *seen) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.at[key]; e != nil {
		s.remove(e)
	}
}

func (s *seen) remove(e *list.Element) {
	s.order.Remove(e)
	delete(s.at, e.Value.(*mark).key)
}
