package triggers

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// The model behind a probability. An object at pressure p (0 to 1) is taken to
// be the overloaded one with odds e^(steep·(p-1)) against the others; unseen
// stands for an object that the index does not see, which is taken to be as
// likely as one of pressure unseenAt. The constants were fitted in the
// simulation of index_sim_test.go.
const (
	steep      = 14.0
	unseenAt   = 0.45
	leastP     = 0.30  // an object below is no candidate
	namedAt    = 0.90  // probability from which an object is named
	saturated  = 0.90  // pressure that counts as 1: near its limit a queue grows without one
	strange    = 0.003 // of another script's namespace, for a caller with namespaces of its own
	unrelated  = 0.30  // of the same, when nothing is known of the caller
	candidates = 5
	refreshed  = 200 * time.Millisecond // a namespace's list of hot objects is this fresh
	watched    = 32                     // objects on it
	enough     = 20.0                   // healthy invocations that make coverage, long window
	settled    = 5 * time.Second        // the least time that a namespace must be known
	offeredFor = 10 * time.Minute       // an object that was seen within is offered without coverage
)

// Bind tells which namespaces a script's bindings lead to, as the account's
// settings have it. Without it a script is taken to call its own.
func (ix *Index) Bind(script string, to []Namespace) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	const most = 10_000
	if len(ix.bindings) >= most {
		clear(ix.bindings)
	}
	ix.bindings[clone(script)] = slices.Clone(to)
}

// Suspect names the object that was most likely overloaded when caller's event
// was written, with its probability, or says why it cannot.
func (ix *Index) Suspect(caller Event) Suspicion {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	now := ix.now()
	bound, known := ix.bindings[caller.Script]
	var out Suspicion
	out.Coverage.Why = "it has seen no healthy records or load lines of objects that this caller could have called"
	own := known
	for _, s := range ix.spaces {
		own = own || s.Script == caller.Script
	}
	total := odds(unseenAt)
	var offered []Candidate
	for _, s := range ix.spaces {
		related := slices.Contains(bound, s.Namespace) || !known && s.Script == caller.Script
		prior := 1.0
		switch {
		case s.DispatchNamespace != caller.DispatchNamespace && !related:
			continue
		case related:
		case known:
			continue // its bindings are known, and this is none of them
		case own:
			prior = strange
		default:
			prior = unrelated
		}
		if !ix.cover(s, related || !own, now, &out.Coverage) {
			if slices.Contains(bound, s.Namespace) {
				offered = append(offered, offer(s.hot(now), &caller, now)...)
			}
			continue
		}
		for _, l := range s.hot(now) {
			if l.Target.ObjectID == caller.ObjectID && caller.ObjectID != "" && userFrames(&caller) {
				continue
			}
			w := 0.0 // offered, but not suspected
			switch {
			case l.Pressure >= leastP:
				w = prior * odds(l.Pressure)
			case prior < 1:
				continue
			}
			total += w
			out.Candidates = append(out.Candidates, Candidate{Target: l.Target, Probability: w, Load: l})
		}
	}
	if !out.Coverage.OK {
		byWeight(offered)
		return Suspicion{Coverage: out.Coverage, Candidates: offered[:min(candidates, len(offered))]}
	}
	return out.judged(total)
}

// judged makes probabilities of weights and names the first if it is likely enough.
func (s Suspicion) judged(total float64) Suspicion {
	byWeight(s.Candidates)
	for i := range s.Candidates {
		s.Candidates[i].Probability /= total
	}
	s.Candidates = s.Candidates[:min(candidates, len(s.Candidates))]
	if len(s.Candidates) > 0 {
		first := s.Candidates[0]
		s.Probability = first.Probability
		if first.Probability >= namedAt {
			s.Named, s.Target = true, first.Target
		}
	}
	return s
}

// offer makes candidates of objects about which too little is known for a
// judgement: a person may choose among those that the caller is known to reach.
func offer(loads []Load, caller *Event, now time.Time) []Candidate {
	var out []Candidate
	for _, l := range loads {
		if now.Sub(l.LastSeen) < offeredFor && l.Target.ObjectID != caller.ObjectID {
			out = append(out, Candidate{Target: l.Target, Load: l})
		}
	}
	return out
}

