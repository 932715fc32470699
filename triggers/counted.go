package triggers

import (
	"encoding/binary"
	"slices"
	"sort"
	"time"
)

// countedRuns bounds what an incident remembers of the messages it has counted:
// 1 to 3 KiB. Only the newest can come again.
const countedRuns = 512

// Counted is which messages of the events stream an incident has counted, and
// each of them up to which of its events. An acknowledgement can be lost with
// the process, or the server, that had it in memory: the message then comes
// again, and this keeps it from counting twice. The zero value is none.
type Counted struct {
	// At is when the stream stored the newest of them. A message that was stored
	// later is another one: the stream was made anew and its numbers start over.
	At time.Time `json:"at"`
	To uint64    `json:"to"` // the newest sequence
	// Runs are ranges of sequences, oldest first, as varints: the gap after the
	// run before, the length less one, the events of each message.
	Runs []byte `json:"runs"`
}

type run struct{ from, to, n uint64 }

// CountedOne is one message up to its event n, of those that are of one incident.
func CountedOne(sequence uint64, n int, stored time.Time) Counted {
	return pack([]run{{sequence, sequence, uint64(max(n, 0))}}, stored)
}

// IsZero reports whether nothing is counted.
func (c Counted) IsZero() bool { return len(c.Runs) == 0 }

// runs unpacks; what cannot be read counts as nothing.
func (c Counted) runs() []run {
	var out []run
	at := uint64(0)
	for b := c.Runs; len(b) > 0; {
		var v [3]uint64
		for i := range v {
			x, n := binary.Uvarint(b)
			if n <= 0 {
				return nil
			}
			v[i], b = x, b[n:]
		}
		r := run{at + v[0], at + v[0] + v[1], v[2]}
		if r.from < at || r.to < r.from || r.to+1 == 0 || len(out) >= 2*countedRuns {
			return nil
		}
		at = r.to + 1
		out = append(out, r)
	}
	return out
}

func pack(runs []run, at time.Time) Counted {
	c := Counted{At: at}
	if len(runs) > countedRuns {
		runs = runs[len(runs)-countedRuns:]
	}
	next := uint64(0)
	for _, r := range runs {
		c.Runs = binary.AppendUvarint(c.Runs, r.from-next)
		c.Runs = binary.AppendUvarint(c.Runs, r.to-r.from)
		c.Runs = binary.AppendUvarint(c.Runs, r.n)
		next, c.To = r.to+1, r.to
	}
	return c
}

// With is both together; of a message in both, the one that goes further. What
// a batch counts of a message begins where the count before it ended.
func (c Counted) With(d Counted) Counted {
	switch {
	case d.IsZero():
		return c
	case c.IsZero():
		return d
	}
	if d.At.After(c.At) {
		if d.To < c.To {
			return d // younger with a lower number: of another stream
		}
		c.At = d.At
	}
	a, b := c.runs(), d.runs()
	var cuts []uint64
	for _, r := range slices.Concat(a, b) {
		cuts = append(cuts, r.from, r.to+1)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out []run
	for i, from := range cuts[:max(len(cuts)-1, 0)] {
		n := max(eventsOf(a, from), eventsOf(b, from))
		if n == 0 {
			continue
		}
		out = follow(out, run{from, cuts[i+1] - 1, n})
	}
	return pack(out, c.At)
}

func eventsOf(runs []run, sequence uint64) uint64 {
	i := sort.Search(len(runs), func(i int) bool { return runs[i].to >= sequence })
	if i < len(runs) && runs[i].from <= sequence {
		return runs[i].n
	}
	return 0
}

// Covers reports whether every event of d is counted in c.
func (c Counted) Covers(d Counted) bool {
	if c.IsZero() || d.IsZero() || d.At.After(c.At) {
		return false
	}
	have := c.runs()
	for _, r := range d.runs() {
		for at := r.from; ; {
			i := sort.Search(len(have), func(i int) bool { return have[i].to >= at })
			if i == len(have) || have[i].from > at || have[i].n < r.n {
				return false
			}
			if have[i].to >= r.to {
				break
			}
			at = have[i].to + 1
		}
	}
	return true
}

// Overlaps reports whether some messages of d are counted in c as far as d
// counts them.
func (c Counted) Overlaps(d Counted) bool {
	if c.IsZero() || d.IsZero() || d.At.After(c.At) && d.To < c.To {
		return false
	}
	have := c.runs()
	for _, r := range d.runs() {
		for i := sort.Search(len(have), func(i int) bool { return have[i].to >= r.from }); i < len(have) && have[i].from <= r.to; i++ {
			if have[i].n >= r.n {
				return true
			}
		}
	}
	return false
}

// memory is a Counted that is unpacked when it is needed, which is only when a
// message comes again.
type memory struct {
	Counted
	unpacked []run
}

// events is how many events of a message are counted.
func (m *memory) events(sequence uint64, stored time.Time) int {
	if sequence > m.To || stored.After(m.At) || m.IsZero() {
		return 0
	}
	if m.unpacked == nil {
		m.unpacked = m.runs()
	}
	return int(min(eventsOf(m.unpacked, sequence), 1<<30))
}
