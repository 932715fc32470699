package blocks_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/slack-go/slack"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/blocks"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func report() bot.Card {
	return bot.Card{
		Text:    "edge-gateway: MeterObject 9f2c41d7 overloaded, record takes 88.7 % of busy CPU",
		Title:   "Overloaded: edge-gateway · MeterObject 9f2c41d7",
		Icon:    "fire",
		Verdict: "88.7 % of busy CPU is in record (meter.ts:12)",
		Quote:   "Durable Object is overloaded. Requests queued for too long.",
		Fields: []bot.Field{
			{Label: "Window", Value: "10 s, 1 isolate, 3,821 samples"},
			{Label: "Object", Value: "9f2c41d7", Code: true},
			{Label: "Deploy", Value: "a_b*c"},
			{Label: "Incident", Value: "open page", URL: "https://snapflame.example/incidents/1?sig=a&exp=2"},
		},
		Table: &bot.Table{
			Header: []string{"Function", "Self", "Total", "Change"},
			Right:  []bool{false, true, true, true},
			Rows:   [][]string{{"record", "88.7 %", "90.0 %", "+18"}, {"<!channel>", "4.9 %", "4.9 %", ""}, {"a&b<script>"}},
		},
		Sections: []bot.Section{
			{Heading: "Findings", Lines: []string{"One function dominates.", "GC takes 4.9 %."}},
			{Heading: "Stack", Text: "fetch\n  record", Code: true},
		},
		Context: []string{"capture c1 · asked by the rule overloaded", "sampled, 1 isolate"},
		Buttons: []bot.Button{
			{Action: "pf.open", Label: "Open flamegraph", URL: "https://snapflame.example/captures/c1", Primary: true},
			{Action: "pf.again", Label: "Capture again", Value: "c1"},
			{Action: "pf.pick", Label: "9f2c41d7", Value: "c1.0"},
			{Action: "pf.pick", Label: "11aa22bb", Value: "c1.1"},
			{Action: "pf.silence", Label: "Silence", Options: []bot.Option{{Label: "30 minutes", Value: "i1.30m"}, {Label: "1 hour", Value: "i1.1h"}}},
		},
		Mention: "here",
	}
}

var levels = map[string]blocks.Level{
	"full": blocks.Full, "preformatted": blocks.Preformatted, "sections": blocks.Sections, "text": blocks.TextOnly,
}

func TestRenderGolden(t *testing.T) {
	for name, l := range levels {
		t.Run(name, func(t *testing.T) {
			m := blocks.Render(report(), l)
			if err := blocks.Validate(m.Blocks, blocks.InMessage); err != nil {
				t.Errorf("refused by Slack's limits: %v", err)
			}
			golden(t, "report."+name+".json", m)
		})
	}
}

func golden(t *testing.T, name string, v any) {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s differs from what is rendered now; look at it and run with -update:\n%s", path, b.String())
	}
}

func TestEscapeAndSpans(t *testing.T) {
	cases := map[string]struct{ field, want string }{
		"markup":   {"<!channel> & <@U1>", "&lt;!channel&gt; &amp; &lt;@U1&gt;"},
		"format":   {"*bold*", "`*bold*`"},
		"backtick": {"a`b", "`a'b`"},
		"empty":    {"", "–"},
		"control":  {"a\x00b\nc", "a b c"},
		"bidi":     {"abc\u202ecod.exe", "abccod.exe"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := blocks.Render(bot.Card{Text: "x", Fields: []bot.Field{{Label: "L", Value: c.field}}}, blocks.Full)
			got := m.Blocks[0].(*slack.SectionBlock).Fields[0].Text
			if want := "*L*\n" + c.want; got != want {
				t.Errorf("field %q: got %q, want %q", c.field, got, want)
			}
		})
	}
}

