package flame

import (
	"cmp"
	"slices"
	"strings"

	"github.com/snapflame/snapflame/report"
)

// sentence is a verdict with the function it names apart, so that a long name
// is cut and its figure is not.
type sentence struct {
	before, name, after string
	frame               func(report.Frame) bool // which boxes it is about
	place               string
}

func (s sentence) String() string { return s.before + s.name + s.after }

// Headline is the verdict in one sentence, as the card shows it. It is plain
// text and holds a function's name: escape it for its medium.
func Headline(r *report.Report) string {
	if drawable(r) != nil {
		return "No busy sample: nothing ran in this isolate while it was sampled"
	}
	return verdict(r).String()
}

// whole is what shares are shares of.
func whole(r *report.Report) string {
	if r.Type == report.Heap {
		return "allocated bytes"
	}
	return "busy CPU"
}

// verdict is the sentence of the card. A weak profile says so first: it is the
// one line that survives a thumbnail.
func verdict(r *report.Report) sentence {
	s := finding(r)
	if r.Verdict == report.Weak {
		s.before = "Weak profile: " + s.before
	}
	return s
}

func finding(r *report.Report) sentence {
	if r.Base != nil {
		if s, ok := changeVerdict(r); ok {
			return s
		}
	}
	top, ok := leader(r)
	switch {
	case r.Type == report.CPU && r.GCShare >= 0.30 && r.GCShare >= share(r, top):
		s := sentence{before: percent(r.GCShare) + " of busy CPU is garbage collection", frame: isGC}
		if r.GCShare < 0.90 && ok && r.Verdict == report.Conclusive {
			s.name, s.after = nameOf(top.Name), " "+percent(share(r, top))
			s.before += ", then "
		}
		return s
	case !ok:
		return sentence{before: "No function stands out"}
	}
	s := about(top.Name, top.File, top.Line)
	s.after = " uses " + percent(share(r, top)) + " of busy CPU"
	if r.Type == report.Heap {
		s.after = " allocates " + percent(share(r, top)) + " of the bytes"
	}
	switch {
	case share(r, top) < 0.10:
		s.before = "No function dominates; first "
		s.after = " " + percent(share(r, top))
	case r.Base != nil:
		s.after += ", no clear change"
	}
	return s
}

func isGC(f report.Frame) bool { return f.Kind == report.KindGC }

func about(name, file string, line int64) sentence {
	return sentence{
		name: nameOf(name), place: place(file, line),
		frame: func(f report.Frame) bool {
			return f.Name == name && f.File == file && (line == 0 || f.Line == line)
		},
	}
}

// share is what a function is ranked by: its own time, or for a heap what it
// and its callees without a file allocate.
func share(r *report.Report, f report.Function) float64 {
	if r.Type == report.Heap {
		return max(f.ChargedShare, f.SelfShare)
	}
	return f.SelfShare
}

// leader is the function to name first. Garbage collection has a sentence of
// its own; for a heap, a built-in leaf says nothing about who allocates.
func leader(r *report.Report) (report.Function, bool) {
	best, ok := report.Function{}, false
	for _, f := range r.Functions {
		if f.Kind == report.KindGC || (r.Type == report.Heap && f.Kind == report.KindBuiltin) {
			continue
		}
		if !ok || share(r, f) > share(r, best) {
			best, ok = f, true
		}
	}
	return best, ok && share(r, best) > 0
}

// changeVerdict names the greatest change the intervals support: growth first,
// as that is what somebody woken by an alert looks for.
func changeVerdict(r *report.Report) (sentence, bool) {
	list := called(r.Base)
	if len(list) == 0 {
		return sentence{}, false
	}
	c := list[0]
	s := about(c.Name, c.File, c.Line)
	switch c.Verdict {
	case report.New:
		s.after = " " + percent(c.After) + " of " + whole(r) + ", new"
	case report.Gone:
		s.after = " is gone, was " + percent(c.Before) + " of " + whole(r)
	case report.Grew, report.Shrank, report.NoClearChange:
		s.after = " " + percent(c.After) + " of " + whole(r) + ", was " + percent(c.Before)
	}
	return s, true
}

