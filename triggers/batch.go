package triggers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// batch is one fetched batch on its way through.
type batch struct {
	l     *Listener
	ctx   context.Context //nolint:containedctx // a batch is one call: it lives as long as its context
	now   time.Time
	state State

	deliveries []Delivery
	slots      []slot // of each of them
	groups     map[string]*group
	order      []*group
	wait       sync.WaitGroup
	free       chan struct{} // places for calls of Handle
	events     []Event       // reused
	like       Event         // reused
	verdict    verdict       // reused
}

// slot is one delivery: what it counted for, and whether it has to come again.
type slot struct {
	none   int64 // events of no class
	counts []count
	failed bool
}

type count struct {
	class  Class
	action Action
	n      int64
}

// group is what a batch holds of one incident.
type group struct {
	groupKind
	first Decision // what Handle was asked
	opens int64    // events that first stands for
	tally tallier
	slots []member // who is in it

	id  string
	act Action // what became of first
	err error

	counted memory // before this batch
	slot    int    // the delivery in hand
	met     int    // its events so far
}

type member struct {
	slot int
	n    int64
	upto int // the last of the message's events of this incident that n has
}

// batch works one batch off and says whether the sink did nothing but fail.
func (l *Listener) batch(ctx context.Context, deliveries []Delivery) (failed bool) {
	now := l.o.Now()
	b := &batch{
		l: l, ctx: ctx, now: now, deliveries: deliveries, slots: make([]slot, len(deliveries)), groups: make(map[string]*group), free: make(chan struct{}, l.o.Handlers),
		state: State{Rules: l.rules.Load(), Counts: l.o.Counts, Silences: l.o.Silences(ctx, now)},
	}
	if l.o.Index != nil {
		b.state.Index = l.o.Index
	}
	l.memo.begin(&b.state, now)
	l.o.Lag(now.Sub(deliveries[0].Received()))
	for i, d := range deliveries {
		b.read(i, d)
	}
	b.wait.Wait()
	tried, worked := b.settle()
	for i, d := range deliveries {
		if b.slots[i].failed {
			l.tell(d.Retry(min(firstRetry<<min(l.fails, 5), lastRetry)))
			continue
		}
		l.tell(d.Ack())
	}
	b.observe()
	return tried > 0 && worked == 0
}

// read takes one message apart and routes its events.
func (b *batch) read(i int, d Delivery) {
	dec := decoder{names: b.l.names}
	script := SubjectScript(d.Subject())
	faults := 0
	bury := func(fault *DecodeError) {
		switch faults++; {
		case faults < maxFaults:
			b.bury(i, d, fault)
		case faults == maxFaults:
			// So much of it is damaged that it is kept whole, once.
			b.bury(i, d, &DecodeError{Reason: fault.Reason, Index: fault.Index, Data: d.Data(), Detail: fault.Detail + "; so are many others of this message, which is kept whole"})
		}
	}
	defer func() {
		// A message that the reader cannot stand costs itself, not the service.
		if r := recover(); r != nil {
			bury(&DecodeError{Reason: DecodePanic, Data: d.Data(), Detail: fmt.Sprintf("could not be read: %v", r)})
		}
	}()
	n := parts(&b.l.scan, d.Data(), func(p part) {
		if p.fault != nil {
			bury(p.fault)
			return
		}
		if b.boring(&p) {
			b.slots[i].none++
			return
		}
		tail := p.shape == ShapeTail
		if tail && dec.n < MaxEvents && b.again(i, d, &p, script) {
			dec.n++
			return
		}
		events, fault := dec.part(b.events[:0], p)
		for k := range events {
			finish(&events[k], script)
			if b.event(i, d, &events[k]) && tail {
				b.l.memo.learn(&b.verdict)
			}
		}
		b.events = events[:0]
		if fault != nil {
			bury(fault)
		}
	})
	if n == 0 {
		bury(&DecodeError{Reason: DecodeEmpty, Data: d.Data(), Detail: "is empty"})
	}
}

// boring says whether a record can be of no class, by its bytes alone. A record
// of a Durable Object is not: the index wants it.
func (b *batch) boring(p *part) bool {
	if b.state.Rules.wantNone {
		return false
	}
	switch p.shape {
	case ShapeTail:
		if p.marks&markObject != 0 && b.l.o.Index != nil {
			return false
		}
	case ShapeWorkersLogs:
		if b.l.o.Index != nil && bytes.Contains(p.data, []byte(`"durableObjectId"`)) {
			return false
		}
	case ShapeLogpush:
	default:
		return false
	}
	return !p.interesting()
}

