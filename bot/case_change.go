package bot

import (
	"maps"
	"slices"
	"time"

	"github.com/snapflame/snapflame/triggers"
)

// Bounds of what a case keeps. A case is one value of the store and is read on
// every change, so that a storm of a million routes must not grow it.
const (
	maxCandidates = 5
	maxLog        = 100
	maxMinutes    = 24 * 60
	maxSlots      = 2 * 60 * 6 // two hours of ten seconds
	maxSlotNames  = 6
	maxNames      = 50 // routes, versions, colos, scripts
	maxSizes      = 64
	maxCaptures   = 60
	otherName     = "(other)"
)

// rootEvery is the least time between two revisions of a root, so that chat.update
// stays far under Slack's tier 3 (50 a minute and workspace).
const rootEvery = 3 * time.Second

// clone copies what the pure functions change. Summaries, records and jobs are
// never changed once they stand in a case, and are shared.
func (c Case) clone() Case {
	c.PerMinute, c.Versions, c.Routes = maps.Clone(c.PerMinute), maps.Clone(c.Versions), maps.Clone(c.Routes)
	c.Colos, c.Scripts, c.Subclasses = maps.Clone(c.Colos), maps.Clone(c.Scripts), maps.Clone(c.Subclasses)
	c.Latest = maps.Clone(c.Latest)
	c.Sizes, c.Captures = slices.Clone(c.Sizes), slices.Clone(c.Captures)
	c.Log, c.Pending = slices.Clone(c.Log), slices.Clone(c.Pending)
	return c
}

// Tallied adds what a batch of joined events summed up to, unless it has it.
func (c Case) Tallied(t triggers.Tally, now time.Time) Case {
	if c.Counted.Covers(t.Counted) {
		return c
	}
	c = c.clone()
	c.count(t)
	if c.LastAt.After(now) {
		c.LastAt = now
	}
	c.ActiveAt = now
	c.rootChanged(now, c.countGap(now))
	return c
}

// Touched keeps a case open that an event has just joined but not yet been
// counted in. It is unchanged while its quiet period is not half over.
func (c Case) Touched(now time.Time) (Case, bool) {
	if now.Sub(c.ActiveAt) < c.Quiet/2 {
		return c, false
	}
	c = c.clone()
	c.ActiveAt = now
	return c, true
}

func (c *Case) count(t triggers.Tally) {
	c.Count += t.Count
	c.Counted = c.Counted.With(t.Counted)
	if !t.Last.IsZero() && t.Last.After(c.LastAt) {
		c.LastAt = t.Last
	}
	if !t.First.IsZero() && t.First.Before(c.OpenedAt) && c.OpenedAt.Sub(t.First) < c.Quiet {
		c.OpenedAt = t.First
	}
	c.PerMinute = addMinutes(c.PerMinute, t.PerMinute)
	c.Slots = addSlots(c.Slots, t.Slots)
	c.Versions = addNames(c.Versions, t.Versions, otherName)
	c.Routes = addNames(c.Routes, t.Routes, otherName)
	c.Colos = addNames(c.Colos, t.Colos, otherName)
	c.Scripts = addNames(c.Scripts, t.Scripts, otherName)
	c.Subclasses = addNames(c.Subclasses, t.Subclasses, otherName)
	c.MaxSize = max(c.MaxSize, t.MaxSize)
	for i, size := range t.Sizes {
		if len(c.Sizes) < maxSizes {
			c.Sizes = append(c.Sizes, size)
		} else {
			// Overwrite in turn: the sample stays spread over the incident.
			c.Sizes[(int(c.Count%maxSizes)+i)%maxSizes] = size
		}
	}
}

func addNames[K ~string](m, add map[K]int64, other K) map[K]int64 {
	if len(add) == 0 {
		return m
	}
	if m == nil {
		m = make(map[K]int64, len(add))
	}
	for _, k := range slices.Sorted(maps.Keys(add)) {
		name := clip(k, 200)
		if _, known := m[name]; !known && len(m) >= maxNames {
			name = other
		}
		m[name] += add[k]
	}
	return m
}

// addSlots copies what it changes: the slots of an older revision stay as they were.
func addSlots(m, add map[int64]map[string]int64) map[int64]map[string]int64 {
	if len(add) == 0 {
		return m
	}
	m = maps.Clone(m)
	if m == nil {
		m = make(map[int64]map[string]int64, len(add))
	}
	for k, versions := range add {
		s := maps.Clone(m[k])
		if s == nil {
			s = make(map[string]int64, len(versions))
		}
		for _, v := range slices.Sorted(maps.Keys(versions)) {
			name := clip(v, 64)
			if _, known := s[name]; !known && len(s) >= maxSlotNames {
				name = otherName
			}
			s[name] += versions[v]
		}
		m[k] = s
	}
	if over := len(m) - maxSlots; over > 0 {
		for _, k := range slices.Sorted(maps.Keys(m))[:over] {
			delete(m, k)
		}
	}
	return m
}

