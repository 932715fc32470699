package bot

import (
	"fmt"
	"strings"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/report"
)

// topRows is how many functions the commands show.
const topRows = 20

// topHeadline names the function with most self share.
func topHeadline(r *report.Report) string {
	if r.Verdict == report.Empty || len(r.Functions) == 0 {
		return "Nothing was sampled in the window."
	}
	f := r.Functions[0]
	return fmt.Sprintf("%s itself has %s of %s", clip(orText(f.Name, "(anonymous)"), 80), percent(f.SelfShare), busyWords(r))
}

func busyWords(r *report.Report) string {
	if r.Type == report.Heap {
		return "the allocated bytes"
	}
	return "busy CPU"
}

// figureFields are what stands beside every figure.
func figureFields(rec capture.Record, r *report.Report) []Field {
	s := Summarise(r, "", 1, "")
	f := []Field{
		{Label: "Window", Value: s.Window},
		{Label: "Confidence", Value: confidenceWords(rec.Type, s)},
		{Label: "Target", Value: orText(captureWords(rec.Target), "n/a"), Code: true},
	}
	if v := versionWords(rec); v != "" {
		f = append(f, Field{Label: "Version", Value: v, Code: true})
	}
	return f
}

func topCard(rec capture.Record, r *report.Report, function string) Card {
	card := Card{
		Title: "Top functions of " + rec.ID, Icon: "bar_chart", Verdict: headline(Summary{Verdict: string(r.Verdict), Headline: topHeadline(r)}),
		Fields: figureFields(rec, r),
	}
	var rows []Row
	for _, f := range r.Functions {
		if matches(f.Name, function) && len(rows) < topRows {
			rows = append(rows, Row{Name: f.Name, File: f.File, Line: f.Line, Self: f.SelfShare, Total: f.TotalShare})
		}
	}
	if len(rows) > 0 {
		card.Table = functionTable(rows, topRows)
		card.Table.Header, card.Table.Right = card.Table.Header[:3], card.Table.Right[:3]
		for i := range card.Table.Rows {
			card.Table.Rows[i] = card.Table.Rows[i][:3]
		}
	} else if function != "" {
		card.Verdict = fmt.Sprintf("No function of this capture has %q in its name.", clip(function, 80))
	}
	card.Context = []string{captureContext(rec)}
	card.Text = card.Title + ": " + card.Verdict + " [" + Summarise(r, "", 1, "").basis() + "]"
	return card
}

func matches(name, part string) bool {
	return part == "" || strings.Contains(strings.ToLower(name), strings.ToLower(part))
}

// peekCard is a function with its callers and callees.
func peekCard(rec capture.Record, r *report.Report, function string) (Card, error) {
	p, err := report.Peek(r, function)
	if err != nil {
		return Card{}, &UsageError{Read: "peek " + rec.ID + " " + function, Why: upperFirst(err.Error()) + ".", Example: "top " + rec.ID, Topic: VerbPeek}
	}
	name := orText(p.Name, "(anonymous)")
	card := Card{
		Title:   clip(name, 100) + " in " + rec.ID,
		Icon:    "mag",
		Verdict: fmt.Sprintf("%s: self %s, total %s of %s", clip(name, 100), percent(p.Self), percent(p.Total), busyWords(r)),
		Fields:  figureFields(rec, r),
		Sections: []Section{
			{Heading: "Called by", Lines: edgeLines(p.Callers, "the runtime"), Code: true},
			{Heading: "Calls", Lines: edgeLines(p.Callees, "itself"), Code: true},
		},
		Context: []string{captureContext(rec), "Lines say where a function is defined. Inlined callees are part of their caller."},
	}
	if r.Verdict == report.Weak {
		card.Verdict = "Weak evidence, a hint only: " + card.Verdict
	}
	card.Text = card.Verdict + " [" + Summarise(r, "", 1, "").basis() + "]"
	return card, nil
}

func upperFirst(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

func edgeLines(edges []report.Edge, top string) []string {
	if len(edges) == 0 {
		return []string{"nothing that was sampled"}
	}
	var lines []string
	for i, e := range edges {
		if i == 10 {
			lines = append(lines, fmt.Sprintf("and %d more", len(edges)-i))
			break
		}
		name := top
		if e.Frame != (report.Frame{}) {
			name = functionCell(Row{Name: e.Frame.Name, File: e.Frame.File, Line: e.Frame.Line})
		}
		lines = append(lines, fmt.Sprintf("%6s %%  %s", share(e.Share), name))
	}
	return lines
}

// diffCard compares a capture with another, or with the quiet time.
func diffCard(rec capture.Record, r *report.Report, base, function string) Card {
	against := base
	if base == Baseline {
		against = fmt.Sprintf("the quiet time (%d captures)", r.Base.Captures)
	}
	card := Card{
		Title: rec.ID + " against " + against, Icon: "left_right_arrow", Fields: figureFields(rec, r),
		Table: &Table{Header: []string{"Function", "Before %", "After %", "95 % interval", "Verdict"}, Right: []bool{false, true, true, true, false}},
	}
	var clearly [][]string
	for _, c := range r.Base.Changes {
		if !matches(c.Name, function) || c.Verdict == report.NoClearChange && function == "" {
			continue
		}
		row := []string{
			functionCell(Row{Name: c.Name, File: c.File}), share(c.Before), share(c.After),
			fmt.Sprintf("%+.1f to %+.1f", c.Low*100, c.High*100), strings.ReplaceAll(string(c.Verdict), "_", " "),
		}
		if c.Verdict != report.NoClearChange {
			clearly = append(clearly, row)
		}
		if len(card.Table.Rows) < topRows {
			card.Table.Rows = append(card.Table.Rows, row)
		}
	}
	switch {
	case len(clearly) > 0:
		first := clearly[0]
		card.Verdict = fmt.Sprintf("%s changed clearly: %s %% before, %s %% now", first[0], first[1], first[2])
		if more := len(clearly) - 1; more > 0 {
			card.Verdict += fmt.Sprintf("; %d more in the table", more)
		}
	case function != "" && len(card.Table.Rows) == 0:
		card.Verdict = fmt.Sprintf("No function with %q in its name is in both captures.", clip(function, 80))
	default:
		card.Verdict = "No clear change."
	}
	if len(card.Table.Rows) == 0 {
		card.Table = nil
	}
	card.Context = []string{captureContext(rec), "Shares of busy time are compared, never absolute times; a change is called only when its interval leaves out zero."}
	card.Text = card.Title + ": " + card.Verdict + " [" + Summarise(r, "", 1, "").basis() + "]"
	return card
}

// Why is the decision log of a case.
func (w Writer) Why(c Case, now time.Time) Card {
	card := w.Evidence(c)
	card.Title = "Why: " + subject(c)
	card.Icon = "scales"
	card.Verdict = orText(upperFirst(c.Sentence), attributionWords(c))
	log := Section{Heading: "What was decided, times are UTC"}
	from := max(0, len(c.Log)-15)
	if from > 0 {
		log.Lines = append(log.Lines, fmt.Sprintf("%d earlier lines are on the incident's page", from))
	}
	for _, e := range c.Log[from:] {
		log.Lines = append(log.Lines, clock(e.At)+" "+e.Text)
	}
	card.Sections = append(card.Sections, log, Section{Heading: "What happens next", Text: w.nextWords(c, now)})
	card.Context = []string{rootContext(c)}
	card.Buttons = link(nil, "Open incident", w.incidentURL(c.ID), false)
	card.Text = card.Title + ". " + card.Verdict
	return card
}
