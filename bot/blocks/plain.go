package blocks

import (
	"strings"

	"github.com/slack-go/slack"

	"github.com/snapflame/snapflame/bot"
)

// summary is the one line that notifications show.
func summary(c bot.Card) string {
	s := c.Text
	if clean(s, false) == "" {
		s = strings.TrimSpace(c.Title + " " + c.Verdict)
	}
	return call(c) + escaped(many(s, maxText), maxText-30)
}

// call is the configured mention, before the words.
func call(c bot.Card) string {
	if m, ok := ParseMention(c.Mention); ok {
		return m.String() + " "
	}
	return ""
}

// sections is the card in section blocks only: plain text, the table in a
// code fence, links in the last one. Buttons that are no links are gone.
func sections(c bot.Card) []slack.Block {
	var out []slack.Block
	add := func(o *slack.TextBlockObject) { out = append(out, slack.NewSectionBlock(o, nil, nil)) }
	if c.Title != "" {
		add(plainText(c.Title, maxHeader))
	}
	if m, ok := ParseMention(c.Mention); ok {
		add(markup(m.String(), maxSection))
	}
	if c.Verdict != "" {
		add(plainText(c.Verdict, goodSection))
	}
	if c.Quote != "" {
		add(plainText("“"+many(c.Quote, goodQuote)+"”", goodSection))
	}
	if len(c.Fields) > 0 {
		add(plainText(fieldLines(c.Fields), goodSection))
	}
	if c.Table != nil && len(c.Table.Header) > 0 {
		add(markup(fence(grid(*c.Table, goodRows, goodSection), maxSection), maxSection))
	}
	for _, s := range c.Sections {
		if body := sectionLines(s); body != "" {
			add(plainText(body, goodSection))
		}
	}
	if len(c.Context) > 0 {
		add(plainText(strings.Join(c.Context, "\n"), goodSection))
	}
	if l := links(c); len(l) > 0 {
		add(markup(strings.Join(l, " · "), maxSection))
	}
	if len(out) == 0 {
		add(plainText(c.Text, goodSection))
	}
	return lighten(out)
}

// text is the whole card as markup without blocks.
func text(c bot.Card) string {
	parts := []string{}
	left := maxText
	add := func(s string) {
		if n := size(s) + 1; s != "" && n <= left {
			left -= n
			parts = append(parts, s)
		}
	}
	head := c.Title
	if head == "" {
		head = c.Text
	}
	add(call(c) + escaped(many(head, maxHeader*2), maxHeader*4))
	add(escaped(clean(c.Verdict, true), 800))
	if c.Quote != "" {
		add("&gt; " + escaped(one(c.Quote, 500), 800))
	}
	add(escaped(fieldLines(c.Fields), 800))
	if c.Table != nil && len(c.Table.Header) > 0 {
		add(fence(grid(*c.Table, 8, 800), 1200))
	}
	for _, s := range c.Sections {
		add(escaped(sectionLines(s), 800))
	}
	add(escaped(clean(strings.Join(c.Context, "\n"), true), 400))
	for _, l := range links(c) {
		add(l)
	}
	if len(parts) == 0 {
		return summary(c)
	}
	return strings.Join(parts, "\n")
}

func fieldLines(fs []bot.Field) string {
	lines := make([]string, 0, len(fs))
	for _, f := range fs {
		lines = append(lines, one(f.Label, 60)+": "+one(f.Value, goodField))
	}
	return strings.Join(lines, "\n")
}

func sectionLines(s bot.Section) string {
	var lines []string
	if s.Heading != "" {
		lines = append(lines, one(s.Heading, maxHeader))
	}
	if s.Text != "" {
		lines = append(lines, many(s.Text, goodSection))
	}
	for _, l := range s.Lines {
		lines = append(lines, "• "+one(l, 500))
	}
	return strings.Join(lines, "\n")
}

// links are the buttons and fields that lead somewhere.
func links(c bot.Card) []string {
	var out []string
	for _, b := range c.Buttons {
		if _, ok := Address(b.URL); ok && len(b.URL) < 400 && len(out) < 6 {
			out = append(out, link(b.URL, b.Label, 700))
		}
	}
	return out
}
