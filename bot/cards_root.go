package bot

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

// Root is the first message of the thread: what broke, where, since when, how
// many, what happens next. It is always the present state.
func (w Writer) Root(c Case, now time.Time) Card {
	next := w.nextWords(c, now)
	card := Card{
		Title: clip(w.Templates.title(c, classWords(c.Class)+": "+subject(c)), 150),
		Icon:  rootIcon(c),
		Quote: c.Quote,
	}
	if c.Class != ClassRequested {
		card.Mention = c.Mention
	}
	card.Verdict = strings.Join(c.found(), " · ")
	card.Fields = w.rootFields(c)
	if words := attributionWords(c); words != "" {
		card.Sections = append(card.Sections, Section{Heading: "How the target is known", Text: words})
	}
	until := now
	if c.State == Closed {
		until = c.LastAt
	}
	if line, peak, minutes := spark(c.PerMinute, until); line != "" {
		card.Sections = append(card.Sections, Section{
			Heading: fmt.Sprintf("Events a minute, the %d min to %s, at most %s", minutes, until.UTC().Format("15:04"), number(peak)), Text: line, Code: true,
		})
	}
	next = w.Templates.next(c, next)
	card.Sections = append(card.Sections, Section{Heading: "What happens next", Text: next})
	card.Context = append(card.Context, rootContext(c))
	card.Buttons = w.rootButtons(c)
	card.Text = w.Templates.text(c, rootText(c, next))
	return card
}

func rootContext(c Case) string {
	parts := []string{"incident " + c.ID}
	if c.Rule != string(c.Class) && c.Class != ClassRequested {
		parts = append(parts, "class "+string(c.Class))
	}
	if c.Rule != "" {
		parts = append(parts, "rule "+c.Rule)
	}
	if c.Environment != "" {
		parts = append(parts, "environment "+c.Environment)
	}
	return strings.Join(append(parts, "times are UTC"), " · ")
}

func rootText(c Case, next string) string {
	text := classWords(c.Class) + ": " + subject(c) + "."
	if c.Confidence != "" {
		text += " The object is " + c.Confidence + ", not certain."
	}
	if c.Count > 0 {
		text += fmt.Sprintf(" %s since %s UTC.", events(c.Count), clock(c.OpenedAt))
	}
	parts := []string{text}
	for _, found := range c.found() {
		parts = append(parts, found+".")
	}
	return strings.Join(append(parts, next), " ")
}

func events(n int64) string {
	if n == 1 {
		return "1 event"
	}
	return number(n) + " events"
}

func rootIcon(c Case) string {
	if c.State == Closed && c.Class != ClassRequested {
		return "white_check_mark"
	}
	if _, unfinished := c.Unfinished(); unfinished {
		return "hourglass_flowing_sand"
	}
	v, ok := c.told()
	switch {
	case ok && v.Summary != nil:
		return "mag"
	case ok:
		return "warning"
	default:
		return "rotating_light"
	}
}

// told is the newest capture that has an outcome; one with figures comes first.
func (c Case) told() (CaptureView, bool) {
	var found CaptureView
	ok := false
	for _, v := range c.Captures {
		if v.told() && (v.Summary != nil || found.Summary == nil) {
			found, ok = v, true
		}
	}
	return found, ok
}

// found is what the newest profile says, with its window and confidence. Where
// the newest is of the other type, the newest CPU profile is named before: that
// nearly all time goes into garbage collection is half of what its heap says.
func (c Case) found() []string {
	v, ok := c.told()
	if !ok || v.Summary == nil {
		return nil
	}
	var found []string
	if v.Record.Type == capture.Heap {
		for _, earlier := range slices.Backward(c.Captures) {
			if s := earlier.Summary; s != nil && earlier.Record.Type == capture.CPU && s.Verdict != verdictEmpty && s.Verdict != verdictUnread {
				found = append(found, headline(*s)+" ["+s.basis()+"]")
				break
			}
		}
	}
	return append(found, headline(*v.Summary)+" ["+v.Summary.basis()+"]")
}

func (w Writer) rootFields(c Case) []Field {
	var f []Field
	label := "Worker"
	if c.Target.Kind == triggers.TargetUnknown {
		label = "Caller"
	}
	f = append(f, Field{Label: label, Value: clip(orText(orText(c.Target.Script, c.Script), "unknown"), 200), Code: true})
	if c.Target.Kind == triggers.TargetDurableObject {
		object := strings.Join(nonEmpty(c.Target.Entrypoint, short(c.Target.ObjectID)), " ")
		f = append(f, Field{Label: "Object", Value: object + confidence(c), Code: true})
	}
	if c.Picked != nil {
		f = append(f, Field{Label: "Picked", Value: strings.Join(nonEmpty(c.Picked.Entrypoint, short(c.Picked.ObjectID)), " "), Code: true})
	}
	if c.RequestedBy != "" {
		f = append(f, Person("Asked by", c.RequestedBy, c.RequestedName))
	}
	if c.Count > 0 {
		f = append(f, Field{Label: "Events", Value: countWords(c)})
	}
	if s := reporters(c); s != "" {
		f = append(f, Field{Label: "Reported by", Value: s, Code: true})
	}
	if s := topNames(c.Versions, 2, shortVersion); s != "" {
		label := "Versions"
		if reporters(c) != "" { // the records are the callers': so are the versions
			label = "Versions of the callers"
		}
		f = append(f, Field{Label: label, Value: s, Code: true})
	}
	if s := topNames(c.Routes, 3, nil); s != "" {
		f = append(f, Field{Label: "Routes", Value: s, Code: true})
	}
	if c.MaxSize > 0 {
		f = append(f, Field{Label: "Largest request", Value: size(c.MaxSize)})
	}
	if c.Previous != "" {
		f = append(f, Field{Label: "Before this, same target", Value: "incident " + c.Previous, URL: w.incidentURL(c.Previous)})
	}
	return f
}

