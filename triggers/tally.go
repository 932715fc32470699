package triggers

import "strings"

// Bounds of one tally; what is beyond them counts as "other".
const (
	tallyNames = 200
	tallySizes = 32
	otherName  = "other"
)

// tallier sums joined events up.
type tallier struct {
	Tally
	class Class
}

func (t *tallier) add(d *Decision, n int64) {
	e := &d.Event
	if t.PerMinute == nil {
		t.PerMinute = make(map[int64]int64)
		t.class = d.Class
	}
	t.Count += n
	if t.First.IsZero() || e.Time.Before(t.First) {
		t.First = e.Time
	}
	if e.Time.After(t.Last) {
		t.Last = e.Time
	}
	t.PerMinute[e.Time.Unix()/60] += n
	bump(&t.Versions, e.VersionID, n)
	bump(&t.Colos, e.Colo, n)
	bump(&t.Scripts, e.Script, n)
	switch {
	case e.Route == "":
	case e.Method == "":
		bump(&t.Routes, e.Route, n)
	default:
		bumpRoute(&t.Routes, e.Method, e.Route, n)
	}
	if d.Subclass != "" {
		if t.Subclasses == nil {
			t.Subclasses = make(map[Subclass]int64)
		}
		t.Subclasses[d.Subclass] += n
	}
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

// bump counts a name, whose string is copied only when it is new: it points
// into the message that it came in.
func bump(m *map[string]int64, name string, n int64) {
	if name == "" {
		return
	}
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

func bumpRoute(m *map[string]int64, method, route string, n int64) {
	var buf [128]byte
	name := append(append(append(buf[:0], method...), ' '), route...)
	if *m != nil {
		if _, ok := (*m)[string(name)]; ok {
			(*m)[string(name)] += n
			return
		}
	}
	bump(m, string(name), n)
}