func TestTableIsRectangularAndFull(t *testing.T) {
	rows := make([][]string, 300)
	for i := range rows {
		rows[i] = []string{strings.Repeat("x", 400)}
	}
	m := blocks.Render(bot.Card{Text: "t", Table: &bot.Table{Header: []string{"A", "B"}, Rows: rows}}, blocks.Full)
	if err := blocks.Validate(m.Blocks, blocks.InMessage); err != nil {
		t.Fatal(err)
	}
	tb := m.Blocks[0].(*slack.TableBlock)
	last := tb.Rows[len(tb.Rows)-1][0].(*slack.TableRawTextCell).Text
	if !strings.Contains(last, "more rows") {
		t.Errorf("the last row says %q, want what was left out", last)
	}
	raw, err := json.Marshal(tb)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`"align":""`, `"text":""`, "null"} {
		if strings.Contains(string(raw), bad) {
			t.Errorf("the table holds %s, which Slack refuses", bad)
		}
	}
}

func TestButtonsThatCannotWorkAreLeftOut(t *testing.T) {
	c := bot.Card{Text: "t", Buttons: []bot.Button{
		{Action: "pf.long", Label: "a", Value: strings.Repeat("x", 2000)},
		{Action: "pf.url", Label: "b", URL: "javascript:alert(1)"},
		{Action: "", Label: "c"},
		{Action: "pf.none", Label: "d", Options: []bot.Option{{Label: "x", Value: strings.Repeat("y", 80)}}},
		{Action: "pf.ok", Value: "1"},
	}}
	m := blocks.Render(c, blocks.Full)
	els := m.Blocks[0].(*slack.ActionBlock).Elements.ElementSet
	if len(els) != 1 || els[0].(*slack.ButtonBlockElement).ActionID != "pf.ok" {
		t.Errorf("got %d buttons, want pf.ok alone", len(els))
	}
}

func TestValuesAndActionsRoundTrip(t *testing.T) {
	if got, ok := blocks.ParseValue(blocks.Value("a.b")); !ok || got != "a.b" {
		t.Errorf("ParseValue: got %q %v", got, ok)
	}
	if _, ok := blocks.ParseValue("v2:a"); ok {
		t.Error("a value of another version was read")
	}
	if got := blocks.ParseActionID(blocks.ActionID("pf.pick", 3)); got != "pf.pick" {
		t.Errorf("ParseActionID: got %q", got)
	}
}

func TestMention(t *testing.T) {
	cases := map[string]string{
		"here": "<!here>", "<!channel>": "<!channel>", "U0123ABCD": "<@U0123ABCD>", "<@W0123ABCD>": "<@W0123ABCD>",
		"S0123ABCD": "<!subteam^S0123ABCD>", "<!subteam^S0123ABCD>": "<!subteam^S0123ABCD>",
		"": "", "ana": "", "U1|x": "", "http://x": "", "U0123ABCD> <!here": "",
	}
	for in, want := range cases {
		m, ok := blocks.ParseMention(in)
		if m.String() != want || ok != (want != "") {
			t.Errorf("ParseMention(%q): got %q %v, want %q", in, m, ok, want)
		}
	}
}

