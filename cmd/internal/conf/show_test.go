package conf_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/rs/zerolog"

	"github.com/snapflame/snapflame/cmd/internal/conf"
)

var update = flag.Bool("update", false, "write the generated documentation")

const everySecret = "hunter2-do-not-print"

// full sets every secret there is, and every other key to its default.
func full(t *testing.T) *conf.Config {
	t.Helper()
	env := map[string]string{
		"NATS_URL":               "nats://bob:" + everySecret + "@a:4222,tls://" + everySecret + "@b",
		"SNAPFLAME_SLACK_ROUTES": "[{class: overloaded, script: 'edge-*', channel: C2}]",
		"SNAPFLAME_RULES":        "[{name: 'a: b', match: {text: 'x\"y', count: 3, window: 90s}, profile: cpu, duration: 5s}]",
	}
	for _, f := range conf.Fields() {
		if f.Secret {
			env[f.Env[0]] = everySecret
		}
	}
	c, err := load(t, "", env)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	c := full(t)
	type hidden struct{ s conf.Secret }
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{c, *c, c.Slack, c.Slack.BotToken, &c.Slack.BotToken, hidden{c.Slack.BotToken}, c.NATS.URL} {
			if got := fmt.Sprintf(verb, v); strings.Contains(got, everySecret) || strings.Contains(got, fmt.Sprintf("%x", everySecret)) {
				t.Errorf("%s of a %T prints a secret: %.200s", verb, v, got)
			}
		}
	}
	var out bytes.Buffer
	log := zerolog.New(&out)
	log.Info().Any("config", c).Any("token", c.API.Token).Stringer("s", c.Slack.AppToken).Interface("i", c.NATS).Msg("start")
	if err := json.NewEncoder(&out).Encode(c); err != nil {
		t.Fatal(err)
	}
	y, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(y)
	if err := c.Show(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), everySecret) {
		t.Errorf("a secret is written:\n%s", out.String())
	}
	if n := strings.Count(out.String(), "[redacted]"); n < 4 {
		t.Errorf("%d times [redacted]: where did the secrets go?\n%s", n, out.String())
	}
	if got := c.Slack.BotToken.Reveal(); got != everySecret {
		t.Errorf("Reveal gives %q", got)
	}
}

func TestShowPrintsEveryKey(t *testing.T) {
	c := full(t)
	var out bytes.Buffer
	if err := c.Show(&out); err != nil {
		t.Fatal(err)
	}
	for _, f := range conf.Fields() {
		if !strings.Contains(out.String(), "# "+f.Key+": ") {
			t.Errorf("%s is not shown", f.Key)
		}
	}
	for _, want := range []string{
		"  mode: http  # slack.mode: follows from slack.app_token",
		"  duration: 10s  # capture.duration: default",
		`  channel: ""  # slack.channel: not set, SNAPFLAME_SLACK_CHANNEL`,
		`  bot_token: "[redacted]"  # slack.bot_token: SNAPFLAME_SLACK_BOT_TOKEN`,
		`  url: "nats://[redacted]@a:4222,tls://[redacted]@b"  # nats.url: NATS_URL`,
	} {
		// An app token is set here, so that the mode is socket.
		want = strings.Replace(want, "mode: http", "mode: socket", 1)
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in:\n%s", want, out.String())
		}
	}
}

// What show prints is a configuration: without secrets it reads back as the same.
func TestShowReadsBack(t *testing.T) {
	yaml := "public_url: https://x.example\nbaseline: {objects: ['room-api/*', 'a/B']}\nlog: {format: console}\n" +
		"rules:\n- {name: 'a: b # c', match: {text: '\"\\d+', count: 3, window: 90s}, profile: cpu, mention: here}\n- {name: off, ignore: true}\n"
	first, err := load(t, yaml, nil)
	if err != nil {
		t.Fatal(err)
	}
	var a, b bytes.Buffer
	if err := first.Show(&a); err != nil {
		t.Fatal(err)
	}
	second, err := load(t, a.String(), nil)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, a.String())
	}
	if err := second.Show(&b); err != nil {
		t.Fatal(err)
	}
	strip := func(s string) string {
		var out []string
		for line := range strings.Lines(s) {
			text, _, _ := strings.Cut(line, "  # ")
			out = append(out, text)
		}
		return strings.Join(out, "\n")
	}
	if strip(a.String()) != strip(b.String()) {
		t.Errorf("show, load, show differs:\n%s\n---\n%s", a.String(), b.String())
	}
}

const docs = "../../../deploy/CONFIGURATION.md"

// The documentation of the keys is made from the struct: go test -run Docs -update.
func TestDocsListEveryKey(t *testing.T) {
	want := conf.Documentation()
	if *update {
		if err := os.WriteFile(docs, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is out of date; run go test ./cmd/internal/conf -run Docs -update", docs)
	}
	for _, f := range conf.Fields() {
		if f.Doc == "" {
			t.Errorf("%s has no meaning (tag doc)", f.Key)
		}
		if !strings.Contains(string(got), "| `"+f.Key+"` |") {
			t.Errorf("%s does not list %s", docs, f.Key)
		}
	}
}

func TestExampleOfTheDocsLoads(t *testing.T) {
	_, rest, _ := strings.Cut(conf.Documentation(), "```yaml\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the documentation has no example")
	}
	c, err := load(t, example, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Rules) != 3 || len(c.Slack.Routes) != 1 || len(c.Warnings) != 0 {
		t.Errorf("%d rules, %d routes, warnings %q", len(c.Rules), len(c.Slack.Routes), c.Warnings)
	}
}