func addMinutes(m, add map[int64]int64) map[int64]int64 {
	if len(add) == 0 {
		return m
	}
	if m == nil {
		m = make(map[int64]int64, len(add))
	}
	for k, n := range add {
		m[k] += n
	}
	if over := len(m) - maxMinutes; over > 0 {
		for _, k := range slices.Sorted(maps.Keys(m))[:over] {
			delete(m, k)
		}
	}
	return m
}

// countGap slows the root down as the incident grows old: in its first minute
// people watch the count, an hour later only the trend matters.
func (c Case) countGap(now time.Time) time.Duration {
	switch age := now.Sub(c.OpenedAt); {
	case age < 2*time.Minute:
		return rootEvery
	case age < 15*time.Minute:
		return 15 * time.Second
	default:
		return time.Minute
	}
}

// rootChanged marks the root as behind; it is handed over now, or when gap has
// passed since its last revision.
func (c *Case) rootChanged(now time.Time, gap time.Duration) {
	at := c.RootAt.Add(gap)
	if !at.After(now) {
		c.postRoot(now)
		return
	}
	if !c.RootDue || at.Before(c.RootNext) {
		c.RootNext = at
	}
	c.RootDue = true
}

func (c *Case) postRoot(now time.Time) {
	c.post(c.rootKey())
	c.RootAt, c.RootDue, c.RootNext = now, false, time.Time{}
}

// evidenceAfter is how long the evidence stays behind its root. Slack takes
// about one message a second in a channel: when several incidents open at once,
// the first word of each must not wait for the details of the others.
const evidenceAfter = rootEvery

// tellEvidence owes the evidence, once.
func (c *Case) tellEvidence() {
	if !c.EvidenceAt.IsZero() {
		c.EvidenceAt = time.Time{}
		c.post(c.ID + ".evidence")
	}
}

func (c Case) rootKey() string                 { return c.ID + ".root" }
func (c Case) reportKey(capture string) string { return c.ID + ".report." + capture }

// effect appends a pending effect under the next number.
func (c *Case) effect(e Effect) {
	c.Seq++
	e.Seq = c.Seq
	c.Pending = append(c.Pending, e)
}

// post owes the message of the key. One that is still pending is replaced under
// a new number: whoever is handing the old one over will find that out.
func (c *Case) post(key string) {
	c.Pending = slices.DeleteFunc(c.Pending, func(e Effect) bool { return e.Post != nil && e.Post.Key == key })
	c.effect(Effect{Kind: EffectPost, Post: &Post{Key: key}})
	if c.Latest == nil {
		c.Latest = make(map[string]int64)
	}
	c.Latest[key] = c.Seq
}

func (c *Case) log(at time.Time, reason, text string) {
	c.Log = append(c.Log, Entry{At: at, Reason: reason, Text: clip(text, 500)})
	if over := len(c.Log) - maxLog; over > 0 {
		c.Log = slices.Delete(c.Log, 1, 1+over) // the first says why the case exists
	}
}

// Done clears effects that were handed over. A post that was overtaken (a newer
// one of its key was handed over meanwhile) is owed again, because the older
// words may now stand where the newer ones did.
func (c Case) Done(effects []Effect, now time.Time) Case {
	c = c.clone()
	for _, e := range effects {
		n := len(c.Pending)
		c.Pending = slices.DeleteFunc(c.Pending, func(p Effect) bool { return p.Seq == e.Seq })
		if len(c.Pending) < n || e.Post == nil {
			continue
		}
		key := e.Post.Key
		pending := slices.ContainsFunc(c.Pending, func(p Effect) bool { return p.Post != nil && p.Post.Key == key })
		if c.Latest[key] > e.Seq && !pending {
			c.post(key)
		}
	}
	return c
}

// Refused notes that the queue would not take a job yet, because its target has
// another one. It is said once and the job stays pending.
func (c Case) Refused(job string, now time.Time) Case {
	i := c.view(job)
	if i < 0 || c.Captures[i].Busy {
		return c
	}
	c = c.clone()
	c.Captures[i].Busy = true
	c.rootChanged(now, rootEvery)
	return c
}

func (c Case) view(capture string) int {
	return slices.IndexFunc(c.Captures, func(v CaptureView) bool { return v.Record.ID == capture })
}

func firstN[T any](s []T, n int) []T { return s[:min(len(s), n)] }

// clip shortens to at most n bytes without cutting a character in two.
func clip[S ~string](s S, n int) S {
	if len(s) <= n {
		return s
	}
	cut := n - len("…")
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
