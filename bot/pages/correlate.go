package pages

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
)

// slot is the resolution of the counts, as in triggers.Tally.Slots.
const slot = 10 * time.Second

// around is how far before and after its window a capture's errors are counted.
const around = time.Minute

// Around is how many errors lie inside, before and after a capture's window.
// Counts are exact to one slot of ten seconds at each edge.
type Around struct {
	Inside, Before, After int64
	Overlap               time.Duration // of the window with the time in which errors came
	Confidence            string
}

// window is when a capture ran; ok is false when it has not.
func window(r capture.Record) (from, to time.Time, ok bool) {
	if r.StartedAt.IsZero() {
		return from, to, false
	}
	return r.StartedAt, r.StartedAt.Add(r.Duration), true
}

// correlate counts a case's errors around one capture.
func correlate(c bot.Case, r capture.Record) (Around, bool) {
	from, to, ok := window(r)
	if !ok {
		return Around{}, false
	}
	var a Around
	for s, versions := range c.Slots {
		at := time.Unix(s*int64(slot/time.Second), 0)
		end := at.Add(slot)
		n := sum(versions)
		switch {
		case at.Before(to) && end.After(from):
			a.Inside += n
			a.Overlap += earlier(to, end).Sub(later(from, at))
		case !end.After(from) && !at.Before(from.Add(-around)):
			a.Before += n
		case !at.Before(to) && at.Before(to.Add(around)):
			a.After += n
		}
	}
	a.Confidence = confidence(c, r, a)
	return a, true
}

// confidence says how far the capture can explain the errors: it never turns
// closeness in time into a cause.
func confidence(c bot.Case, r capture.Record, a Around) string {
	switch {
	case r.State != capture.Stored:
		return "none: the capture gave no profile"
	case c.Target.Kind == "unknown" || c.Attribution == "none":
		return "low: no evidence names the object, so the capture may show another"
	case a.Inside > 0 && c.Confidence == "":
		return "high: the same target, while the errors came"
	case a.Inside > 0:
		return "medium: errors came meanwhile, but the target is only likely"
	case a.Before > 0:
		return "medium: the same target, within a minute after the errors"
	default:
		return "low: no errors within a minute of the capture"
	}
}

// Minute is one minute of an incident with the captures that touch it.
type Minute struct {
	At       time.Time
	Count    int64
	Versions map[string]int64
	Captures []Touch
}

// Touch is a capture seen from a minute of errors.
type Touch struct {
	View     bot.CaptureView
	Overlap  time.Duration // of the capture's window with the minute; 0: nearest only
	Distance time.Duration // from the minute to the window, when they do not overlap
}

// minutes lists the minutes with errors, newest first, each with the captures
// that overlap it, else with the nearest one.
func minutes(c bot.Case) []Minute {
	per := map[int64]*Minute{}
	for s, versions := range c.Slots {
		m := s / int64(time.Minute/slot)
		if per[m] == nil {
			per[m] = &Minute{At: time.Unix(m*60, 0), Versions: map[string]int64{}}
		}
		per[m].Count += sum(versions)
		for v, n := range versions {
			per[m].Versions[v] += n
		}
	}
	// Minutes older than the slots that are kept are known by their count alone.
	for m, n := range c.PerMinute {
		if per[m] == nil && n > 0 {
			per[m] = &Minute{At: time.Unix(m*60, 0), Count: n}
		}
	}
	out := make([]Minute, 0, len(per))
	for _, k := range slices.Backward(slices.Sorted(maps.Keys(per))) {
		m := *per[k]
		m.Captures = touches(c.Captures, m.At, m.At.Add(time.Minute))
		out = append(out, m)
	}
	return out
}

func touches(views []bot.CaptureView, from, to time.Time) []Touch {
	var over []Touch
	var nearest *Touch
	for _, v := range views {
		start, end, ok := window(v.Record)
		if !ok {
			continue
		}
		t := Touch{View: v}
		switch {
		case start.Before(to) && end.After(from):
			t.Overlap = earlier(end, to).Sub(later(start, from))
			over = append(over, t)
		case !start.Before(to):
			t.Distance = start.Sub(to)
		default:
			t.Distance = from.Sub(end)
		}
		// A far capture with a profile explains more than a near one without.
		if t.Overlap == 0 && (nearest == nil || stored(t) && !stored(*nearest) || stored(t) == stored(*nearest) && t.Distance < nearest.Distance) {
			nearest = &t
		}
	}
	if len(over) > 0 || nearest == nil {
		slices.SortFunc(over, func(a, b Touch) int { return cmp.Compare(b.Overlap, a.Overlap) })
		return over
	}
	return []Touch{*nearest}
}

func stored(t Touch) bool { return t.View.Record.State == capture.Stored }

func sum(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
