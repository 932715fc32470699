package blocks

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/snapflame/snapflame/bot"
)

// Level is how much of Block Kit a message uses. Each level below Full says the
// same with less, for a workspace that refuses the one before.
type Level int

// The levels, richest first.
const (
	Full         Level = iota
	Preformatted       // the table as preformatted text
	Sections           // section blocks only, no buttons
	TextOnly           // no blocks
)

// Message is a card as Slack takes it. Text is always set: notifications and
// screen readers get it, and an edit without it or without the blocks drops
// what is missing.
type Message struct {
	Text   string
	Blocks []slack.Block
}

// Render writes a card at a level.
func Render(c bot.Card, l Level) Message {
	m := Message{Text: summary(c)}
	switch l {
	case TextOnly:
		m.Text = text(c)
	case Sections:
		m.Blocks = sections(c)
	default:
		m.Blocks = fit(c, l)
	}
	return m
}

// fit renders with less and less of the long parts until all of it is under
// the limit of a whole message.
func fit(c bot.Card, l Level) []slack.Block {
	rows, prose := goodRows, goodSection
	c.Sections = c.Sections[:min(len(c.Sections), goodLines)]
	for {
		out := render(c, l, rows, prose)
		if weight(out) <= maxTotal {
			return out[:min(len(out), maxBlocks)]
		}
		if prose < 100 {
			return lighten(out)
		}
		rows, prose = rows*2/3, prose*2/3
		if rows < 4 && len(c.Sections) > 4 {
			c.Sections = c.Sections[:len(c.Sections)-1]
		}
	}
}

// lighten drops the heaviest blocks until the rest fits. It is the last resort:
// only a card of addresses and ids, which are never cut, gets here.
func lighten(out []slack.Block) []slack.Block {
	out = out[:min(len(out), maxBlocks)]
	for len(out) > 1 && weight(out) > maxTotal {
		heaviest := 0
		for i := range out {
			if weight(out[i:i+1]) >= weight(out[heaviest:heaviest+1]) {
				heaviest = i
			}
		}
		out = append(out[:heaviest:heaviest], out[heaviest+1:]...)
	}
	return out
}

// weight is the size of the blocks as they are sent.
func weight(b []slack.Block) int {
	raw, err := json.Marshal(b)
	if err != nil {
		return maxTotal + 1
	}
	return size(string(raw))
}

func render(c bot.Card, l Level, rows, prose int) []slack.Block {
	var out []slack.Block
	if c.Title != "" {
		out = append(out, slack.NewHeaderBlock(plainText(strings.TrimSpace(icon(c.Icon)+" "+one(c.Title, maxHeader-50)), maxHeader)))
	}
	if head := opening(c, prose); len(head) > 0 {
		out = append(out, slack.NewRichTextBlock("", head...))
	}
	out = append(out, fields(c.Fields, prose)...)
	if c.Table != nil && len(c.Table.Header) > 0 {
		if l == Full {
			out = append(out, table(*c.Table, rows))
		} else {
			out = append(out, slack.NewRichTextBlock("", preformatted(grid(*c.Table, rows, prose))))
		}
	}
	for _, s := range c.Sections {
		if els := section(s, prose); len(els) > 0 {
			out = append(out, slack.NewRichTextBlock("", els...))
		}
	}
	out = append(out, footer(c.Context[:min(len(c.Context), 2*maxContext)], min(goodContext, prose))...)
	return append(out, actions(c.Buttons)...)
}

// opening is what the eye reads first: who is called, the verdict, the quote.
func opening(c bot.Card, prose int) []slack.RichTextElement {
	var out []slack.RichTextElement
	var line []slack.RichTextSectionElement
	if name := strings.Trim(icon(c.Icon), ":"); name != "" && c.Title == "" && c.Verdict != "" {
		line = append(line, slack.NewRichTextSectionEmojiElement(name, 0, nil), run(" ", nil))
	}
	if m, ok := ParseMention(c.Mention); ok {
		line = append(line, m.element(), run(" ", nil))
	}
	if c.Verdict != "" {
		line = append(line, run(many(c.Verdict, prose), &slack.RichTextSectionTextStyle{Bold: true}))
	}
	if len(line) > 0 {
		out = append(out, slack.NewRichTextSection(line...))
	}
	if c.Quote != "" {
		out = append(out, &slack.RichTextQuote{
			Type:     slack.RTEQuote,
			Elements: []slack.RichTextSectionElement{run(many(c.Quote, min(goodQuote, prose)), nil)},
		})
	}
	return out
}

