package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/report"
)

// list shows the newest captures.
func (m *Commander) list(ctx context.Context, cmd Command) (Reply, error) {
	if cmd.Worker != "" {
		if err := m.known(ctx, cmd); err != nil {
			return Reply{}, err
		}
	}
	records, _, err := m.shelf.ListCaptures(ctx, "", cmd.Worker, 10, "")
	if err != nil {
		return Reply{}, fmt.Errorf("list captures: %w", err)
	}
	title := "Last captures"
	if cmd.Worker != "" {
		title += " of " + cmd.Worker
	}
	if len(records) == 0 {
		text := title + ": none yet."
		return Reply{Card: &Card{Title: title, Icon: "card_index", Verdict: "None yet.", Text: text}}, nil
	}
	card := Card{Title: title, Icon: "card_index", Table: captureTable(records), Text: fmt.Sprintf("%s: %d.", title, len(records))}
	for _, r := range records {
		if r.State == capture.Stored && len(card.Buttons) < 5 {
			card.Buttons = append(card.Buttons, Button{Action: "pf.run", Label: "Show " + r.ID, Value: "show " + r.ID})
		}
	}
	return Reply{Card: &card}, nil
}

func captureTable(records []capture.Record) *Table {
	t := &Table{Header: []string{"Capture", "Type", "Target", "When (UTC)", "State"}, Right: []bool{false, false, false, false, false}}
	for _, r := range records {
		at := r.StartedAt
		if at.IsZero() {
			at = r.QueuedAt
		}
		state := string(r.State)
		if r.State == capture.Failed {
			state = "failed: " + failureWords(r.Failure).Title
		}
		t.Rows = append(t.Rows, []string{r.ID, typeWords(r.Type), orText(clip(captureWords(r.Target), 60), "n/a"), at.UTC().Format("01-02 15:04:05"), state})
	}
	return t
}

// objects shows the busiest Durable Objects of a Worker.
func (m *Commander) objects(ctx context.Context, cmd Command) (Reply, error) {
	if usage := cmd.Missing(); usage != nil {
		return Reply{}, usage
	}
	if m.o.Objects == nil {
		return Reply{}, &Refusal{Reason: RefusedUnknown, Sentence: "The hot-object index does not run in this process."}
	}
	list, err := m.o.Objects.Objects(ctx, cmd.Worker, 10)
	if err != nil {
		return Reply{}, fmt.Errorf("list the objects of %s: %w", cmd.Worker, err)
	}
	title := "Busiest objects of " + cmd.Worker
	if len(list.Objects) == 0 {
		if err := m.known(ctx, cmd); err != nil {
			return Reply{}, err
		}
		text := "No object of " + cmd.Worker + " is known"
		if !list.Since.IsZero() {
			text += " since " + stamp(list.Since)
		}
		text += ". The index learns from load lines of the Tail Worker: is it deployed for this Worker?"
		return Reply{Card: &Card{Title: title, Icon: "package", Verdict: text, Text: text}}, nil
	}
	card := Card{
		Title: title, Icon: "package",
		Table: &Table{
			Header: []string{"Object", "Requests", "Errors", "CPU ms", "Queued ms", "Last error (UTC)"},
			Right:  []bool{false, true, true, true, true, false},
		},
		Context: []string{"Over " + windowOf(list) + ", known since " + stamp(list.Since) + ". Queued: wall time beyond CPU."},
		Text:    fmt.Sprintf("%s: %d, the first is %s.", title, len(list.Objects), strings.TrimSpace(list.Objects[0].Entrypoint+" "+short(list.Objects[0].ObjectID))),
	}
	for _, o := range list.Objects {
		card.Table.Rows = append(card.Table.Rows, []string{
			strings.TrimSpace(o.Entrypoint + " " + short(o.ObjectID)), number(o.Requests), number(o.Errors), number(o.CPUMS), number(o.QueuedMS), lastError(o),
		})
		if len(card.Buttons) < maxCandidates {
			c := Command{Verb: VerbCPU, Worker: orText(o.Script, cmd.Worker), Class: o.Entrypoint, Object: o.ObjectID}
			card.Buttons = append(card.Buttons, Button{Action: "pf.run", Label: "Capture " + short(o.ObjectID), Value: c.String()})
		}
	}
	return Reply{Card: &card}, nil
}

// windowOf is the window of the index as people say it.
func windowOf(list ObjectList) string {
	if d, err := time.ParseDuration(list.Window); err == nil {
		return "the last " + span(d)
	}
	return orText(list.Window, "the last minutes")
}

func lastError(o ObjectRow) string {
	if o.LastError.IsZero() {
		return "none"
	}
	return clock(o.LastError)
}