func confidence(c Case) string {
	switch {
	case c.Probability > 0:
		return " (" + strings.TrimSpace(orText(c.Confidence, "likely")+", "+percent(c.Probability)) + ")"
	case c.Confidence != "":
		return " (" + c.Confidence + ")"
	}
	return ""
}

// countWords only says what stays true until the next revision.
func countWords(c Case) string {
	if c.Count == 1 {
		return "1, at " + clock(c.OpenedAt)
	}
	s := number(c.Count)
	if age := c.LastAt.Sub(c.OpenedAt); age >= time.Second {
		s += " in " + span(age.Round(time.Second))
	}
	s += ", from " + clock(c.OpenedAt)
	if c.LastAt.After(c.OpenedAt) {
		s += " to " + clock(c.LastAt)
	}
	return s
}

// reporters are the callers, when they are not the target itself.
func reporters(c Case) string {
	if len(c.Scripts) == 1 && c.Scripts[c.Target.Script] > 0 {
		return ""
	}
	return topNames(c.Scripts, 3, nil)
}

// topNames lists the most frequent names with their counts.
func topNames(m map[string]int64, n int, write func(string) string) string {
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b))
	})
	var parts []string
	for i, name := range names {
		if i == n {
			parts = append(parts, strconv.Itoa(len(names)-n)+" more")
			break
		}
		shown := name
		if write != nil {
			shown = write(name)
		}
		parts = append(parts, clip(shown, 60)+" ×"+number(m[name]))
	}
	return strings.Join(parts, ", ")
}

// nextWords is the sentence a responder looks for first.
func (w Writer) nextWords(c Case, now time.Time) string {
	if c.State == Closed && c.Class != ClassRequested {
		return "Nothing: no event for " + span(c.Quiet) + ". The incident closed at " + clock(c.ClosedAt) + "."
	}
	if v, unfinished := c.Unfinished(); unfinished {
		s := progressWords(v, now)
		s = upperFirst(s) + "."
		if v.Record.Note != "" && !strings.Contains(s, v.Record.Note) {
			s += " Why: " + v.Record.Note + "."
		}
		return s + " The report comes into this thread."
	}
	closes := " The incident closes after " + span(c.Quiet) + " without an event."
	if c.Class == ClassRequested {
		closes = ""
	}
	if v, ok := c.told(); ok {
		if v.Summary != nil {
			return "The report is in the thread." + closes
		}
		return "The last capture gave no profile: " + failureWords(v.Record.Failure).Title + ". The thread says what to do." + closes
	}
	switch {
	case c.Class == triggers.ClassAccountOverloaded:
		return "No capture: the whole account is told to back off, so no single object is to blame. The busiest ones: " + w.command() + " objects <worker>." + closes
	case len(c.Candidates) > 0:
		return "No capture yet: no evidence names the object. These are the busiest it could be; a click captures the one you pick." + closes
	default:
		return "No capture: no evidence names the object, and callers are not profiled in its place. Log the object's id with the error, or name it: " +
			w.command() + " cpu <worker>/<class> object=<64 hex>." + closes
	}
}

func (w Writer) rootButtons(c Case) []Button {
	var b []Button
	if c.State == Open && c.Picked == nil && len(c.Captures) == 0 {
		for i, t := range c.Candidates {
			label := strings.Join(nonEmpty(t.Script, t.Entrypoint, short(t.ObjectID)), " ")
			b = append(b, Button{Action: "pf.pick", Label: "Capture " + clip(label, 60), Value: c.ID + ":" + strconv.Itoa(i)})
		}
	}
	b = link(b, "Open incident", w.incidentURL(c.ID), len(b) == 0)
	b = append(b, Button{Action: "pf.why", Label: "Why", Value: c.ID})
	if c.Class != ClassRequested && c.State == Open {
		b = append(b, w.silence(c))
	}
	return b
}

// spark draws the events of the last minutes, oldest first, at most 30 of them.
// Its peak and length are returned, because a line without a scale says little.
func spark(perMinute map[int64]int64, until time.Time) (line string, peak int64, minutes int) {
	end := until.Unix() / 60
	first := end
	for m := range perMinute {
		if m <= end {
			first = min(first, m)
		}
	}
	first = max(first, end-29)
	if first == end {
		return "", 0, 0
	}
	for m := first; m <= end; m++ {
		peak = max(peak, perMinute[m])
	}
	if peak == 0 {
		return "", 0, 0
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for m := first; m <= end; m++ {
		n := perMinute[m]
		if n == 0 {
			b.WriteRune('·')
			continue
		}
		// Rounded up to a bar: one event in a thousand is still to be seen.
		b.WriteRune(bars[max(0, (n*int64(len(bars))+peak-1)/peak-1)])
	}
	return b.String(), peak, int(end - first + 1)
}
