package triggers

import "strings"

// Bounds of one tally; what is beyond them counts as "other".
const (
	tallyNames = 200
	tallySizes = 32
	otherName  = "other"

	slotSeconds = 10 // of Tally.Slots; a minute is a whole number of them
)

// tallier sums joined events up.
type tallier struct {
	Tally
	class Class

	// What the last event was of. Events of one incident are mostly alike, and a
	// comparison is cheaper than five maps.
	last struct {
		version, colo, script, method, route string
		sub                                  Subclass
		slot, n                              int64
	}
	route struct{ method, route, name string }
}

func (t *tallier) add(class Class, sub Subclass, e *Event, n int64) {
	t.class = class
	t.Count += n
	if t.First.IsZero() || e.Time.Before(t.First) {
		t.First = e.Time
	}
	if e.Time.After(t.Last) {
		t.Last = e.Time
	}
	l := &t.last
	if slot := e.Time.Unix() / slotSeconds; l.n == 0 || slot != l.slot || e.VersionID != l.version || e.Colo != l.colo || e.Script != l.script ||
		e.Method != l.method || e.Route != l.route || sub != l.sub {
		t.flush()
		l.version, l.colo, l.script, l.method, l.route = e.VersionID, e.Colo, e.Script, e.Method, e.Route
		l.sub, l.slot = sub, slot
	}
	l.n += n
	if e.Size > 0 {
		t.MaxSize = max(t.MaxSize, e.Size)
		if len(t.Sizes) < tallySizes {
			t.Sizes = append(t.Sizes, e.Size)
		} else {
			// Overwrite in turn, so that the sample is spread over the batch.
			t.Sizes[t.Count%tallySizes] = e.Size
		}
	}
}

// flush counts what the last events were of.
func (t *tallier) flush() {
	l := &t.last
	if l.n == 0 {
		return
	}
	if t.PerMinute == nil {
		t.PerMinute = make(map[int64]int64)
	}
	t.PerMinute[l.slot/(60/slotSeconds)] += l.n
	if t.Slots == nil {
		t.Slots = make(map[int64]map[string]int64)
	}
	versions := t.Slots[l.slot]
	add(&versions, l.version, l.n) // an unknown version too: the slots add up to the count
	t.Slots[l.slot] = versions
	bump(&t.Versions, l.version, l.n)
	bump(&t.Colos, l.colo, l.n)
	bump(&t.Scripts, l.script, l.n)
	if l.route != "" {
		bump(&t.Routes, t.routeName(), l.n)
	}
	if l.sub != "" {
		if t.Subclasses == nil {
			t.Subclasses = make(map[Subclass]int64)
		}
		t.Subclasses[l.sub] += l.n
	}
	l.n = 0
}

// routeName is the last events' method and route, put together once for as long
// as they stay.
func (t *tallier) routeName() string {
	l, r := &t.last, &t.route
	if l.method == "" {
		return l.route
	}
	if r.method != l.method || r.route != l.route {
		r.method, r.route, r.name = l.method, l.route, l.method+" "+l.route
	}
	return r.name
}

// bump counts a name, unless it is not known.
func bump(m *map[string]int64, name string, n int64) {
	if name != "" {
		add(m, name, n)
	}
}

// add counts a name, whose string is copied only when it is new: it points
// into the message that it came in.
func add(m *map[string]int64, name string, n int64) {
	if *m == nil {
		*m = make(map[string]int64)
	}
	if _, ok := (*m)[name]; ok {
		(*m)[name] += n
		return
	}
	if len(*m) >= tallyNames {
		name = otherName
	}
	(*m)[strings.Clone(name)] += n
}
