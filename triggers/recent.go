package triggers

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Recent is a bounded memory of the decisions that were made here, for "why
// did it (not) fire?". Captures, reports and joins have one ring, ignored
// events another, so that a flood of one does not push the other out. It is
// soft state. The zero value keeps nothing; see NewRecent.
type Recent struct {
	mu      sync.Mutex
	acted   ring
	ignored ring
}

// Past is a decision that was made.
type Past struct {
	At       time.Time
	Decision Decision // without the texts of its event
}

// NewRecent keeps the last n decisions that acted and the last n that ignored.
func NewRecent(n int) *Recent {
	return &Recent{acted: ring{size: n}, ignored: ring{size: n}}
}

type ring struct {
	size int
	list []Past
	next int
}

func (r *ring) add(p Past) {
	switch {
	case r.size <= 0:
	case len(r.list) < r.size:
		r.list = append(r.list, p)
	default:
		r.list[r.next] = p
		r.next = (r.next + 1) % r.size
	}
}

// Add keeps a decision. Its strings are copied: those of an event point into
// the message that it came in.
func (r *Recent) Add(d Decision, at time.Time) {
	if r == nil {
		return
	}
	e := &d.Event
	e.Texts, d.Candidates = nil, slices.Clone(d.Candidates)
	for _, s := range []*string{
		&d.Quote, &d.Sentence, &d.Rule, &d.Target.Script, &d.Target.Entrypoint, &d.Target.ObjectID, &d.Target.VersionID, &d.Target.DispatchNamespace,
		&e.Script, &e.Service, &e.Environment, &e.DispatchNamespace, &e.Entrypoint, &e.ObjectID, &e.VersionID, &e.ExecutionModel,
		&e.Outcome, &e.Trigger, &e.Method, &e.Route, &e.Colo, &e.RayID, &e.RequestID,
	} {
		*s = strings.Clone(*s)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.Action == ActionIgnore {
		r.ignored.add(Past{at, d})
		return
	}
	r.acted.add(Past{at, d})
}

// List returns up to limit decisions that keep wants, newest first; a nil keep
// wants all.
func (r *Recent) List(limit int, keep func(Decision) bool) []Past {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	all := append(slices.Clone(r.acted.list), r.ignored.list...)
	r.mu.Unlock()
	if keep != nil {
		all = slices.DeleteFunc(all, func(p Past) bool { return !keep(p.Decision) })
	}
	slices.SortStableFunc(all, func(a, b Past) int { return b.At.Compare(a.At) })
	return all[:min(limit, len(all))]
}