func byWeight(c []Candidate) {
	slices.SortFunc(c, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.Probability, a.Probability), cmp.Compare(b.Load.Pressure, a.Load.Pressure), strings.Compare(a.Target.ObjectID, b.Target.ObjectID))
	})
}

// odds are an object's odds of being the overloaded one, against one that is
// saturated.
func odds(pressure float64) float64 {
	return math.Exp(steep * (min(pressure/saturated, 1) - 1))
}

// userFrames says whether an exception of the event passed through its code:
// then it is not the object that was overloaded.
func userFrames(e *Event) bool {
	return slices.ContainsFunc(e.Texts, func(t Text) bool { return userFrame(t.Stack) })
}

// cover takes a namespace into the coverage, and says whether it is known well
// enough to be judged.
func (ix *Index) cover(s *space, related bool, now time.Time, c *Coverage) bool {
	k := s.sketch
	_, long := k.weights(now)
	healthy := k.healthy / long
	switch {
	case k.last.IsZero() || now.Sub(k.last) > coverageGap:
		return false
	case healthy < enough:
		if related && !c.OK {
			c.Why = fmt.Sprintf("only %.0f healthy invocations of class %s came lately", healthy, orNone(s.Entrypoint))
		}
		return false
	case now.Sub(k.since) < settled:
		if related && !c.OK {
			c.Why = fmt.Sprintf("it has known class %s for %s only", orNone(s.Entrypoint), now.Sub(k.since).Round(time.Second))
		}
		return false
	}
	c.Namespaces++
	c.Healthy += k.healthy * k.scales(now)[1]
	if related {
		c.OK, c.Why = true, ""
		if c.Since.IsZero() || k.since.After(c.Since) {
			c.Since, c.For = k.since.UTC(), now.Sub(k.since)
		}
	}
	return true
}

// hot is the namespace's objects under most pressure, a little while ago at
// most: all that could be meant, or a few in any case, for people to choose.
func (s *space) hot(now time.Time) []Load {
	if age := now.Sub(s.asOf); age >= 0 && age < refreshed {
		return s.hottest
	}
	type place struct {
		at int
		p  float64
	}
	var found []place
	floor := 0.0
	byPressure := func(a, b place) int { return cmp.Compare(b.p, a.p) }
	scale := s.sketch.scales(now)[0]
	for k := range s.sketch.entries {
		p := pressure(&s.sketch.entries[k], scale)
		if p <= floor {
			continue
		}
		if found = append(found, place{k, p}); len(found) >= 4*watched {
			slices.SortFunc(found, byPressure)
			found = found[:watched]
			floor = found[watched-1].p
		}
	}
	slices.SortFunc(found, byPressure)
	s.hottest = nil
	for n, f := range found[:min(watched, len(found))] {
		if f.p < leastP && n >= candidates {
			break
		}
		s.hottest = append(s.hottest, s.load(&s.sketch.entries[f.at], now))
	}
	s.asOf = now
	return s.hottest
}

// Note records that an event was attributed to an object, for lists; a caller
// whose event named the object itself is remembered to call its namespace.
func (ix *Index) Note(d Decision) {
	if d.Target.Kind != TargetDurableObject || d.Class == ClassNone {
		return
	}
	var id [32]byte
	if n, err := hex.Decode(id[:], []byte(d.Target.ObjectID)); err != nil || n != len(id) {
		return
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	now := ix.now()
	for _, s := range ix.spaces {
		e := s.sketch.find(&id)
		if e == nil {
			continue
		}
		if n := max(d.Event.Count, 1); int64(e.over)+n < math.MaxUint32 {
			e.over += uint32(n) //nolint:gosec // checked
		}
		e.overLast = now.Unix()
		if known := ix.bindings[d.Event.Script]; d.Attribution == AttributionLogged && s.Script != d.Event.Script && len(known) < namespaceCount && !slices.Contains(known, s.Namespace) {
			ix.learn(d.Event.Script, s.Namespace)
		}
		return
	}
}

// learn adds a namespace to those that a script is known to call; its own stay
// among them.
func (ix *Index) learn(script string, n Namespace) {
	known := ix.bindings[script]
	if known == nil {
		for o := range ix.spaces {
			if o.Script == script {
				known = append(known, o)
			}
		}
	}
	ix.bindings[clone(script)] = append(known, n)
}

func clone(s string) string { return strings.Clone(s) }
