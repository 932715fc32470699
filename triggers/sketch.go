package triggers

import (
	"hash/maphash"
	"math"
	"time"
)

// The windows of the index, as time constants of exponential forgetting: an
// invocation counts e^(-age/τ). The short one tells who is hot now: an object
// that saturates shows 63 % of its load after 5 s and 95 % after 15. The long one
// is what lists and threads show.
const (
	shortWindow = 5 * time.Second
	longWindow  = 2 * time.Minute
)

// Metric is what an object is heavy by.
type Metric int

// The metrics. Each is kept over both windows.
const (
	MetricCPU      Metric = iota // seconds
	MetricWall                   // seconds
	MetricRequests               // invocations
	MetricErrors                 // invocations that ended otherwise than ok
	metrics
	values = 2 * metrics // the short window's, then the long one's
)

// sketch keeps the heaviest objects of one namespace in bounded memory: the
// frequent-items algorithm of Misra and Gries with exponential forgetting, over
// several weights at once, pruned in bulk.
//
// When a sketch of c entries is full, each value of each entry is lowered by
// the c/16-th largest of its kind, and entries with nothing left are dropped.
// Of the eight kinds each keeps at most c/16 entries above zero, so at least
// half of the entries go, and a prune costs O(1) per insertion. Lowering by m
// takes at least m·c/16 of the total weight W away, so that all lowerings
// together, which is what an estimate can be short of, are at most 16·W/c.
// Values and lowerings age alike, so that the bound holds at every moment.
//
//	estimate ≤ truth ≤ estimate + lost, lost ≤ 16·W/c
//
// With c = 65,536 that is 1/4096 of the namespace's load.
type sketch struct {
	seed    maphash.Seed
	entries []entry
	at      map[uint64]int32 // hash of the id → place in entries
	limit   int
	origin  time.Time       // values are weighted e^(+(t-origin)/τ): forward decay
	total   [values]float64 // of all invocations, kept or not
	lost    [values]float64 // the most that an entry's value can be short of
	healthy float64         // healthy invocations, long window
	since   time.Time       // healthy invocations have come without a gap since
	last    time.Time       // the newest healthy one
	tick    time.Time       // of the cached weights
	weight  [2]float64
	scratch []float64

	scale     [2]float64 // cached by scales
	scaledAt  time.Time
	scaledFor time.Time
}

type entry struct {
	id       [32]byte
	v        [values]float64
	since    int64 // unix seconds
	last     int64
	hot      int64 // unix seconds since the pressure passed a half; 0
	over     uint32
	overLast int64
	version  uint16
}

func newSketch(limit int, now time.Time) *sketch {
	return &sketch{seed: maphash.MakeSeed(), at: make(map[uint64]int32, limit), limit: limit, origin: now}
}

// weights are e^(+(now-origin)/τ) for both windows, exact to 50 ms.
func (s *sketch) weights(now time.Time) (short, long float64) {
	if d := now.Sub(s.tick); d >= 0 && d < 50*time.Millisecond {
		return s.weight[0], s.weight[1]
	}
	if now.Sub(s.origin) > 30*shortWindow {
		s.rebase(now)
	}
	d := float64(now.Sub(s.origin))
	s.tick = now
	s.weight = [2]float64{math.Exp(d / float64(shortWindow)), math.Exp(d / float64(longWindow))}
	return s.weight[0], s.weight[1]
}

// rebase moves the origin to now, before the weights overflow.
func (s *sketch) rebase(now time.Time) {
	d := float64(now.Sub(s.origin))
	f := [2]float64{math.Exp(-d / float64(shortWindow)), math.Exp(-d / float64(longWindow))}
	for i := range values {
		s.total[i] *= f[i/metrics]
		s.lost[i] *= f[i/metrics]
	}
	s.healthy *= f[1]
	for k := range s.entries {
		for i := range values {
			s.entries[k].v[i] *= f[i/metrics]
		}
	}
	s.origin = now
}

// find returns the entry of an id, or nil.
func (s *sketch) find(id *[32]byte) *entry {
	if k, ok := s.at[maphash.Bytes(s.seed, id[:])]; ok && s.entries[k].id == *id {
		return &s.entries[k]
	}
	return nil
}

// add counts what an object did. grow is asked whether a full sketch may
// double; it prunes otherwise.
func (s *sketch) add(id *[32]byte, amount [metrics]float64, now time.Time, grow func() bool) *entry {
	short, long := s.weights(now)
	for i, a := range amount {
		s.total[i] += a * short
		s.total[int(metrics)+i] += a * long
	}
	h := maphash.Bytes(s.seed, id[:])
	k, ok := s.at[h]
	switch {
	case ok && s.entries[k].id != *id:
		return nil // two ids of one 64-bit hash: one in 10^14 additions
	case !ok:
		if len(s.entries) >= s.limit {
			if grow() {
				s.limit *= 2
			} else {
				s.prune()
			}
		}
		if len(s.entries) == cap(s.entries) {
			grown := make([]entry, len(s.entries), s.limit)
			copy(grown, s.entries)
			s.entries = grown
		}
		k = int32(len(s.entries)) //nolint:gosec // bounded by limit
		s.entries = append(s.entries, entry{id: *id, since: now.Unix()})
		s.at[h] = k
	}
	e := &s.entries[k]
	for i, a := range amount {
		e.v[i] += a * short
		e.v[int(metrics)+i] += a * long
	}
	return e
}

// prune makes room for at least half of the entries.
func (s *sketch) prune() {
	keep := max(s.limit/(2*int(values)), 1)
	for i := range values {
		s.scratch = s.scratch[:0]
		for k := range s.entries {
			s.scratch = append(s.scratch, s.entries[k].v[i])
		}
		m := largest(s.scratch, keep)
		s.lost[i] += m
		for k := range s.entries {
			s.entries[k].v[i] = max(s.entries[k].v[i]-m, 0)
		}
	}
	clear(s.at)
	kept := s.entries[:0]
	for _, e := range s.entries {
		if e.v != [values]float64{} {
			s.at[maphash.Bytes(s.seed, e.id[:])] = int32(len(kept)) //nolint:gosec // bounded by limit
			kept = append(kept, e)
		}
	}
	s.entries = kept
}

// largest is the k-th largest of a, k from 1. It reorders a.
func largest(a []float64, k int) float64 {
	lo, hi, k := 0, len(a)-1, k-1
	for lo < hi {
		pivot := a[lo+(hi-lo)/2]
		i, j := lo, hi
		for i <= j {
			for a[i] > pivot {
				i++
			}
			for a[j] < pivot {
				j--
			}
			if i <= j {
				a[i], a[j] = a[j], a[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return a[k]
		}
	}
	return a[k]
}

// scales turn stored values into units a second at now: the weight taken off,
// over the window. A sketch that is younger than the window divides by the age
// that it has.
func (s *sketch) scales(now time.Time) [2]float64 {
	s.weights(now)
	if s.scaledAt.Equal(s.tick) && s.scaledFor.Equal(s.since) {
		return s.scale
	}
	s.scaledAt, s.scaledFor = s.tick, s.since
	age := max(float64(now.Sub(s.since)), float64(time.Second))
	for i, window := range [2]float64{float64(shortWindow), float64(longWindow)} {
		full := window
		if !s.since.IsZero() {
			full = window * (1 - math.Exp(-age/window))
		}
		s.scale[i] = float64(time.Second) / (s.weight[i] * full)
	}
	return s.scale
}
