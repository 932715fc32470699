package triggers_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/snapflame/snapflame/triggers"
)

// queue is a Source in memory: what is given back comes again after its delay.
type queue struct {
	mu      sync.Mutex
	ready   []*message
	all     []*message
	wake    chan struct{}
	fetches int
	err     error // of the next Fetch
}

type message struct {
	q       *queue
	n       uint64
	subject string
	data    []byte
	at      time.Time
	acks    int
	retries []time.Duration
}

func newQueue(messages ...string) *queue {
	q := &queue{wake: make(chan struct{}, 1)}
	for _, m := range messages {
		q.publish(m)
	}
	return q
}

func (q *queue) publish(data string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := &message{q: q, n: uint64(len(q.all) + 1), subject: "workers.events.s", data: []byte(data), at: time.Now()}
	q.all, q.ready = append(q.all, m), append(q.ready, m)
	q.ping()
}

func (q *queue) ping() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) Fetch(ctx context.Context, limit int, wait time.Duration) ([]triggers.Delivery, error) {
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	for {
		q.mu.Lock()
		q.fetches++
		if err := q.err; err != nil {
			q.err = nil
			q.mu.Unlock()
			return nil, err
		}
		n := min(limit, len(q.ready))
		var out []triggers.Delivery
		for _, m := range q.ready[:n] {
			out = append(out, m)
		}
		q.ready = q.ready[n:]
		q.mu.Unlock()
		if n > 0 {
			return out, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline.C:
			return nil, nil
		case <-q.wake:
		}
	}
}

func (q *queue) open() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.all {
		if m.acks == 0 {
			n++
		}
	}
	return n
}

func (m *message) Subject() string     { return m.subject }
func (m *message) Data() []byte        { return m.data }
func (m *message) Sequence() uint64    { return m.n }
func (m *message) Received() time.Time { return m.at }

func (m *message) Ack() error {
	m.q.mu.Lock()
	defer m.q.mu.Unlock()
	m.acks++
	return nil
}

func (m *message) Retry(delay time.Duration) error {
	m.q.mu.Lock()
	defer m.q.mu.Unlock()
	m.retries = append(m.retries, delay)
	time.AfterFunc(delay, func() {
		m.q.mu.Lock()
		defer m.q.mu.Unlock()
		m.q.ready = append(m.q.ready, m)
		m.q.ping()
	})
	return nil
}

// desk is a Sink in memory: one incident per key, as bot.Desk has them.
type desk struct {
	mu       sync.Mutex
	open     map[string]string
	counts   map[string]int64 // by key; the opening event is counted by Handle
	counted  map[string]triggers.Counted
	behind   bool // Counted knows only what Tally has met
	noticed  map[string]triggers.Counted
	handled  int
	tallies  []triggers.Tally
	failing  func(key string) error
	tallyErr error
	silenced bool
	dead     []triggers.DeadLetter
	deadErr  error
	order    []string // what became durable, in order
}

func newDesk() *desk {
	return &desk{open: map[string]string{}, counts: map[string]int64{}, counted: map[string]triggers.Counted{}, noticed: map[string]triggers.Counted{}}
}

func (d *desk) Handle(_ context.Context, dec triggers.Decision) (triggers.Decision, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handled++
	key := dec.IncidentKey()
	if d.failing != nil {
		if err := d.failing(key); err != nil {
			return dec, err
		}
	}
	if d.silenced {
		dec.Action, dec.Reason = triggers.ActionIgnore, triggers.ReasonSilenced
		return dec, nil
	}
	if id, ok := d.open[key]; ok {
		dec.Action, dec.IncidentID = triggers.ActionJoin, id
		return dec, nil
	}
	d.open[key] = fmt.Sprintf("inc-%d", len(d.open)+1)
	d.counts[key] += max(dec.Event.Count, 1)
	d.counted[key] = dec.Counted
	dec.IncidentID = d.open[key]
	d.order = append(d.order, "open")
	return dec, nil
}

func (d *desk) Counted(key string) triggers.Counted {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.behind {
		return d.noticed[key]
	}
	return d.counted[key]
}

func (d *desk) Tally(_ context.Context, tallies []triggers.Tally) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tallyErr != nil {
		return d.tallyErr
	}
	for _, t := range tallies {
		if d.open[t.IncidentKey] != t.IncidentID {
			return fmt.Errorf("tally for %s on %q", t.IncidentKey, t.IncidentID)
		}
		if d.counted[t.IncidentKey].Covers(t.Counted) {
			continue
		}
		if d.counted[t.IncidentKey].Overlaps(t.Counted) {
			d.noticed[t.IncidentKey] = d.counted[t.IncidentKey]
			return errors.New("a part of them is counted already")
		}
		d.counts[t.IncidentKey] += t.Count
		d.counted[t.IncidentKey] = d.counted[t.IncidentKey].With(t.Counted)
		d.tallies = append(d.tallies, t)
	}
	d.order = append(d.order, "tally")
	return nil
}

func (d *desk) Bury(_ context.Context, l triggers.DeadLetter) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.deadErr != nil {
		return d.deadErr
	}
	d.dead = append(d.dead, l)
	d.order = append(d.order, "bury")
	return nil
}
