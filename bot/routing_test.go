package bot_test

import (
	"strings"
	"testing"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/triggers"
)

func TestRouting(t *testing.T) {
	r := bot.Routing{Channel: "C0DEFAULT", Mention: "here", Routes: []bot.Route{
		{Class: triggers.ClassExceededMemory, Channel: "C0MEM"},
		{Script: "shop-*", Environment: "production", Channel: "C0SHOP", Mention: "S0SHOP"},
		{Environment: "staging", Channel: "C0STAGE"},
		{Script: "[", Channel: "C0ODD"},
		{Script: "quiet", Mention: "U0BOB"},
	}}
	tests := map[string]struct {
		d                triggers.Decision
		channel, mention string
	}{
		"nothing matches":            {triggers.Decision{}, "C0DEFAULT", "here"},
		"class":                      {triggers.Decision{Class: triggers.ClassExceededMemory, Event: triggers.Event{Script: "shop-a", Environment: "production"}}, "C0MEM", "here"},
		"script and environment":     {triggers.Decision{Event: triggers.Event{Script: "shop-a", Environment: "production"}}, "C0SHOP", "S0SHOP"},
		"only the script":            {triggers.Decision{Event: triggers.Event{Script: "shop-a"}}, "C0DEFAULT", "here"},
		"the owner's script":         {triggers.Decision{Target: triggers.Target{Script: "shop-room"}, Event: triggers.Event{Script: "gateway", Environment: "production"}}, "C0SHOP", "S0SHOP"},
		"the reporter's script":      {triggers.Decision{Target: triggers.Target{Script: "room"}, Event: triggers.Event{Script: "shop-a", Environment: "production"}}, "C0SHOP", "S0SHOP"},
		"environment":                {triggers.Decision{Event: triggers.Event{Script: "x", Environment: "staging"}}, "C0STAGE", "here"},
		"the rule's own comes first": {triggers.Decision{Channel: "C0RULE", Mention: "U0ALICE", Event: triggers.Event{Environment: "staging"}}, "C0RULE", "U0ALICE"},
		"the rule's channel alone":   {triggers.Decision{Channel: "C0RULE", Event: triggers.Event{Script: "shop-a", Environment: "production"}}, "C0RULE", "S0SHOP"},
		"no pattern matches itself":  {triggers.Decision{Event: triggers.Event{Script: "["}}, "C0ODD", "here"},
		"a route without a channel":  {triggers.Decision{Event: triggers.Event{Script: "quiet"}}, "C0DEFAULT", "U0BOB"},
	}
	for name, tt := range tests {
		channel, mention := r.For(tt.d)
		if channel != tt.channel || mention != tt.mention {
			t.Errorf("%s: %s, %s; want %s, %s", name, channel, mention, tt.channel, tt.mention)
		}
	}
}

func TestMentionIsOnTheFirstPostOnly(t *testing.T) {
	s := scenes()["closed"]
	for _, key := range []string{".root", ".evidence", ".report.k7f3q9-1", ".png.k7f3q9-1", ".closed"} {
		p, ok := bot.Writer{}.Post(s.c, s.c.ID+key, s.now)
		if !ok {
			t.Fatalf("no %s", key)
		}
		if want := key == ".root"; (p.Card.Mention != "") != want {
			t.Errorf("%s mentions %q", key, p.Card.Mention)
		}
	}
}

func TestTemplates(t *testing.T) {
	w := bot.Writer{}
	var err error
	if w.Templates, err = bot.ParseTemplates(map[string]string{
		"title": "[{{.Environment}}] {{.What}} in {{.Worker}} {{.Object}}",
		"next":  "{{.Default}} Runbook: wiki/{{.Class}}",
		"text":  "{{if eq .Worker \"checkout\"}}{{else}}{{.Count}} x {{.Quote}}{{end}}",
	}); err != nil {
		t.Fatal(err)
	}
	cards := bot.PreviewTemplates(w, start)
	first := cards[0]
	if first.Title != "[production] Durable Object overloaded in room-api 3fa1c07d" {
		t.Errorf("title %q", first.Title)
	}
	if first.Text != "120 x Durable Object is overloaded. Too many requests queued." {
		t.Errorf("text %q", first.Text)
	}
	if next := first.Sections[len(first.Sections)-1].Text; !strings.Contains(next, "about to start") || !strings.HasSuffix(next, "Runbook: wiki/overloaded") {
		t.Errorf("next %q", next)
	}
	if plain := bot.PreviewTemplates(bot.Writer{}, start)[2]; !strings.HasPrefix(cards[2].Text, plain.Text) {
		t.Errorf("a template that writes nothing leaves %q, want the built-in %q", cards[2].Text, plain.Text)
	}
	for _, c := range cards {
		checkCard(t, "preview", c)
	}
}

func TestTemplatesAreRefusedAtStart(t *testing.T) {
	for source, want := range map[string]string{
		"{{.Nothing}}":           "can't evaluate field Nothing",
		"{{.Worker":              "unclosed action",
		"{{call .Worker}}":       "call",
		"{{.Worker.Secret}}":     "Secret",
		strings.Repeat("x", 3e3): "longer than",
		"{{range $i := .Count}}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{{end}}": "more than",
		`{{template "other"}}`: "other",
	} {
		if _, err := bot.ParseTemplates(map[string]string{"title": source}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "title") {
			t.Errorf("%.40q: %v, want %q", source, err, want)
		}
	}
	if _, err := bot.ParseTemplates(map[string]string{"titel": "x"}); err == nil || !strings.Contains(err.Error(), "titel") {
		t.Errorf("an unknown slot: %v", err)
	}
}

// Names come from outside. Whatever they are, a card keeps its form, and what a
// button runs is read as it was meant.
func TestHostileNames(t *testing.T) {
	for _, name := range []string{
		"<!channel>", "a&b<script>", "`x`", "x\ny", strings.Repeat("長", 300), "\xff\xfe", "object=1", "10s", "", `"`, "a/b/c", "{{.Quote}}", "<@U0BOB>", "a\x00b",
	} {
		d := overload(start, objectID)
		d.Target.Script, d.Target.Entrypoint, d.Event.Script, d.Event.Route, d.Quote = name, name, name, name, name
		d.Event.Environment, d.Event.VersionID, d.Target.VersionID, d.Rule, d.Sentence = name, name, name, name, name
		d.Candidates = []triggers.Target{d.Target}
		for _, action := range []triggers.Action{triggers.ActionCapture, triggers.ActionReport} {
			d.Action = action
			c := bot.New(d, bot.Opening{ID: "inc1", Now: start}, bot.Policy{})
			for _, key := range []string{"inc1.root", "inc1.evidence"} {
				p, ok := bot.Writer{Links: links{}}.Post(c, key, start)
				if !ok {
					t.Fatalf("no %s", key)
				}
				checkCard(t, key+" "+name, p.Card)
				if p.Card.Mention != "" {
					t.Errorf("%q made a mention", name)
				}
			}
		}
	}
}