func (m Mention) element() slack.RichTextSectionElement {
	switch {
	case m.user != "":
		return slack.NewRichTextSectionUserElement(m.user, nil)
	case m.group != "":
		return slack.NewRichTextSectionUserGroupElement(m.group)
	}
	return slack.NewRichTextSectionBroadcastElement(m.broadcast)
}

func fields(fs []bot.Field, prose int) []slack.Block {
	var out []slack.Block
	fs = fs[:min(len(fs), 2*maxFields)]
	for len(fs) > 0 {
		n := min(len(fs), maxFields)
		objs := make([]*slack.TextBlockObject, 0, n)
		for _, f := range fs[:n] {
			objs = append(objs, markup("*"+fieldLabel(f.Label)+"*\n"+fieldValue(f, min(goodField, prose)), maxField))
		}
		out = append(out, slack.NewSectionBlock(nil, objs, nil))
		fs = fs[n:]
	}
	return out
}

func fieldLabel(s string) string {
	return escaped(strings.NewReplacer("*", "", "`", "'", "_", " ", "~", "-").Replace(one(s, 60)), 100)
}

func fieldValue(f bot.Field, limit int) string {
	if live, ok := references(f.Refs); ok {
		return live
	}
	if f.URL != "" {
		return link(f.URL, f.Value, maxField-200)
	}
	return value(clip(clean(f.Value, false), limit), f.Code, goodField*6)
}

func section(s bot.Section, prose int) []slack.RichTextElement {
	var out []slack.RichTextElement
	if s.Heading != "" {
		out = append(out, slack.NewRichTextSection(run(one(s.Heading, maxHeader), &slack.RichTextSectionTextStyle{Bold: true})))
	}
	if s.Code {
		if body := many(strings.TrimSpace(s.Text+"\n"+strings.Join(s.Lines, "\n")), prose); body != empty {
			out = append(out, preformatted(body))
		}
		return out
	}
	if s.Text != "" {
		out = append(out, slack.NewRichTextSection(run(many(s.Text, prose), nil)))
	}
	var items []slack.RichTextElement
	left := prose
	for i, l := range s.Lines {
		if i == goodLines || left < 40 {
			items = append(items, slack.NewRichTextSection(run("and "+strconv.Itoa(len(s.Lines)-i)+" more", nil)))
			break
		}
		l = one(l, min(left, 500))
		left -= size(l)
		items = append(items, slack.NewRichTextSection(run(l, nil)))
	}
	if len(items) > 0 {
		out = append(out, slack.NewRichTextList(slack.RTEListBullet, 0, items...))
	}
	return out
}

func footer(lines []string, limit int) []slack.Block {
	var out []slack.Block
	for len(lines) > 0 {
		n := min(len(lines), maxContext)
		els := make([]slack.MixedElement, 0, n)
		for _, l := range lines[:n] {
			els = append(els, plainText(l, limit))
		}
		out = append(out, slack.NewContextBlock("", els...))
		lines = lines[n:]
	}
	return out
}

func plainText(s string, limit int) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.PlainTextType, many(s, limit), true, false)
}

// markup is text in Slack's markup that its caller made inert. Verbatim keeps
// Slack from turning bare addresses and channel names into links.
func markup(s string, limit int) *slack.TextBlockObject {
	if size(s) > limit { // cutting markup could leave it open; its parts are bounded, so this is never reached
		s = escaped(strings.NewReplacer("<", "", ">", "").Replace(s), limit)
	}
	return slack.NewTextBlockObject(slack.MarkdownType, s, false, true)
}

func run(s string, style *slack.RichTextSectionTextStyle) slack.RichTextSectionElement {
	return slack.NewRichTextSectionTextElement(s, style)
}

func preformatted(s string) *slack.RichTextPreformatted {
	return &slack.RichTextPreformatted{Type: slack.RTEPreformatted, Elements: []slack.RichTextSectionElement{run(s, nil)}}
}