// called lists the changes that are called, growth before shrinking, greatest first.
func called(c *report.Comparison) []report.Change {
	var list []report.Change
	for _, ch := range c.Changes {
		if ch.Verdict != report.NoClearChange {
			list = append(list, ch)
		}
	}
	slices.SortStableFunc(list, func(a, b report.Change) int {
		return cmp.Compare(b.After-b.Before, a.After-a.Before)
	})
	// Growth is sorted greatest first already; what shrank comes smallest first.
	if i := slices.IndexFunc(list, func(c report.Change) bool { return c.After < c.Before }); i >= 0 {
		slices.Reverse(list[i:])
	}
	return list
}

// subject says what was captured: target, type, window, version.
func subject(r *report.Report) string {
	parts := []string{clean(r.Meta.Title, 64)}
	if parts[0] == "" {
		parts[0] = clean(strings.TrimSpace(r.Meta.Script+" "+r.Meta.Class), 64)
	}
	kind := "CPU profile"
	if r.Type == report.Heap {
		kind = "heap profile"
	}
	d := r.Meta.Duration
	if r.Captures > 1 {
		kind += " of " + count(int64(r.Captures)) + " captures"
	}
	if d <= 0 && r.DurationNS > 0 {
		kind += ", " + seconds(r.DurationNS)
	} else if d > 0 {
		kind += ", " + window(d)
		if r.Captures > 1 {
			kind += " each"
		}
	}
	parts = append(parts, kind)
	if r.Base != nil {
		n := "one baseline"
		if r.Base.Captures > 1 {
			n = count(int64(r.Base.Captures)) + " baselines"
		}
		parts = append(parts, "against "+n)
	}
	return join(parts)
}

// evidence says what the shares rest on.
func evidence(r *report.Report) string {
	if r.Type == report.Heap {
		return join([]string{count(r.Samples) + " allocation samples", size(r.BusyBytes) + " allocated in the window, freed or not"})
	}
	parts := []string{count(r.Samples) + " samples", seconds(r.BusyNS) + " busy"}
	if r.RemovedNS > 0 {
		parts = append(parts, seconds(r.RemovedNS)+" waiting removed")
	}
	if worthSaying := r.BusyNS / 100; r.IdleNS > worthSaying {
		parts = append(parts, seconds(r.IdleNS)+" idle")
	}
	if worthSaying := r.BusyNS / 100; r.ProgramNS > worthSaying {
		parts = append(parts, seconds(r.ProgramNS)+" native code")
	}
	if r.Merged {
		parts = append(parts, "times approximate")
	}
	return join(parts)
}

// warnings are what a reader must not miss.
func warnings(r *report.Report) []string {
	var list []string
	if r.Verdict == report.Weak {
		what := "busy samples"
		if r.Type == report.Heap {
			what = "allocation samples"
		}
		list = append(list, "Too few "+what+" to tell shares apart: read them as hints and capture again under load")
	}
	if n := clean(r.Meta.Note, 120); n != "" {
		list = append(list, n)
	}
	return list
}

// origin is the small print: what to quote when asking about the picture.
func origin(r *report.Report) string {
	var parts []string
	if id := clean(r.Meta.CaptureID, 60); id != "" {
		parts = append(parts, "capture "+id)
	}
	if v := clean(r.Meta.VersionID, 60); v != "" {
		parts = append(parts, "version "+v)
	}
	if !r.Meta.StartedAt.IsZero() {
		parts = append(parts, r.Meta.StartedAt.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if r.Captures > 1 {
		return join(append(parts, count(int64(r.Captures))+" captures merged"))
	}
	return join(append(parts, "1 isolate"))
}

// Alt is the picture in words, for screen readers and for when it is missing.
// It is plain text: escape it for its medium.
func Alt(r *report.Report) string {
	if drawable(r) != nil {
		return Headline(r)
	}
	return "Flamegraph. " + join(append([]string{Headline(r), subject(r), evidence(r)}, warnings(r)...))
}

func join(parts []string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, "  ·  ")
}
