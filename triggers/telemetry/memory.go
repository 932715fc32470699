package telemetry

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"time"
)

// keptIDs bounds what is remembered: 240 kB as stored, in a bucket whose values
// may take 1 MB.
const (
	keptIDs  = 20_000
	idLength = 12 // bytes: a hash of 64 bits and seconds since 1970
)

// Progress is how far polling has come. Its zero value is "never".
type Progress struct {
	Until time.Time `json:"until"`          // the end of the last whole window
	Floor time.Time `json:"floor"`          // nothing before it is asked for again
	Swept time.Time `json:"swept,omitzero"` // the last window that reached back for late records
	Seen  []byte    `json:"seen,omitempty"` // what was published since Floor
}

// memory is a Progress at work. Its promise: every id that was published and
// whose record is not before floor is in seen.
type memory struct {
	until, floor, swept time.Time
	sweeping            bool              // the window at hand reaches back for late records
	seen                map[uint64]uint32 // hash of the id → second of its record, rounded up
}

func recall(p Progress) memory {
	m := memory{until: p.Until, floor: p.Floor, swept: p.Swept, seen: make(map[uint64]uint32, len(p.Seen)/idLength)}
	for b := p.Seen; len(b) >= idLength; b = b[idLength:] {
		m.seen[binary.BigEndian.Uint64(b)] = binary.BigEndian.Uint32(b[8:])
	}
	return m
}

func (m *memory) progress() Progress {
	p := Progress{Until: m.until, Floor: m.floor, Swept: m.swept, Seen: make([]byte, 0, len(m.seen)*idLength)}
	for h, at := range m.seen {
		p.Seen = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(p.Seen, h), at)
	}
	return p
}

// window is what to ask for at now, and how much that nobody polled is left out.
func (m *memory) window(now time.Time) (from, to time.Time, missed time.Duration) {
	if m.until.IsZero() {
		m.until, m.floor = now.Add(-firstLook), now.Add(-firstLook)
	}
	// A time to come: our clock, or the one of who polled before, is off.
	until := earlier(m.until, now)
	m.floor = earlier(m.floor, now)
	back := overlap
	if m.sweeping = now.Sub(m.swept) >= sweepEvery || m.swept.After(now); m.sweeping {
		back = late
	}
	from = until.Add(-back)
	if oldest := now.Add(-longest); from.Before(oldest) {
		missed = max(oldest.Sub(until), 0)
		from = oldest
	}
	if from.Before(m.floor) {
		from = m.floor
	}
	return from, now, missed
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// done ends a window: what will not be read again is forgotten.
func (m *memory) done(to time.Time) {
	m.until = to
	if m.sweeping {
		m.swept = to
	}
	m.forget(to.Add(-late))
}

// forget lets go of what is before cutoff, which is the floor from now on.
func (m *memory) forget(cutoff time.Time) {
	if !cutoff.After(m.floor) {
		return
	}
	m.floor = cutoff
	for h, at := range m.seen {
		if int64(at) < cutoff.Unix() {
			delete(m.seen, h)
		}
	}
}

func (m *memory) knows(id string) bool {
	_, ok := m.seen[hash(id)]
	return ok
}

// add remembers an id. When there are too many, at least the older half goes,
// and with it the right to ask for their time again.
func (m *memory) add(id string, at time.Time) {
	m.seen[hash(id)] = seconds(at)
	if len(m.seen) <= keptIDs {
		return
	}
	all := make([]uint32, 0, len(m.seen))
	for _, s := range m.seen {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b uint32) int { return cmp.Compare(a, b) })
	m.forget(time.Unix(int64(all[len(all)/2])+1, 0))
}

// seconds rounds up, so that what is forgotten by the second is before it.
func seconds(at time.Time) uint32 {
	return uint32(min(max((at.UnixMilli()+999)/1000, 0), 1<<32-1))
}

func hash(id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails, by its documentation
	return h.Sum64()
}