func TestModal(t *testing.T) {
	f := bot.Form{
		Title: "Capture a profile of a Worker now", Submit: "Capture", State: `{"channel":"C1"}`,
		Inputs: []bot.Input{
			{ID: "worker", Label: "Worker", Kind: "suggest", Initial: "checkout"},
			{ID: "type", Label: "Profile", Kind: "select", Options: []bot.Option{{Label: "CPU", Value: "cpu"}, {Label: "Heap", Value: "heap"}}, Initial: "heap"},
			{ID: "duration", Label: "Duration", Hint: "1s to 50s", Kind: "text", Initial: "10s", Optional: true},
		},
	}
	v, err := blocks.Modal(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := blocks.Validate(v.Blocks.BlockSet, blocks.InModal); err != nil {
		t.Error(err)
	}
	golden(t, "modal.json", v)
	f.State = strings.Repeat("x", 3001)
	if _, err := blocks.Modal(f); err == nil {
		t.Error("a state that Slack would refuse was taken")
	}
}

func TestHomeKeepsTheLimit(t *testing.T) {
	var h bot.Home
	for range 60 {
		h.Cards = append(h.Cards, report())
	}
	v := blocks.HomeView(h)
	if err := blocks.Validate(v.Blocks.BlockSet, blocks.InHome); err != nil {
		t.Error(err)
	}
	if raw, _ := json.Marshal(v); strings.Contains(string(raw), `"broadcast"`) {
		t.Error("the Home tab mentions somebody")
	}
	if v := blocks.HomeView(bot.Home{}); len(v.Blocks.BlockSet) != 1 {
		t.Errorf("empty Home: got %d blocks, want 1", len(v.Blocks.BlockSet))
	}
}

func TestValidateRefuses(t *testing.T) {
	text := func(n int) *slack.TextBlockObject {
		return slack.NewTextBlockObject(slack.PlainTextType, strings.Repeat("x", n), true, false)
	}
	button := slack.NewButtonBlockElement("a", "v", text(3))
	cases := map[string]slack.Block{
		"long header":      slack.NewHeaderBlock(text(151)),
		"empty header":     slack.NewHeaderBlock(text(0)),
		"no section":       slack.NewSectionBlock(nil, nil, nil),
		"links on":         slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, "x", false, false), nil, nil),
		"eleven fields":    slack.NewSectionBlock(nil, []*slack.TextBlockObject{text(1), text(1), text(1), text(1), text(1), text(1), text(1), text(1), text(1), text(1), text(1)}, nil),
		"same action":      slack.NewActionBlock("", button, button),
		"no cells":         slack.NewTableBlock(""),
		"empty cell":       slack.NewTableBlock("").AddRow(slack.NewTableRawTextCell("")),
		"ragged table":     slack.NewTableBlock("").AddRow(slack.NewTableRawTextCell("a")).AddRow(slack.NewTableRawTextCell("a"), slack.NewTableRawTextCell("b")),
		"no alignment":     slack.NewTableBlock("").AddRow(slack.NewTableRawTextCell("a")).WithColumnSettings(slack.ColumnSetting{}),
		"input in message": slack.NewInputBlock("a", text(3), nil, slack.NewPlainTextInputBlockElement(nil, "a")),
		"unknown kind":     slack.NewMarkdownBlock("", "x"),
		"empty run":        slack.NewRichTextBlock("", slack.NewRichTextSection(slack.NewRichTextSectionTextElement("", nil))),
		"empty context":    slack.NewContextBlock(""),
	}
	for name, b := range cases {
		t.Run(name, func(t *testing.T) {
			if err := blocks.Validate([]slack.Block{b}, blocks.InMessage); err == nil {
				t.Error("taken, want refused")
			}
		})
	}
}

var tag = regexp.MustCompile(`<[^>]*>?`)

// inert fails when anything in what Slack gets is live but what was allowed.
func inert(t *testing.T, m blocks.Message, allowed ...string) {
	t.Helper()
	raw, err := json.Marshal(m.Blocks)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	check := func(where, s string) {
		for _, found := range tag.FindAllString(s, -1) {
			ok := false
			for _, a := range allowed {
				ok = ok || found == a || (strings.HasPrefix(a, "<http") && strings.HasPrefix(found, a))
			}
			if !ok {
				t.Errorf("%s has a live %q in %q", where, found, s)
			}
		}
		if i := strings.IndexByte(tag.ReplaceAllString(s, ""), '>'); i >= 0 {
			t.Errorf("%s has an unescaped > in %q", where, s)
		}
	}
	check("text", m.Text)
	var walk func(any)
	walk = func(n any) {
		switch n := n.(type) {
		case []any:
			for _, c := range n {
				walk(c)
			}
		case map[string]any:
			switch n["type"] {
			case "mrkdwn":
				check("mrkdwn", n["text"].(string))
				if n["verbatim"] != true {
					t.Error("automatic links are on")
				}
			case "user", "usergroup", "broadcast":
				if len(allowed) == 0 || !strings.HasPrefix(allowed[0], "<!here") || n["range"] != "here" {
					t.Errorf("an unasked mention: %v", n)
				}
			case "link", "channel", "team", "date", "image", "markdown":
				t.Errorf("an unasked live element: %v", n)
			}
			for _, c := range n {
				walk(c)
			}
		}
	}
	walk(tree)
}