// again counts a TraceItem whose like was decided before, if its incident is
// open. Anything else has to be decoded and decided.
func (b *batch) again(i int, d Delivery, p *part, script string) bool {
	k := b.l.memo.recall(p, script)
	if k == nil {
		return false
	}
	g := b.groups[k.group.key]
	if g == nil {
		if g = b.resume(&k.group); g == nil {
			return false
		}
	}
	if g.opens == 0 && g.id == "" {
		return false // so far all of it was counted before: nobody knows yet what is open
	}
	e := &b.like
	k.read(e, p, b.l.names)
	e.Time = believed(e.Time, d.Received())
	if b.l.o.Index != nil {
		b.l.o.Index.Add(*e)
	}
	if !g.meets(i, d) {
		g.count(i, k.class, k.sub, e)
	}
	return true
}

// event decides one event and puts it into its group, if it is of any.
func (b *batch) event(i int, d Delivery, e *Event) bool {
	e.Time = believed(e.Time, d.Received())
	if b.l.o.Index != nil {
		b.l.o.Index.Add(*e)
	}
	if e.Shape == ShapeLoad {
		b.slots[i].none++
		return false
	}
	v := &b.verdict
	v.judge(e, &b.state, b.now)
	if v.Action == ActionIgnore {
		b.ignore(i, v)
		return false
	}
	key := incidentKey(v.Class, &v.Target)
	g := b.groups[key]
	if g == nil {
		kind := v.group(key)
		if g = b.resume(&kind); g == nil {
			g = b.add(&kind)
		}
	}
	switch {
	case g.meets(i, d):
	case g.opens == 0 && g.id == "": // in this order: begin sets id meanwhile
		g.opens = max(e.Count, 1)
		g.slots = append(g.slots, member{i, g.opens, g.met})
		first := v.decision()
		first.Counted = CountedOne(d.Sequence(), g.met, d.Received())
		b.begin(g, first)
	default:
		g.count(i, v.Class, v.Subclass, e)
	}
	return true
}

// resume makes the group of an incident that is known to be open; nil when it
// is not.
func (b *batch) resume(kind *groupKind) *group {
	known, ok := b.l.open[kind.key]
	if !ok || !b.now.Before(known.until) {
		return nil
	}
	g := b.add(kind)
	g.id, g.act = known.id, ActionJoin
	return g
}

func (b *batch) add(kind *groupKind) *group {
	g := &group{groupKind: *kind, counted: memory{Counted: b.l.sink.Counted(kind.key)}, slot: -1}
	b.groups[g.key] = g
	b.order = append(b.order, g)
	return g
}

// meets notes an event of delivery i, and reports whether it was counted before:
// the message has come again because its acknowledgement was lost.
func (g *group) meets(i int, d Delivery) (counted bool) {
	if g.slot != i {
		g.slot, g.met = i, 0
	}
	g.met++
	return g.met <= g.counted.events(d.Sequence(), d.Received())
}

// count counts an event of delivery i that joins.
func (g *group) count(i int, class Class, sub Subclass, e *Event) {
	n := max(e.Count, 1)
	if last := len(g.slots) - 1; last >= 0 && g.slots[last].slot == i {
		g.slots[last].n += n
		g.slots[last].upto = g.met
	} else {
		g.slots = append(g.slots, member{i, n, g.met})
	}
	g.tally.add(class, sub, e, n)
}

func (b *batch) ignore(i int, v *verdict) {
	s := &b.slots[i]
	n := max(v.event.Count, 1)
	if v.Class == ClassNone {
		s.none += n
		if v.Reason == ReasonNoTrouble && plainOutcome(v.event.Outcome) {
			return
		}
	} else {
		s.counts = append(s.counts, count{v.Class, ActionIgnore, n})
	}
	b.l.o.Recent.Add(v.decision(), b.now)
}

// plainOutcome says whether an outcome is so common that a record of no class
// with it is not worth remembering.
func plainOutcome(o string) bool {
	return o == "ok" || o == "" || o == "exception" || o == "canceled"
}

// bury puts a part of a message among the dead letters before the message is
// acknowledged.
func (b *batch) bury(i int, d Delivery, fault *DecodeError) {
	reason := string(fault.Reason) + ": " + fault.Error()
	err := b.l.dead.Bury(b.ctx, DeadLetter{
		Subject: d.Subject(), Sequence: d.Sequence(), Reason: reason, Data: fault.Data[:min(len(fault.Data), deadDataKept)], At: b.now,
	})
	if err != nil {
		b.slots[i].failed = true
		b.l.tell(errors.Join(fmt.Errorf("put event %d of message %d among the dead letters", fault.Index+1, d.Sequence()), err))
		return
	}
	b.l.o.Buried(fault.Reason)
}

// believed is an event's own time when it can be, else when the queue had it.
func believed(t, received time.Time) time.Time {
	if t.IsZero() || t.Before(received.Add(-oldest)) || t.After(received.Add(youngest)) {
		return received
	}
	return t
}