// look answers from one stored capture, or two.
func (m *Commander) look(ctx context.Context, cmd Command) (Reply, error) {
	if usage := cmd.Missing(); usage != nil {
		return Reply{}, usage
	}
	rec, _, err := m.shelf.Record(ctx, cmd.Captures[0])
	if errors.Is(err, capture.ErrNotFound) {
		return Reply{}, m.noCapture(ctx, cmd, 0)
	}
	if err != nil {
		return Reply{}, fmt.Errorf("read capture %s: %w", cmd.Captures[0], err)
	}
	if cmd.Verb == VerbShow {
		return m.show(ctx, rec)
	}
	if rec.State != capture.Stored {
		return m.unstored(rec), nil
	}
	base := ""
	if cmd.Verb == VerbCompare || cmd.Verb == VerbDiff {
		base = Baseline
		if len(cmd.Captures) > 1 {
			base = cmd.Captures[1]
		}
	}
	if base == rec.ID {
		return Reply{}, &UsageError{
			Read: cmd.String(), Topic: cmd.Verb, Example: string(cmd.Verb) + " " + rec.ID + " " + Baseline, Why: "That is the same capture twice.",
			Try: []Suggestion{{Label: "Compare with the quiet time", Command: string(cmd.Verb) + " " + rec.ID + " " + Baseline}},
		}
	}
	if m.o.Figures == nil {
		return Reply{}, &Refusal{Reason: RefusedUnknown, Sentence: "Profiles cannot be read in this process."}
	}
	rep, err := m.o.Figures.Report(ctx, rec.ID, base)
	switch {
	case errors.Is(err, report.ErrDifferentUse):
		return Reply{}, &UsageError{
			Read: cmd.String(), Topic: cmd.Verb, Example: string(cmd.Verb) + " " + rec.ID + " " + Baseline,
			Why: "One of the two is a CPU capture and the other a heap capture. They measure different things: compare CPU with CPU, heap with heap.",
			Try: []Suggestion{{Label: "List captures", Command: string(VerbList)}},
		}
	case errors.Is(err, capture.ErrNotFound) && base != "" && base != Baseline:
		return Reply{}, m.noCapture(ctx, cmd, 1)
	case errors.Is(err, capture.ErrNotFound):
		return Reply{}, &Refusal{Reason: RefusedUnknown, Capture: rec.ID, Sentence: "The profile of " + rec.ID + " is not kept any more; its thread still has the figures."}
	case err != nil:
		return Reply{}, err
	}
	return m.figures(cmd, rec, rep, base)
}

func (m *Commander) figures(cmd Command, rec capture.Record, rep *report.Report, base string) (Reply, error) {
	var card Card
	var err error
	switch cmd.Verb {
	case VerbPeek:
		card, err = peekCard(rec, rep, cmd.Function)
	case VerbCompare, VerbDiff:
		if rep.Base == nil {
			return Reply{}, &Refusal{Reason: RefusedUnknown, Capture: rec.ID, Sentence: "There is no quiet capture of this target to compare " + rec.ID + " with. Name another capture: " +
				m.o.Writer.command() + " " + string(cmd.Verb) + " " + rec.ID + " <other>."}
		}
		card = diffCard(rec, rep, base, cmd.Function)
	default:
		card = topCard(rec, rep, cmd.Function)
	}
	if err != nil {
		return Reply{}, err
	}
	card.Buttons = link(nil, "Open flamegraph", m.o.Writer.captureURL(rec.ID), true)
	return Reply{Card: &card}, nil
}

// noCapture says that there is none of the i-th id, and which there are.
func (m *Commander) noCapture(ctx context.Context, cmd Command, i int) error {
	id := cmd.Captures[i]
	usage := &UsageError{Read: cmd.String(), Why: fmt.Sprintf("I don't know a capture `%s`.", clip(id, 60)), Topic: cmd.Verb, Example: example(cmd.Verb)}
	if cmd.Verb == VerbCompare || cmd.Verb == VerbDiff {
		usage.Why += " (To compare with the quiet time, say `" + Baseline + "`.)"
	}
	records, _, err := m.shelf.ListCaptures(ctx, "", "", 100, "")
	if err != nil {
		return usage
	}
	var ids []string
	for _, r := range records {
		ids = append(ids, r.ID)
	}
	for _, near := range Nearest(id, ids, 3) {
		c := cmd
		c.Captures = slices.Clone(cmd.Captures)
		c.Captures[i] = near
		usage.Try = append(usage.Try, Suggestion{Label: near, Command: c.String()})
	}
	usage.Try = append(usage.Try, Suggestion{Label: "List captures", Command: string(VerbList)})
	return usage
}

// show posts a capture's report where it was asked for.
func (m *Commander) show(ctx context.Context, rec capture.Record) (Reply, error) {
	c, err := m.shelf.Case(ctx, rec.IncidentID)
	if rec.IncidentID == "" || errors.Is(err, capture.ErrNotFound) {
		c = NewRequested(Asked{Target: rec.Target, Type: rec.Type}, Opening{ID: orText(rec.IncidentID, rec.ID), Now: rec.QueuedAt}, Policy{})
		c.Captures = []CaptureView{{Record: rec}}
	} else if err != nil {
		return Reply{}, fmt.Errorf("read incident %s: %w", rec.IncidentID, err)
	}
	i := c.view(rec.ID)
	if i >= 0 && c.Captures[i].Summary == nil && rec.State == capture.Stored && m.o.Figures != nil {
		if rep, err := m.o.Figures.Report(ctx, rec.ID, ""); err == nil {
			s := Summarise(rep, topHeadline(rep), 1, "")
			c.Captures[i].Summary = &s
		}
	}
	if i < 0 || !c.Captures[i].told() {
		return m.unstored(rec), nil
	}
	v := c.Captures[i]
	if v.Summary == nil {
		card := m.o.Writer.Failure(c, v)
		return Reply{Card: &card, Public: true}, nil
	}
	card := m.o.Writer.Report(c, v)
	return Reply{Card: &card, Public: true}, nil
}

// unstored says where a capture without a profile stands.
func (m *Commander) unstored(rec capture.Record) Reply {
	v := CaptureView{Record: rec}
	text := progressWords(v, m.o.Now())
	text = upperFirst(text) + "."
	icon := "hourglass_flowing_sand"
	if rec.State == capture.Failed {
		text, icon = "Capture "+rec.ID+" gave no profile: "+failureWords(rec.Failure).Title+". "+rec.Explain(m.o.Now()), "x"
	}
	return Reply{Card: &Card{Icon: icon, Verdict: text, Text: text}}
}
