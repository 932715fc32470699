package app

import (
	"container/list"
	"sync"
)

// lru keeps the newest few results of an expensive function. A key is computed
// once at a time; an error is not kept.
type lru[K comparable, V any] struct {
	limit int

	mu    sync.Mutex
	items map[K]*list.Element
	order *list.List
}

type lruItem[K comparable, V any] struct {
	key   K
	once  sync.Once
	value V
	err   error
}

func newLRU[K comparable, V any](limit int) *lru[K, V] {
	return &lru[K, V]{limit: limit, items: map[K]*list.Element{}, order: list.New()}
}

func (l *lru[K, V]) get(key K, compute func() (V, error)) (V, error) {
	l.mu.Lock()
	e, ok := l.items[key]
	if ok {
		l.order.MoveToFront(e)
	} else {
		e = l.order.PushFront(&lruItem[K, V]{key: key})
		l.items[key] = e
		if l.order.Len() > l.limit {
			last := l.order.Back()
			delete(l.items, l.order.Remove(last).(*lruItem[K, V]).key) //nolint:forcetypeassert // the list holds nothing else
		}
	}
	item := e.Value.(*lruItem[K, V]) //nolint:forcetypeassert // as above
	l.mu.Unlock()
	item.once.Do(func() { item.value, item.err = compute() })
	if item.err != nil {
		l.mu.Lock()
		if l.items[key] == e {
			delete(l.items, key)
			l.order.Remove(e)
		}
		l.mu.Unlock()
	}
	return item.value, item.err
}
