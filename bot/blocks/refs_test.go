package blocks_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/blocks"
)

// A field with ids of people, groups and channels is live; with anything else
// among them it is the text it would be anyway.
func TestReferences(t *testing.T) {
	for _, c := range []struct {
		refs []string
		want string
	}{
		{[]string{"U0123ABCD"}, `<@U0123ABCD>`},
		{[]string{"W0123ABCD", "S0123ABCD", "C0123ABCD"}, `<@W0123ABCD> <!subteam^S0123ABCD> <#C0123ABCD>`},
		{[]string{"api:U0123ABCD"}, "the value"},
		{[]string{"U0123ABCD", "!channel"}, "the value"},
		{[]string{"U0123ABCD>\n<!channel"}, "the value"},
		{[]string{"here"}, "the value"},
		{nil, "the value"},
	} {
		out := blocks.Render(bot.Card{Text: "x", Verdict: "x", Fields: []bot.Field{{Label: "By", Value: "the value", Refs: c.refs}}}, blocks.Full)
		raw, err := json.Marshal(out.Blocks)
		if err != nil {
			t.Fatal(err)
		}
		var fields []struct {
			Fields []struct{ Text string }
		}
		if err := json.Unmarshal(raw, &fields); err != nil {
			t.Fatal(err)
		}
		var got string
		for _, b := range fields {
			for _, f := range b.Fields {
				got = strings.TrimPrefix(f.Text, "*By*\n")
			}
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.refs, got, c.want)
		}
	}
}
