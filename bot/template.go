package bot

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/snapflame/snapflame/triggers"
)

// Slot is a text that a template can replace.
type Slot string

// The slots.
const (
	SlotTitle   Slot = "title"   // of the root
	SlotText    Slot = "text"    // the root in one line: notifications
	SlotNext    Slot = "next"    // what happens next
	SlotVerdict Slot = "verdict" // the first sentence of a report
)

// Slots is every slot, for configuration checks and the preview.
func Slots() []Slot { return []Slot{SlotTitle, SlotText, SlotNext, SlotVerdict} }

// TemplateFields is all that a template can read. It is a fixed set of plain
// values, without methods, so that a template can neither reach further into
// the process nor break when the inside changes. What it writes is plain text
// like any other and is escaped for Slack.
type TemplateFields struct {
	Default     string // the built-in text of the slot
	What        string // "Durable Object overloaded"
	Class       string
	Subclass    string
	Worker      string
	Reporter    string // the Worker whose record it was
	Entrypoint  string // class of the Durable Object
	Object      string // first 8 digits of its id
	ObjectID    string
	Environment string
	Version     string
	Quote       string
	Incident    string
	Rule        string
	State       string // open, closed
	Confidence  string
	Count       int64
	Since       string // 15:04:05, UTC
	Captures    int
}

// maxTemplate bounds a template's source and output, in bytes. Slack cuts a
// section at 3000 characters.
const maxTemplate = 2000

// Templates are the texts that the configuration replaces. A nil *Templates
// has none.
type Templates struct {
	slots map[Slot]*template.Template
}

// ParseTemplates reads the templates of the configuration. An error names the
// slot and what is wrong; each template is tried on sample incidents, so that
// one that fails is refused at start and not at 3 am.
func ParseTemplates(sources map[string]string) (*Templates, error) {
	t := &Templates{slots: make(map[Slot]*template.Template)}
	known := make(map[Slot]bool)
	for _, s := range Slots() {
		known[s] = true
	}
	var errs []error
	for name, source := range sources {
		if !known[Slot(name)] {
			errs = append(errs, fmt.Errorf("template %q: no such text; there are %v", name, Slots()))
			continue
		}
		if len(source) > maxTemplate {
			errs = append(errs, fmt.Errorf("template %q: longer than %d bytes", name, maxTemplate))
			continue
		}
		parsed, err := template.New(name).Option("missingkey=error").Parse(source)
		if err != nil {
			errs = append(errs, fmt.Errorf("template %q: %w", name, err))
			continue
		}
		t.slots[Slot(name)] = parsed
	}
	for slot, parsed := range t.slots {
		for _, c := range sampleCases(time.Unix(0, 0)) {
			if _, err := execute(parsed, fieldsOf(c, "default")); err != nil {
				errs = append(errs, fmt.Errorf("template %q: %w", slot, err))
				break
			}
		}
	}
	return t, errors.Join(errs...)
}

func (t *Templates) title(c Case, def string) string { return t.write(SlotTitle, c, def) }
func (t *Templates) text(c Case, def string) string  { return t.write(SlotText, c, def) }
func (t *Templates) next(c Case, def string) string  { return t.write(SlotNext, c, def) }
func (t *Templates) verdict(c Case, def string) string {
	return t.write(SlotVerdict, c, def)
}

// write gives the built-in text when there is no template, or when it fails or
// writes nothing: an incident is never without words because of a template.
func (t *Templates) write(s Slot, c Case, def string) string {
	if t == nil || t.slots[s] == nil {
		return def
	}
	out, err := execute(t.slots[s], fieldsOf(c, def))
	if out = strings.TrimSpace(out); err != nil || out == "" {
		return def
	}
	return out
}

func execute(t *template.Template, f TemplateFields) (string, error) {
	w := &bounded{}
	if err := t.Execute(w, f); err != nil {
		return "", fmt.Errorf("run: %w", err)
	}
	return w.b.String(), nil
}

// bounded refuses to grow: a template may loop.
type bounded struct{ b strings.Builder }

var errTooLong = fmt.Errorf("writes more than %d bytes", maxTemplate)

func (w *bounded) Write(p []byte) (int, error) {
	if w.b.Len()+len(p) > maxTemplate {
		return 0, errTooLong
	}
	return w.b.Write(p)
}

func fieldsOf(c Case, def string) TemplateFields {
	return TemplateFields{
		Default: def, What: classWords(c.Class), Class: string(c.Class), Subclass: string(c.Subclass),
		Worker: orText(c.Target.Script, c.Script), Reporter: c.Script, Entrypoint: c.Target.Entrypoint,
		Object: short(c.Target.ObjectID), ObjectID: c.Target.ObjectID, Environment: c.Environment,
		Version: c.Target.VersionID, Quote: clip(c.Quote, 500), Incident: c.ID, Rule: c.Rule, State: string(c.State),
		Confidence: c.Confidence, Count: c.Count, Since: clock(c.OpenedAt), Captures: len(c.Captures),
	}
}

// PreviewTemplates writes the root cards of sample incidents with the templates
// of w, for a person to look at before they are used.
func PreviewTemplates(w Writer, now time.Time) []Card {
	var cards []Card
	for _, c := range sampleCases(now) {
		cards = append(cards, w.Root(c, now))
	}
	return cards
}

func sampleCases(now time.Time) []Case {
	object := "3fa1c07d5be2498a1d6e0b7c94f2538e6a1b2c3d4e5f60718293a4b5c6d7e8f9"
	overload := New(triggers.Decision{
		Action: triggers.ActionCapture, Class: triggers.ClassOverloaded, Subclass: triggers.SubclassRequestsQueued,
		Target:      triggers.Target{Kind: triggers.TargetDurableObject, Script: "room-api", Entrypoint: "RoomObject", ObjectID: object},
		Attribution: triggers.AttributionLogged, Rule: "overloaded", Sentence: "The overload names the object in its log.",
		Quote: "Durable Object is overloaded. Too many requests queued.",
		Event: triggers.Event{Script: "edge-gateway", Environment: "production", Time: now.Add(-time.Minute), Count: 120},
	}, Opening{ID: "sample1", Channel: "C0SAMPLE", Now: now}, Policy{})
	unknown := New(triggers.Decision{
		Action: triggers.ActionReport, Class: triggers.ClassOverloaded, Target: triggers.Target{Kind: triggers.TargetUnknown, Script: "edge-gateway"},
		Attribution: triggers.AttributionNone, Rule: "overloaded", Quote: "Durable Object is overloaded. Requests queued for too long.",
		Event: triggers.Event{Script: "edge-gateway", Time: now},
	}, Opening{ID: "sample2", Channel: "C0SAMPLE", Now: now}, Policy{})
	memory := New(triggers.Decision{
		Action: triggers.ActionCapture, Class: triggers.ClassExceededMemory, Profile: triggers.ProfileHeap,
		Target:      triggers.Target{Kind: triggers.TargetWorker, Script: "checkout", VersionID: "9f1c2b7e-6d0a-4a55-8e43-0a5f4f0c1d22"},
		Attribution: triggers.AttributionEvent, Rule: "exceeded_memory", Quote: "Worker exceeded memory limit.",
		Event: triggers.Event{Script: "checkout", Time: now},
	}, Opening{ID: "sample3", Channel: "C0SAMPLE", Now: now}, Policy{})
	return []Case{overload, unknown, memory}
}
