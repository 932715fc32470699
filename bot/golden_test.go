package bot_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/snapflame/snapflame/bot"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with testdata/name.txt. Look at the difference before -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; run with -update and read the file", err)
	}
	if !bytes.Equal(want, []byte(got)) {
		t.Errorf("%s differs:\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}

// transcript writes a card as a person would read it in Slack.
func transcript(c bot.Card) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if c.Title != "" || c.Icon != "" {
		line(":%s: %s", c.Icon, c.Title)
	}
	if c.Mention != "" {
		line("(mentions %s)", c.Mention)
	}
	if c.Verdict != "" {
		line("**%s**", c.Verdict)
	}
	if c.Quote != "" {
		line("> %s", c.Quote)
	}
	for _, f := range c.Fields {
		line("  %-24s %s%s", f.Label, f.Value, suffix(" -> ", f.URL))
	}
	if c.Table != nil {
		b.WriteString(tableText(*c.Table))
	}
	for _, s := range c.Sections {
		if s.Heading != "" {
			line("# %s", s.Heading)
		}
		if s.Text != "" {
			line("  %s", s.Text)
		}
		for _, l := range s.Lines {
			line("  - %s", l)
		}
	}
	for _, s := range c.Context {
		line("~ %s", s)
	}
	for _, btn := range c.Buttons {
		line("[%s] %s %s%s", btn.Label, btn.Action, btn.Value, suffix(" -> ", btn.URL))
		for _, o := range btn.Options {
			line("   %s = %s", o.Label, o.Value)
		}
	}
	line("text: %s", c.Text)
	return b.String()
}

func suffix(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}

func tableText(t bot.Table) string {
	rows := append([][]string{t.Header}, t.Rows...)
	width := make([]int, len(t.Header))
	for _, r := range rows {
		for i, cell := range r {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		for i, cell := range r {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if t.Right[i] {
				b.WriteString("  " + pad + cell)
			} else {
				b.WriteString("  " + cell + pad)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// checkCard holds every card to what a renderer relies on.
func checkCard(t *testing.T, name string, c bot.Card) {
	t.Helper()
	if c.Text == "" {
		t.Errorf("%s has no text for notifications and screen readers", name)
	}
	if n := utf8.RuneCountInString(c.Title); n > 150 {
		t.Errorf("%s: title of %d characters, Slack's header takes 150", name, n)
	}
	for _, f := range c.Fields {
		if f.Label == "" || f.Value == "" {
			t.Errorf("%s: empty field %+v", name, f)
		}
	}
	if c.Table != nil {
		if len(c.Table.Right) != len(c.Table.Header) {
			t.Errorf("%s: table has %d headers and %d alignments", name, len(c.Table.Header), len(c.Table.Right))
		}
		for _, r := range c.Table.Rows {
			if len(r) != len(c.Table.Header) {
				t.Errorf("%s: row %v has not the header's cells", name, r)
			}
			for _, cell := range r {
				if cell == "" {
					t.Errorf("%s: empty cell in %v, Slack refuses it", name, r)
				}
			}
		}
	}
	for _, btn := range c.Buttons {
		if btn.Action == "" || btn.Label == "" || utf8.RuneCountInString(btn.Label) > 75 {
			t.Errorf("%s: button %+v", name, btn)
		}
		for _, o := range btn.Options {
			if len(o.Value) > 70 {
				t.Errorf("%s: option value %q, Slack takes 75 with the version", name, o.Value)
			}
		}
	}
}
