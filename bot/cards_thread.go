package bot

import (
	"fmt"
	"strings"

	"github.com/snapflame/snapflame/triggers"
)

// took is what the first event cost, to be told from how long it waited.
func took(s Sample) string {
	if s.CPU+s.Wall <= 0 {
		return ""
	}
	return span(s.CPU) + " CPU in " + span(s.Wall)
}

// Evidence is the first reply: everything the decision was made from, once.
func (w Writer) Evidence(c Case) Card {
	card := Card{Title: "Evidence", Icon: "scroll", Quote: c.Quote}
	add := func(label, value string, code bool) {
		if value != "" {
			card.Fields = append(card.Fields, Field{Label: label, Value: value, Code: code})
		}
	}
	add("Decision", strings.Join(nonEmpty(string(c.Action), string(c.Reason)), ": "), false)
	add("Rule", c.Rule, true)
	add("Object id", c.Target.ObjectID, true)
	add("Version of the record", c.Sample.Version, true)
	add("Route", c.Sample.Route, true)
	trigger := strings.Join(nonEmpty(c.Sample.Trigger, c.Sample.Outcome), ", outcome ")
	add("Trigger", strings.Join(nonEmpty(trigger, took(c.Sample)), ", "), false)
	add("Colo", c.Sample.Colo, true)
	add("Ray", c.Sample.RayID, true)
	add("Came as", string(c.Sample.Shape), true)
	if !c.Sample.Time.IsZero() {
		add("First event", stamp(c.Sample.Time), false)
	}
	var lines []string
	evidence := attributionWords(c)
	if c.Sentence != "" && c.Confidence == "" {
		evidence = "" // the decision's own sentence says it with its values
	}
	lines = append(lines, nonEmpty(upperFirst(c.Sentence), evidence, triggers.Advice(c.Class, c.Subclass))...)
	if len(lines) > 0 {
		card.Sections = append(card.Sections, Section{Heading: "Why this was decided", Lines: lines})
	}
	if len(c.Candidates) > 0 {
		s := Section{Heading: "Objects it could be, busiest first"}
		for i, t := range c.Candidates {
			s.Lines = append(s.Lines, fmt.Sprintf("%d. %s %s", i+1, strings.Join(nonEmpty(t.Script, t.Entrypoint), " "), t.ObjectID))
		}
		card.Sections = append(card.Sections, s)
	}
	card.Text = "Evidence: " + orText(upperFirst(c.Sentence), attributionWords(c))
	return card
}

// closedSpan is when the events came.
func closedSpan(c Case) string {
	if clock(c.OpenedAt) == clock(c.LastAt) {
		return "at " + clock(c.OpenedAt) + " UTC"
	}
	return "from " + clock(c.OpenedAt) + " to " + clock(c.LastAt) + " UTC"
}

// captureCount says how many captures there were, and when none gave a profile.
func captureCount(c Case) string {
	text := "no capture"
	switch n := len(c.Captures); n {
	case 0:
		return text
	case 1:
		text = "1 capture"
	default:
		text = fmt.Sprintf("%d captures", n)
	}
	if v, ok := c.told(); ok && v.Summary == nil {
		text += ", none of them with a profile"
		if len(c.Captures) == 1 {
			text = "1 capture, which gave no profile"
		}
	}
	return text
}

// Closed is the one notice that an incident is over.
func (w Writer) Closed(c Case) Card {
	text := fmt.Sprintf("Over: no event for %s. %s, %s, %s.", span(c.Quiet), events(c.Count), closedSpan(c), captureCount(c))
	card := Card{Icon: "white_check_mark", Verdict: text}
	if found := c.found(); len(found) > 0 {
		card.Sections = []Section{{Heading: "What was found", Lines: found}}
		text += " " + strings.Join(found, " · ")
	}
	card.Text = text
	card.Buttons = link(nil, "Open incident", w.incidentURL(c.ID), false)
	return card
}
