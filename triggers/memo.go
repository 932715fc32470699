package triggers

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"
	"time"
)

// Bounds of a memo.
const (
	memoKept = 4096 // records of one generation, of which there are two
	memoKey  = 2048 // bytes of a record that may decide
	memoSeen = 4096 // first sights remembered
)

// memo remembers what was decided of TraceItems, so that the next one that is
// alike need not be decoded and decided again: in a storm most are.
//
// Its key is everything of a record that a decision is made from, as it stands
// in the text, byte by byte: two records are alike only if they are equal in
// all of it. What else a record holds (times, request, response, headers) is
// read of each. A decision that hangs on more than its record (a rule that
// counts, the index) is never remembered, and those that hang on rules and
// silences for as long as these stay the same.
//
// A record is remembered when its like comes for the second time, so that
// records of which no two are alike cost little here. A nil memo remembers
// nothing.
type memo struct {
	rules       *Rules
	silences    []Silence
	since, till time.Time // in which no silence begins or ends
	young, old  map[string]*known
	seed        maphash.Seed
	seen        [memoSeen]uint64
	key         []byte // of the record in hand
}

// known is a record that was decided, and what all of its like have in common.
type known struct {
	event Event // but for what measure reads
	class Class
	sub   Subclass
	group groupKind
}

// read is the event that decoding the record would give, but for its texts and
// what no incident counts.
func (k *known) read(e *Event, p *part, n *names) {
	*e = k.event
	r := reader{part: p, names: n}
	r.measure(e)
	e.Method, e.Route, e.Colo = clip(e.Method, maxName), clip(e.Route, maxName), clip(e.Colo, maxName)
}

func newMemo() *memo {
	return &memo{seed: maphash.MakeSeed(), young: make(map[string]*known), old: make(map[string]*known)}
}

// begin forgets everything if rules, silences or the silences in force are
// others than before.
func (m *memo) begin(s *State, now time.Time) {
	if m == nil || m.rules == s.Rules && slices.Equal(m.silences, s.Silences) && !now.Before(m.since) && now.Before(m.till) {
		return
	}
	clear(m.young)
	clear(m.old)
	m.rules, m.silences, m.since, m.till = s.Rules, slices.Clone(s.Silences), now, now.Add(time.Hour)
	for _, one := range s.Silences {
		if one.Until.After(now) && one.Until.Before(m.till) {
			m.till = one.Until
		}
	}
}

// recall returns what is known of the record's like; nil when that is nothing.
// It leaves the record's key for learn.
func (m *memo) recall(p *part, script string) *known {
	if m == nil {
		return nil
	}
	m.key = decisive(m.key[:0], p, script)
	if len(m.key) > memoKey {
		m.key = m.key[:0]
	}
	if len(m.key) == 0 {
		return nil
	}
	if k := m.young[string(m.key)]; k != nil {
		return k
	}
	k := m.old[string(m.key)]
	if k != nil {
		m.put(k)
	}
	return k
}

// learn remembers what was decided of the record that recall was asked about
// last, if its like was seen before.
func (m *memo) learn(v *verdict) {
	if m == nil || len(m.key) == 0 || v.Action == ActionIgnore || v.counted || !v.ev.reason.lasting() {
		return
	}
	h := maphash.Bytes(m.seed, m.key) | 1
	if at := &m.seen[h>>1%memoSeen]; *at != h {
		*at = h
		return
	}
	k := &known{event: *v.event, class: v.Class, sub: v.Subclass, group: v.group(incidentKey(v.Class, &v.Target))}
	k.event.Texts, k.event.RayID, k.event.RequestID, k.event.Status, k.event.Truncated = nil, "", "", 0, false
	m.put(k)
}

func (m *memo) put(k *known) {
	if len(m.young) >= memoKept {
		m.young, m.old = m.old, m.young
		clear(m.young)
	}
	m.young[string(m.key)] = k
}

// decisive appends what a decision about a TraceItem is made from, framed so
// that no two records have the same: the texts without their timestamps. script
// is the subject's. It appends nothing when the record is not of the usual form.
func decisive(key []byte, p *part, script string) []byte {
	if p.times.n > maxTimes {
		return key
	}
	key = frame(key, script)
	for _, at := range [...]int{atScript, atOutcome, atModel, atVersion, atEntrypoint, atObject, atDispatch, atTags} {
		key = frame(key, p.raw(at))
	}
	for _, at := range [...]int{atExceptions, atLogs} {
		key = frameTexts(key, p, p.spots[at])
	}
	return key
}

// frameTexts appends exceptions or logs without their timestamps.
func frameTexts(key []byte, p *part, v spot) []byte {
	times := p.times.list[:p.times.n]
	for len(times) > 0 && times[0].from < v.from {
		times = times[1:]
	}
	n := 0
	for n < len(times) && times[n].to <= v.to {
		n++
	}
	key = binary.AppendUvarint(key, uint64(n))
	if v.to == 0 {
		return key
	}
	from := v.from
	for _, t := range times[:n] {
		key = frame(key, p.data[from-p.base:t.from-p.base])
		from = t.to
	}
	return frame(key, p.data[from-p.base:v.to-p.base])
}

// lasting says whether evidence is the record's alone, without the index.
func (r Reason) lasting() bool {
	switch r {
	case ReasonOwnRecord, ReasonLoggedID, ReasonSeveralObjects, ReasonAccountWide, ReasonClassOnly, ReasonNoScript:
		return true
	default:
		return false
	}
}

func frame[T string | []byte](key []byte, s T) []byte {
	return append(binary.AppendUvarint(key, uint64(len(s))), s...)
}

// groupKind is what all events of one incident have in common, for the index.
type groupKind struct {
	key   string
	quiet time.Duration
	note  note
}

// note is what the index is told of an incident.
type note struct {
	Class       Class
	Target      Target
	Attribution Attribution
	Script      string // who reported it
}

func (n *note) decision(count int64) Decision {
	return Decision{Class: n.Class, Target: n.Target, Attribution: n.Attribution, Event: Event{Script: n.Script, Count: count}}
}

// group is the incident of a decision. Its strings are copies: those of an
// event may point into a larger text.
func (v *verdict) group(key string) groupKind {
	n := note{Class: v.Class, Target: v.Target, Attribution: v.Attribution, Script: strings.Clone(v.event.Script)}
	n.Target.ObjectID = strings.Clone(n.Target.ObjectID)
	return groupKind{key: key, quiet: v.Quiet, note: n}
}