func hostile(s string) bot.Card {
	return bot.Card{
		Text: s, Title: s, Icon: s, Verdict: s, Quote: s,
		Fields:   []bot.Field{{Label: s, Value: s}, {Label: s, Value: s, Code: true}, {Label: "x", Value: s, URL: "https://ok.example/a?b=c&d=e"}, {Label: "y", Value: s, URL: s}},
		Table:    &bot.Table{Header: []string{s, "Self"}, Right: []bool{false, true}, Rows: [][]string{{s, s}, {s}, {s, s, s}}},
		Sections: []bot.Section{{Heading: s, Text: s, Lines: []string{s, s}}, {Text: s, Lines: []string{s}, Code: true}},
		Context:  []string{s, s},
		Buttons:  []bot.Button{{Action: "pf.x", Label: s, Value: "1"}, {Action: "pf.x", Label: s, Value: s}, {Action: s, Label: s, URL: s}, {Action: "pf.s", Label: s, Options: []bot.Option{{Label: s, Value: s}, {Label: s, Value: "1"}}}},
		Mention:  s,
	}
}

func FuzzNothingUntrustedComesAlive(f *testing.F) {
	for _, s := range []string{
		"", "<!channel>", "<!here|x>", "<@U0123ABCD>", "<https://evil.example|click>", "https://evil.example", "a&b<script>", "&lt;!channel&gt;",
		"```\n<!everyone>", "`<!here>`", "\u202e<!here>", "\x00\xff\xfe<@U1>", strings.Repeat("<", 4000), strings.Repeat("😀", 2000), strings.Repeat("&", 14000),
		"<!subteam^S123>", "> quote", "|>", "<", ">", "*_~`", strings.Repeat("a\n", 3000), "\u2028<!channel>", "mailto:a@b.c", "#general @here",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := hostile(s)
		if _, ok := blocks.ParseMention(s); ok {
			c.Mention = "" // a configured mention is meant to be live
		}
		allowed := []string{"", "<https://ok.example/a?b=c&amp;d=e|"}
		if u, ok := blocks.Address(s); ok { // the address of a button or field is configuration too
			allowed = append(allowed, "<"+strings.NewReplacer("&", "&amp;", "|", "%7C").Replace(u)+"|")
		}
		for name, l := range levels {
			m := blocks.Render(c, l)
			if err := blocks.Validate(m.Blocks, blocks.InMessage); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if m.Text == "" || len([]rune(m.Text)) > 4000 {
				t.Errorf("%s: text of %d characters", name, len([]rune(m.Text)))
			}
			inert(t, m, allowed...)
		}
		home := blocks.HomeView(bot.Home{Cards: []bot.Card{c, c}})
		if err := blocks.Validate(home.Blocks.BlockSet, blocks.InHome); err != nil {
			t.Errorf("home: %v", err)
		}
		inert(t, blocks.Message{Text: "x", Blocks: home.Blocks.BlockSet}, allowed...)
		modal, err := blocks.Modal(bot.Form{Title: s, Submit: s, Inputs: []bot.Input{{ID: "a", Label: s, Hint: s, Kind: "text", Initial: s}, {ID: "b", Label: s, Kind: "select", Options: []bot.Option{{Label: s, Value: s}}, Initial: s}, {ID: "c", Label: s, Kind: "suggest", Initial: s}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := blocks.Validate(modal.Blocks.BlockSet, blocks.InModal); err != nil {
			t.Errorf("modal: %v", err)
		}
	})
}

func TestMentionIsOnlyWhatWasConfigured(t *testing.T) {
	c := hostile("<!channel>")
	c.Mention = "here"
	for name, l := range levels {
		m := blocks.Render(c, l)
		inert(t, m, "<!here>", "<https://ok.example/a?b=c&amp;d=e|")
		raw, _ := json.Marshal(m)
		if !strings.Contains(string(raw), "here") {
			t.Errorf("%s: nobody is called", name)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	c := report()
	for b.Loop() {
		blocks.Render(c, blocks.Full)
	}
}
