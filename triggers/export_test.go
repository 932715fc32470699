package triggers

import (
	"errors"
	"time"
)

// Forgetful makes a listener decode and decide every record.
func (l *Listener) Forgetful() { l.memo = nil }

// Memory is a listener's memory of TraceItems, in the hands of a test.
type Memory struct {
	m     *memo
	names *names
	s     State
	now   time.Time
}

// NewMemory is empty, for decisions made from s.
func NewMemory(s State, now time.Time) *Memory {
	m := &Memory{m: newMemo(), names: newNames(), s: s, now: now}
	m.m.begin(&m.s, now)
	return m
}

// Learn shows it a message as often as it takes to remember its records.
func (m *Memory) Learn(subject string, data []byte) {
	for range 2 {
		m.each(subject, data, func(p *part, script string) {
			m.m.recall(p, script)
			d := decoder{names: m.names}
			events, fault := d.part(nil, *p)
			if fault != nil {
				return
			}
			finish(&events[0], script)
			var v verdict
			v.judge(&events[0], &m.s, m.now)
			m.m.learn(&v)
		})
	}
}

// Recalled is what it says of one record.
type Recalled struct {
	Event Event
	Class Class
	Sub   Subclass
	Key   string
	Quiet time.Duration
	Note  Decision
}

// Recall returns what it remembers of the message's records, by their place
// among those of its shape that can be read; -1 for one that cannot.
func (m *Memory) Recall(subject string, data []byte) map[int]Recalled {
	out, n := map[int]Recalled{}, -1
	m.each(subject, data, func(p *part, script string) {
		k := m.m.recall(p, script)
		at := -1
		if _, fault := new(decoder).part(nil, *p); fault == nil {
			n++
			at = n
		}
		if k != nil {
			var e Event
			k.read(&e, p, m.names)
			out[at] = Recalled{e, k.class, k.sub, k.group.key, k.group.quiet, k.group.note.decision(0)}
		}
	})
	return out
}

func (m *Memory) each(subject string, data []byte, f func(p *part, script string)) {
	parts(new(scanner), data, func(p part) {
		if p.fault == nil && p.shape == ShapeTail {
			f(&p, SubjectScript(subject))
		}
	})
}

// Classify is classify, with the text that was quoted.
func Classify(e Event) (Class, Subclass, Text) {
	f := classify(&e)
	if f.text < 0 {
		return f.class, f.sub, Text{}
	}
	return f.class, f.sub, e.Texts[f.text]
}

// ExplainAll judges every event of data alone, as if no incident were open and
// every count were met. What is no event gives a line too, which says why.
func ExplainAll(data []byte, rules *Rules, now time.Time) []Line {
	events, err := Decode("", data)
	var faults DecodeErrors
	errors.As(err, &faults)
	lines := make([]Line, 0, len(events)+len(faults))
	for _, e := range events {
		lines = append(lines, Decide(e, State{Rules: rules}, now).Explain(len(lines)+1))
	}
	for _, f := range faults {
		lines = append(lines, Line{
			N: len(lines) + 1, Class: ClassNone, Decision: ActionIgnore, Code: Reason(f.Reason),
			Reason: "not an event: " + f.Error(),
		})
	}
	return lines
}
