package jet

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snapflame/snapflame/triggers"
)

var (
	_ triggers.Source   = (*Source)(nil)
	_ triggers.Delivery = (*delivery)(nil)
)

// handLimit is how long a delivery that was handed out and not answered is kept
// alive; after it the server gives it to somebody else.
const handLimit = 2 * time.Minute

// Source pulls events ahead and hands them out in batches. What it holds, handed
// out or not, is kept alive at the server, so that the acknowledgement wait can
// be short without repeats.
type Source struct {
	j    *Jet
	pull *puller

	mu      sync.Mutex
	batches []*batch
	handed  atomic.Uint64
	buried  atomic.Uint64
}

// batch is what one Fetch handed out.
type batch struct {
	at   time.Time
	list []delivery
	open atomic.Int64
}

// delivery is one message in the hands of a listener.
type delivery struct {
	j       *Jet
	b       *batch
	subject string
	data    []byte
	reply   string
	meta    meta
	settled atomic.Bool
}

func newSource(j *Jet) *Source {
	return &Source{j: j, pull: newPuller(j, j.opts.Stream, eventsConsumer)}
}

// Source is the events, for triggers.
func (j *Jet) Source() *Source { return j.source }

func (s *Source) run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { s.pull.run(ctx) })
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			wg.Wait()
			return
		case now := <-t.C:
			s.pull.keep()
			s.keep(now)
		}
	}
}

// Fetch returns 1 to limit deliveries as soon as there are any, or none when
// wait has passed. An event that was handed out a hundred times without
// an acknowledgement goes to the dead letters instead.
func (s *Source) Fetch(ctx context.Context, limit int, wait time.Duration) ([]triggers.Delivery, error) {
	if err := s.j.await(ctx); err != nil {
		return nil, err
	}
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	for {
		if got := s.pull.take(limit); len(got) > 0 {
			if out := s.hand(ctx, got); len(out) > 0 {
				return out, nil
			}
			continue
		}
		select {
		case <-s.pull.wake:
		case <-deadline.C:
			return nil, nil
		case <-s.j.done:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err() //nolint:wrapcheck // the caller's own context
		}
	}
}

func (s *Source) hand(ctx context.Context, got []held) []triggers.Delivery {
	b := &batch{at: time.Now(), list: make([]delivery, len(got))}
	out := make([]triggers.Delivery, 0, len(got))
	for i, h := range got {
		d := &b.list[i]
		d.j, d.b, d.subject, d.data, d.reply = s.j, b, h.m.Subject, h.m.Data, h.m.Reply
		d.meta, _ = readMeta(h.m.Reply)
		if d.meta.delivered >= maxTries {
			d.settled.Store(true)
			s.bury(ctx, d)
			continue
		}
		out = append(out, d)
	}
	b.open.Store(int64(len(out)))
	if len(out) > 0 {
		s.mu.Lock()
		s.batches = append(s.batches, b)
		s.mu.Unlock()
		s.handed.Add(uint64(len(out)))
	}
	return out
}

// bury copies an event that never succeeds, then ends it. Without the copy it
// is not ended: it comes again after the acknowledgement wait.
func (s *Source) bury(ctx context.Context, d *delivery) {
	err := s.j.Dead().put(ctx, letter{
		DeadLetter: triggers.DeadLetter{
			Subject: d.subject, Sequence: d.meta.sequence, Data: d.data, At: time.Now(),
			Reason: "handed out " + itoa(d.meta.delivered) + " times without success",
		},
		stream: s.j.opts.Stream,
	})
	if err != nil {
		s.j.log.Error().Err(err).Uint64("seq", d.meta.sequence).Msg("an event that never succeeds could not be put aside")
		return
	}
	s.buried.Add(1)
	_ = s.j.tell(d.reply, term("moved to the dead letters"))
}

// keep tells the server that what is handed out is still being worked on.
func (s *Source) keep(now time.Time) {
	s.mu.Lock()
	live := s.batches[:0]
	var old []*batch
	for _, b := range s.batches {
		if b.open.Load() == 0 || now.Sub(b.at) > handLimit {
			continue
		}
		live = append(live, b)
		if now.Sub(b.at) >= time.Second {
			old = append(old, b)
		}
	}
	clear(s.batches[len(live):])
	s.batches = live
	s.mu.Unlock()
	for _, b := range old {
		for i := range b.list {
			if d := &b.list[i]; !d.settled.Load() {
				_ = s.j.nc.Publish(d.reply, []byte(ackProgress))
			}
		}
	}
}

// Subject implements triggers.Delivery.
func (d *delivery) Subject() string { return d.subject }

// Data implements triggers.Delivery.
func (d *delivery) Data() []byte { return d.data }

// Sequence implements triggers.Delivery.
func (d *delivery) Sequence() uint64 { return d.meta.sequence }

// Received implements triggers.Delivery.
func (d *delivery) Received() time.Time { return d.meta.stored }

// Ack implements triggers.Delivery. It does not wait: a lost acknowledgement
// means that the event comes again, which is allowed for.
func (d *delivery) Ack() error { return d.settle([]byte(ackAck)) }

// Retry implements triggers.Delivery.
func (d *delivery) Retry(delay time.Duration) error { return d.settle(nak(delay)) }

func (d *delivery) settle(answer []byte) error {
	if d.settled.Swap(true) {
		return nil
	}
	d.b.open.Add(-1)
	return d.j.tell(d.reply, answer)
}
