package triggers

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// begin hands the first decision of a group to the sink, at once.
func (b *batch) begin(g *group, d Decision) {
	g.first = d
	b.free <- struct{}{}
	b.wait.Go(func() {
		defer func() { <-b.free }()
		got, err := b.l.sink.Handle(b.ctx, d)
		if err != nil {
			g.err = fmt.Errorf("handle an event of incident %s: %w", g.key, err)
			return
		}
		g.id, g.act = got.IncidentID, got.Action
		// The sink may know better: of a silence, or of what a caller can reach.
		g.first = got
		g.first.Action, g.first.Event = d.Action, d.Event
		g.note.Target, g.note.Attribution = got.Target, got.Attribution
	})
}

// settle tallies what joined, and marks the deliveries that have to come again.
// It returns how many calls of the sink were made and how many worked.
func (b *batch) settle() (tried, worked int) {
	var tallies []Tally
	for _, g := range b.order {
		if g.opens > 0 {
			tried++
		}
		if g.err != nil {
			b.l.tell(g.err)
			continue
		}
		if g.opens > 0 {
			worked++
			if g.act == ActionJoin {
				// The sink counts the event that opens, not the one that joins.
				g.tally.add(g.first.Class, g.first.Subclass, &g.first.Event, g.opens)
			}
		}
		if g.act != ActionIgnore && g.tally.Count > 0 {
			g.tally.flush()
			g.tally.IncidentKey, g.tally.IncidentID, g.tally.Counted = g.key, g.id, b.counted(g)
			tallies = append(tallies, g.tally.Tally)
		}
	}
	var err error
	if len(tallies) > 0 {
		tried++
		if err = b.l.sink.Tally(b.ctx, tallies); err == nil {
			worked++
		} else {
			b.l.tell(fmt.Errorf("count %d incidents' events: %w", len(tallies), err))
		}
	}
	for _, g := range b.order {
		if g.err == nil && err != nil && g.act != ActionIgnore && g.tally.Count > 0 {
			g.err = err
		}
		b.finish(g)
	}
	return tried, worked
}

// counted is the messages of a group's tally.
func (b *batch) counted(g *group) Counted {
	var at time.Time
	var runs []run
	sorted := true // as a rule
	for k, m := range g.slots {
		if k == 0 && g.opens > 0 && g.act != ActionJoin && m.n == g.opens {
			continue // nothing but the event that opened, which the sink counted
		}
		d := b.deliveries[m.slot]
		if d.Received().After(at) {
			at = d.Received()
		}
		s := d.Sequence()
		sorted = sorted && (len(runs) == 0 || runs[len(runs)-1].to < s)
		runs = follow(runs, run{s, s, uint64(m.upto)}) //nolint:gosec // not negative
	}
	if !sorted {
		slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.from, b.from) })
		all := runs
		runs = nil
		for _, r := range all {
			if last := len(runs) - 1; last < 0 || runs[last].to < r.from { // else the same message twice
				runs = follow(runs, r)
			}
		}
	}
	return pack(runs, at)
}

// follow appends a run, to the last one when that goes on.
func follow(runs []run, r run) []run {
	if last := len(runs) - 1; last >= 0 && runs[last].to+1 == r.from && runs[last].n == r.n {
		runs[last].to = r.to
		return runs
	}
	return append(runs, r)
}

// finish remembers a group's incident, or forgets it when it failed.
func (b *batch) finish(g *group) {
	if g.err != nil {
		delete(b.l.open, g.key)
		for _, m := range g.slots {
			b.slots[m.slot].failed = true
		}
		return
	}
	if g.opens > 0 {
		d := g.first
		d.Action, d.IncidentID = g.act, g.id
		if d.Action == ActionJoin {
			d.Reason, d.Sentence = ReasonJoined, "an open incident covers it; "+d.Sentence
		}
		b.l.o.Recent.Add(d, b.now)
	}
	if g.act == ActionIgnore || g.id == "" {
		return // of nothing, or of what was counted before
	}
	if b.l.o.Index != nil {
		n := g.tally.Count
		if g.act != ActionJoin {
			n += g.opens
		}
		b.l.o.Index.Note(g.note.decision(n))
	}
	if len(b.l.open) >= openKept {
		clear(b.l.open)
	}
	fresh := openFresh
	if g.quiet > 0 {
		fresh = min(fresh, g.quiet/2)
	}
	b.l.open[g.key] = openIncident{id: g.id, until: b.now.Add(fresh)}
}

// observe tells what was handled for good.
func (b *batch) observe() {
	type label struct {
		c Class
		a Action
	}
	sums := make(map[label]int64)
	for i := range b.slots {
		if s := &b.slots[i]; !s.failed {
			sums[label{ClassNone, ActionIgnore}] += s.none
			for _, c := range s.counts {
				sums[label{c.class, c.action}] += c.n
			}
		}
	}
	for _, g := range b.order {
		class := g.tally.class
		if g.opens > 0 {
			class = g.first.Class
		}
		for k, m := range g.slots {
			if b.slots[m.slot].failed {
				continue
			}
			action, n := ActionJoin, m.n
			if g.act == ActionIgnore {
				action = ActionIgnore
			} else if k == 0 && g.opens > 0 && g.act != ActionJoin {
				sums[label{class, g.act}] += g.opens
				n -= g.opens
			}
			sums[label{class, action}] += n
		}
	}
	for l, n := range sums {
		if n > 0 {
			b.l.o.Observe(l.c, l.a, n)
		}
	}
}
