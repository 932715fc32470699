package bot

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/snapflame/snapflame/capture"
)

// maxRows is how many functions a thread shows; the page shows all.
const maxRows = 8

// Report is the reply that a capture was for. No figure stands in it without
// its window and how far it can be trusted.
func (w Writer) Report(c Case, v CaptureView) Card {
	r, s := v.Record, *v.Summary
	card := Card{
		Title:   reportTitle(c, r, s),
		Icon:    reportIcon(r, s),
		Verdict: w.Templates.verdict(c, headline(s)),
	}
	card.Fields = w.reportFields(c, r, s)
	if s.Verdict != verdictEmpty && s.Verdict != verdictUnread && len(s.Top) > 0 {
		card.Table = functionTable(s.Top, maxRows)
	}
	card.Sections = append(card.Sections, trust(r, s)...)
	if len(s.Findings) > 0 {
		card.Sections = append(card.Sections, Section{Heading: "Findings", Lines: s.Findings})
	}
	if len(s.Changes) > 0 || s.Baseline != "" {
		compared := Section{Heading: "Compared with " + orText(s.Baseline, "the baseline"), Lines: s.Changes}
		if len(s.Changes) == 0 {
			compared.Text = "No clear change."
		}
		card.Sections = append(card.Sections, compared)
	}
	card.Sections = append(card.Sections, notesSection(r)...)
	card.Context = []string{captureContext(r)}
	if card.Table != nil {
		legend := "Self: in the function itself. Total: with what it calls. Lines say where a function is defined."
		if r.Type == capture.Heap {
			legend += " The sentence on top counts what built-ins allocate to the function that calls them; Self does not."
		}
		card.Context = append(card.Context, legend)
	}
	card.Buttons = w.reportButtons(c, r, s)
	card.Text = fmt.Sprintf("%s: %s [%s]", card.Title, card.Verdict, s.basis())
	return card
}

func reportTitle(c Case, r capture.Record, s Summary) string {
	target := c.Target
	if c.Picked != nil {
		target = *c.Picked
	}
	kind := "CPU profile"
	if r.Type == capture.Heap {
		kind = "Heap profile"
	}
	if s.Captures > 1 {
		kind += " (" + strconv.Itoa(s.Captures) + " captures merged)"
	}
	return kind + ": " + targetWords(target, c.Script)
}

func reportIcon(r capture.Record, s Summary) string {
	switch {
	case s.Verdict == verdictUnread:
		return "warning"
	case s.Verdict == verdictEmpty:
		return "zzz"
	case r.Type == capture.Heap:
		return "floppy_disk"
	default:
		return "fire"
	}
}

// headline is the one sentence, with what weakens it said first.
func headline(s Summary) string {
	switch s.Verdict {
	case verdictWeak:
		return "Weak evidence, a hint only: " + strings.TrimPrefix(s.Headline, "Weak profile: ")
	case verdictEmpty:
		return orText(s.Headline, "Nothing ran while the profile was taken.")
	default:
		return s.Headline
	}
}

// basis is what stands beside every figure: its window and how far to trust it.
func (s Summary) basis() string {
	if s.Verdict == "" {
		return s.Window
	}
	return s.Window + "; " + s.Verdict
}

func (w Writer) reportFields(c Case, r capture.Record, s Summary) []Field {
	f := []Field{
		{Label: "Window", Value: s.Window},
		{Label: "Confidence", Value: confidenceWords(r.Type, s)},
	}
	if r.Type == capture.Heap {
		if s.Bytes > 0 {
			f = append(f, Field{Label: "Allocated in the window", Value: size(s.Bytes)})
		}
	} else if s.Busy > 0 {
		f = append(f, Field{Label: "Busy CPU", Value: span(s.Busy)})
	}
	isolates := "one; others of this Worker may look different"
	if s.Captures > 1 {
		isolates = fmt.Sprintf("%d captures, each of one isolate", s.Captures)
		if s.Spread != "" {
			isolates += "; spread " + s.Spread
		}
	} else if r.Target.Kind == capture.DurableObject {
		isolates = "the object's own, which can hold other objects of its class"
	}
	f = append(f, Field{Label: "Isolates", Value: isolates})
	if v := versionWords(r); v != "" {
		f = append(f, Field{Label: "Version", Value: v, Code: true})
	}
	f = append(f, Field{Label: "Compared with", Value: orText(s.Baseline, "nothing: there is no baseline yet")})
	if r.RequestedBy != "" {
		f = append(f, Person("Asked by", r.RequestedBy, c.nameOf(r.RequestedBy)))
	}
	return f
}

// nameOf is a person's name where it is known.
func (c Case) nameOf(id string) string {
	if id == c.RequestedBy {
		return c.RequestedName
	}
	return ""
}

func confidenceWords(t capture.Type, s Summary) string {
	switch s.Verdict {
	case verdictConclusive:
		return "conclusive: enough samples to tell shares apart"
	case verdictWeak:
		return "weak: too few busy samples to tell shares apart"
	case verdictEmpty:
		if t == capture.Heap {
			return "empty: no allocation was sampled"
		}
		return "empty: no busy sample"
	default:
		return "none: not analysed"
	}
}

// versionWords is the version with where it is known from, and how traffic is split.
func versionWords(r capture.Record) string {
	version := orText(r.Resolved.VersionID, r.Target.VersionID)
	if version == "" {
		return ""
	}
	s := shortVersion(version)
	switch r.VersionSource {
	case "event":
		s += ", from the event"
	case "deployment":
		s += ", deployed"
	case "requested":
		s += ", asked for"
	}
	if len(r.Split) > 1 {
		s += fmt.Sprintf("; gradual deployment, it has %s %% of traffic", strconv.FormatFloat(r.Split[version], 'f', -1, 64))
	}
	return s
}

// trust is what a reader must know before believing a figure.
func trust(r capture.Record, s Summary) []Section {
	switch {
	case s.Verdict == verdictEmpty && r.Type == capture.Heap:
		return []Section{{Text: "No allocation was sampled in the window. That is common for a stateless Worker; it does not mean that memory is fine."}}
	case s.Verdict == verdictEmpty:
		return []Section{{Text: "The isolate did nothing that could be sampled. If the trouble goes on, it is elsewhere: another object, another isolate, or waiting for something outside."}}
	case s.Verdict == verdictWeak:
		return []Section{{Text: "Too few busy samples: the shares can be off by a lot. Capture again while it is busy, or longer."}}
	case r.Type == capture.Heap:
		return []Section{{Text: "These are allocations in the window, not what is retained: a large share is where to look first, not a leak by itself."}}
	}
	return nil
}

func functionTable(rows []Row, n int) *Table {
	t := &Table{
		Header: []string{"Function (defined at)", "Self %", "Total %", "Change"},
		Right:  []bool{false, true, true, false},
	}
	for _, row := range firstN(rows, n) {
		t.Rows = append(t.Rows, []string{functionCell(row), share(row.Self), share(row.Total), orText(row.Change, "n/a")})
	}
	return t
}

func functionCell(r Row) string {
	name := clip(orText(r.Name, "(anonymous)"), 80)
	if r.File == "" {
		return name
	}
	where := shortFile(r.File)
	if r.Line > 0 {
		where += ":" + strconv.FormatInt(r.Line, 10)
	}
	return name + "  " + where
}

// shortFile keeps the end of a path, where the name is.
func shortFile(file string) string {
	file = strings.TrimPrefix(strings.TrimPrefix(file, "file://"), "/bundle/")
	if len(file) <= 40 {
		return file
	}
	cut := len(file) - 39
	for cut < len(file) && file[cut]&0xC0 == 0x80 {
		cut++
	}
	return "…" + file[cut:]
}

func share(f float64) string { return strconv.FormatFloat(f*100, 'f', 1, 64) }

func captureContext(r capture.Record) string {
	parts := []string{"capture " + r.ID}
	if !r.StartedAt.IsZero() {
		parts = append(parts, stamp(r.StartedAt))
		if lag := r.StartedAt.Sub(r.FailureAt); !r.FailureAt.IsZero() && lag >= time.Second {
			parts = append(parts, span(lag.Round(time.Second))+" after the event")
		}
	}
	if r.Note != "" {
		parts = append(parts, "taken because: "+r.Note)
	}
	return strings.Join(parts, " · ")
}

func (w Writer) reportButtons(c Case, r capture.Record, s Summary) []Button {
	var b []Button
	if s.Verdict != verdictUnread && s.Verdict != verdictEmpty {
		b = link(b, "Open flamegraph", w.captureURL(r.ID), true)
	} else {
		b = link(b, "Open capture", w.captureURL(r.ID), false)
	}
	b = append(b, Button{Action: "pf.again", Label: "Capture again", Value: r.ID})
	if r.Type == capture.Heap {
		b = append(b, Button{Action: "pf.cpu", Label: "CPU", Value: r.ID})
	} else {
		b = append(b, Button{Action: "pf.heap", Label: "Heap", Value: r.ID})
	}
	if s.Verdict == verdictConclusive || s.Verdict == verdictWeak {
		b = append(b, Button{Action: "pf.compare", Label: "Compare", Value: r.ID})
	}
	if c.Class != ClassRequested {
		b = append(b, w.silence(c))
	}
	return append(b, Button{Action: "pf.why", Label: "Why", Value: c.ID})
}
