package conf_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/cmd/internal/conf"
)

// load reads yaml from a file called c.yaml in the working directory and the
// variables of env.
func load(t *testing.T, yaml string, env map[string]string) (*conf.Config, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	src := conf.Source{Getenv: func(k string) string { return env[k] }}
	for k, v := range env {
		src.Environ = append(src.Environ, k+"="+v)
	}
	if yaml != "" {
		if err := os.WriteFile("c.yaml", []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		src.File = "c.yaml"
	}
	return conf.Load(src)
}

func TestDefaults(t *testing.T) {
	c, err := load(t, "", nil)
	if err != nil {
		t.Fatalf("an empty configuration: %v", err)
	}
	if len(c.Warnings) > 0 {
		t.Errorf("the defaults warn: %q", c.Warnings)
	}
	type pair struct{ got, want any }
	for key, p := range map[string]pair{
		"listen":                  {c.Listen, "127.0.0.1:8080"},
		"nats.listen":             {c.NATS.Listen, "127.0.0.1:4222"},
		"nats.store_dir":          {c.NATS.StoreDir, "./data"},
		"nats.subjects":           {strings.Join(c.NATS.Subjects, ","), "workers.events.>"},
		"nats.stream":             {c.NATS.Stream, "WORKERS_EVENTS"},
		"nats.replicas":           {c.NATS.Replicas, 1},
		"nats external":           {c.NATS.External(), false},
		"cloudflare.api_base_url": {c.Cloudflare.BaseURL, "https://api.cloudflare.com/client/v4"},
		"slack.command":           {c.Slack.Command, "/profile"},
		"slack mode":              {c.SlackMode(), "http"},
		"incident.quiet":          {c.Incident.Quiet, 10 * time.Minute},
		"capture.enabled":         {c.Capture.Enabled, true},
		"capture.concurrency":     {c.Capture.Concurrency, 4},
		"capture.duration":        {c.Capture.Duration, 10 * time.Second},
		"capture.spacing":         {c.Capture.Spacing, time.Minute},
		"capture.per_hour":        {c.Capture.PerHour, 60},
		"report.sample_cap":       {c.Report.SampleCap, 5 * time.Millisecond},
	} {
		if p.got != p.want {
			t.Errorf("%s = %v, want %v", key, p.got, p.want)
		}
	}
}

func TestEnvironmentWins(t *testing.T) {
	c, err := load(t, `
listen: 127.0.0.1:9
nats: {url: "nats://file:4222"}
slack:
  bot_token: xoxb-file
  allowed_users: [U1, U2]
capture.duration: 7s
`, map[string]string{
		"SNAPFLAME_LISTEN":              "127.0.0.1:10",
		"NATS_URL":                      "nats://bob:hunter2@env:4222",
		"SLACK_APP_TOKEN":               "xapp-1",
		"SNAPFLAME_SLACK_ALLOWED_USERS": " U3 ,U4,",
		"SNAPFLAME_SLACK_BOT_TOKEN":     "xoxb-ours",
		"SLACK_BOT_TOKEN":               "xoxb-theirs",
		"SNAPFLAME_CAPTURE_ENABLED":     "off",
		"SNAPFLAME_RETENTION_AGE":       "14d",
		"SNAPFLAME_RULES":               `[{name: hot, match: {class: overloaded, count: 3, window: 1m}, profile: heap}]`,
	})
	if err != nil {
		t.Fatal(err)
	}
	type pair struct{ got, want any }
	for key, p := range map[string]pair{
		"listen":              {c.Listen, "127.0.0.1:10"},
		"nats.url":            {c.NATS.URL.Reveal(), "nats://bob:hunter2@env:4222"},
		"nats.url shown":      {c.NATS.URL.String(), "nats://[redacted]@env:4222"},
		"slack.bot_token":     {c.Slack.BotToken.Reveal(), "xoxb-ours"},
		"slack.allowed_users": {strings.Join(c.Slack.Users, "|"), "U3|U4"},
		"slack mode":          {c.SlackMode(), "socket"},
		"capture.enabled":     {c.Capture.Enabled, false},
		"capture.duration":    {c.Capture.Duration, 7 * time.Second},
		"retention.age":       {c.Retention.Age.Duration(), 14 * 24 * time.Hour},
		"rules":               {len(c.Rules), 1},
		"rules[0].profile":    {c.Rules[0].Profile, "heap"},
		"rules[0].window":     {c.Rules[0].Match.Window, time.Minute},
	} {
		if p.got != p.want {
			t.Errorf("%s = %v, want %v", key, p.got, p.want)
		}
	}
}

func TestSecretFiles(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	empty := filepath.Join(dir, "empty")
	for name, text := range map[string]string{token: "s3cret-of-a-file\n", empty: "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := load(t, "", map[string]string{"CLOUDFLARE_API_TOKEN_FILE": token, "SNAPFLAME_API_TOKEN_FILE": token})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Cloudflare.APIToken.Reveal(); got != "s3cret-of-a-file" {
		t.Errorf("CLOUDFLARE_API_TOKEN_FILE gave %q", got)
	}
	if got := c.API.Token.Reveal(); got != "s3cret-of-a-file" {
		t.Errorf("SNAPFLAME_API_TOKEN_FILE gave %q", got)
	}
	for _, tc := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"SLACK_BOT_TOKEN_FILE": "/nowhere"}, "SLACK_BOT_TOKEN_FILE: slack.bot_token /nowhere: cannot be read: no such file or directory"},
		{map[string]string{"SLACK_BOT_TOKEN_FILE": empty}, "SLACK_BOT_TOKEN_FILE: slack.bot_token " + empty + ": the file is empty"},
		{map[string]string{"SLACK_BOT_TOKEN_FILE": token, "SLACK_BOT_TOKEN": "xoxb-1"}, "SLACK_BOT_TOKEN: slack.bot_token is set both here and by SLACK_BOT_TOKEN_FILE; unset one"},
	} {
		if _, err := load(t, "", tc.env); err == nil || err.Error() != tc.want {
			t.Errorf("%v:\n got %v\nwant %s", tc.env, err, tc.want)
		}
	}
}

// Everything that is or may hold a secret must have a file variable.
func TestEverySecretIsReadFromAFile(t *testing.T) {
	for _, f := range conf.Fields() {
		if !f.File {
			if f.Secret {
				t.Errorf("%s is secret and has no file variable", f.Key)
			}
			continue
		}
		for _, name := range f.Env {
			_, err := load(t, "", map[string]string{name + "_FILE": "/nowhere"})
			if err == nil || !strings.Contains(err.Error(), name+"_FILE") {
				t.Errorf("%s_FILE is not read: %v", name, err)
			}
		}
	}
}

func TestBadConfiguration(t *testing.T) {
	for _, tc := range []struct {
		name, yaml string
		env        map[string]string
		want       string
	}{
		{"unknown key", "capture:\n  duraton: 5s", nil, "c.yaml:2: capture.duraton is not a key; did you mean capture.duration?"},
		{"unknown section", "captrue:\n  duration: 5s", nil, "c.yaml:1: captrue is not a key; did you mean capture?"},
		{"key of another section", "store_dir: /x", nil, "c.yaml:1: store_dir is not a key; did you mean nats.store_dir?"},
		{"unknown in a rule", "rules:\n- name: a\n  match: {scrpt: a}", nil, "c.yaml:3: rules[0].match.scrpt is not a key; did you mean rules[0].match.script?"},
		{"nothing near", "capture:\n  zzzzzzzzzz: 1", nil, "c.yaml:2: capture.zzzzzzzzzz is not a key; known here: enabled, concurrency, duration, spacing, per_hour"},
		{"no unit", "capture:\n  duration: 10", nil, `c.yaml:2: capture.duration "10" lacks a unit; write 10s or 10ms`},
		{"too long", "capture:\n  duration: 1m", nil, "c.yaml:2: capture.duration is 1m; it must be 1s to 50s"},
		{"too short", "", map[string]string{"SNAPFLAME_CAPTURE_DURATION": "500ms"}, "SNAPFLAME_CAPTURE_DURATION: capture.duration is 500ms; it must be 1s to 50s"},
		{"not a number", "", map[string]string{"SNAPFLAME_CAPTURE_PER_HOUR": "many"}, `SNAPFLAME_CAPTURE_PER_HOUR: capture.per_hour "many" is not a whole number`},
		{"zero budget", "capture: {per_hour: 0}", nil, "c.yaml:1: capture.per_hour is 0; it must be 1 to 1000000"},
		{"not a bool", "capture: {enabled: maybe}", nil, `c.yaml:1: capture.enabled "maybe" is neither true nor false`},
		{"channel name", "slack:\n  channel: '#incidents'", nil, `c.yaml:2: slack.channel "#incidents" is not a channel id; copy the id (C…) from the bottom of the channel's details in Slack`},
		{"user name", "slack: {allowed_users: [anna]}", nil, `c.yaml:1: slack.allowed_users "anna" is not one of user ids (U…); names do not work`},
		{"swapped tokens", "", map[string]string{"SLACK_BOT_TOKEN": "xapp-1-topsecret"}, "SLACK_BOT_TOKEN: slack.bot_token holds an app token; the bot token begins with xoxb- and stands under OAuth & Permissions"},
		{"socket without token", "slack: {mode: socket}", nil, "c.yaml:1: slack.mode is socket, which needs an app token; set SLACK_APP_TOKEN or slack.mode: http"},
		{"command", "slack: {command: profile}", nil, `c.yaml:1: slack.command "profile" is not a slash command; write / and at most 31 lower-case letters, digits, - or _`},
		{"route without channel", "slack:\n  routes:\n  - class: overloaded", nil, "c.yaml:2: slack.routes[0].channel is missing; a route needs a channel id"},
		{"route class", "slack:\n  routes:\n  - {class: overload, channel: C1}", nil, `c.yaml:2: slack.routes[0].class "overload" is unknown; did you mean overloaded?`},
		{"listen", "listen: 8080", nil, `c.yaml:1: listen "8080" is not an address; write host:port, such as 127.0.0.1:8080`},
		{"public url", "public_url: snapflame.example.com", nil, `c.yaml:1: public_url "snapflame.example.com" is not a web address; write https://host`},
		{"nats scheme", "", map[string]string{"NATS_URL": "http://u:hunter2@x"}, `NATS_URL: nats.url "http://[redacted]@x" has an unknown scheme; write nats://host:4222, tls://, ws:// or wss://`},
		{"nats open to all", "nats: {listen: '0.0.0.0:4222'}", nil, "c.yaml:1: nats.listen 0.0.0.0:4222 is reachable from outside and has no token; set nats.token or listen on 127.0.0.1"},
		{"replicas alone", "nats: {replicas: 3}", nil, "c.yaml:1: nats.replicas is 3, but the embedded server stands alone; set nats.url or nats.replicas: 1"},
		{"subject", "nats: {subjects: 'workers events'}", nil, `c.yaml:1: nats.subjects "workers events" is not a subject; write words joined by dots, such as workers.events.>`},
		{"own subject", "nats: {subjects: 'snapflame.jobs.>'}", nil, `c.yaml:1: nats.subjects "snapflame.jobs.>" is snapflame's own; ingest another subject`},
		{"credentials that are not there", "nats: {url: 'nats://x', creds: /nowhere/bot.creds}", nil, "c.yaml:1: nats.creds /nowhere/bot.creds: cannot be read: no such file or directory"},
		{"half a certificate", "nats: {url: 'tls://x', tls_cert: a.pem}", nil, "c.yaml:1: nats.tls_cert and nats.tls_key belong together; set both or none"},
		{"rule without name", "rules: [{profile: cpu}]", nil, "c.yaml:1: rules[0].name is missing; explain and threads show it"},
		{"rule named twice", "rules: [{name: a}, {name: a}]", nil, `c.yaml:1: rules[1].name "a" is another rule's too; names are unique`},
		{"rule profile", "rules: [{name: a, profile: memory}]", nil, `c.yaml:1: rules[0] (a): profile "memory" is unknown; use cpu, heap or none`},
		{"rule text", "rules: [{name: a, match: {text: '('}}]", nil, "c.yaml:1: rules[0] (a): match.text is not a regular expression: error parsing regexp: missing closing ): `(`"},
		{"rule glob", "rules: [{name: a, match: {script: '[x'}}]", nil, `c.yaml:1: rules[0] (a): match.script "[x" is not a glob; close its brackets or escape them with \`},
		{"rule window", "rules: [{name: a, match: {window: 1m}}]", nil, "c.yaml:1: rules[0] (a): match.window needs a match.count of at least 2"},
		{"rule subclass", "rules: [{name: a, match: {class: exceeded_cpu, subclass: data_queued}}]", nil, "c.yaml:1: rules[0] (a): match.subclass belongs to class overloaded, not exceeded_cpu"},
		{"rules in a variable", "", map[string]string{"SNAPFLAME_RULES": "[{nam: x}]"}, "SNAPFLAME_RULES: rules[0].nam is not a key; did you mean rules[0].name? (and 1 more: snapflame config check)"},
		{"size", "retention: {bytes: lots}", nil, `c.yaml:1: retention.bytes "lots" is not a size (512KiB, 64MiB, 10GB)`},
		{"notice", "slack: {notices_off: [pictures]}", nil, `c.yaml:1: slack.notices_off "pictures" is no notice; there are evidence, report, picture, failure, closed, mention`},
		{"text", "slack: {texts: {title: '{{.Nothing}}'}}", nil, `c.yaml:1: slack.texts.title cannot be used: template "title": run: template: title:1:2: executing "title" at <.Nothing>: can't evaluate field Nothing in type bot.TemplateFields`},
		{"baseline object", "baseline: {objects: [room-api]}", nil, `c.yaml:1: baseline.objects "room-api" names no class; write script/class, such as room-api/*`},
		{"list for a word", "listen: [a, b]", nil, "c.yaml:1: listen takes one value, not a list or section"},
		{"word for a section", "capture: yes", nil, "c.yaml:1: capture needs keys below it, one a line"},
		{"word for rules", "rules: x", nil, "c.yaml:1: rules is a list; start each entry with a dash"},
		{"twice, dotted and nested", "capture.duration: 5s\ncapture:\n  duration: 6s", nil, "c.yaml:3: capture.duration is set twice, first at c.yaml:1"},
		{"merge key", "capture: &a {duration: 5s}\nincident:\n  <<: *a", nil, "c.yaml:3: incident merge keys (<<) are not supported; write the keys out"},
		{"top level list", "- a", nil, "c.yaml:1: needs keys below it, one a line"},
		{"two documents", "listen: 'x:1'\n---\nlisten: 'y:1'", nil, "c.yaml: holds several YAML documents; keep one"},
		{"two mistakes", "listen: x\ncapture: {duration: 99s}", nil, `c.yaml:1: listen "x" is not an address; write host:port, such as 127.0.0.1:8080 (and 1 more: snapflame config check)`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := load(t, tc.yaml, tc.env)
			if err == nil {
				t.Fatalf("no error, want %s", tc.want)
			}
			if got := err.Error(); got != tc.want {
				t.Errorf("\n got %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestNotYAML(t *testing.T) {
	for _, text := range []string{"a: b: c", "capture: {", "\tlisten: x", "listen: \"x", "listen: x\nlisten: y"} {
		_, err := load(t, text, nil)
		if err == nil {
			t.Errorf("%q is taken", text)
			continue
		}
		if got := err.Error(); !strings.HasPrefix(got, "c.yaml:") || strings.Contains(got, "\n") {
			t.Errorf("%q: %q is not one line that begins with the file and line", text, got)
		}
	}
}

func TestFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := conf.Load(conf.Source{File: "gone.yaml"}); err == nil ||
		err.Error() != "gone.yaml: no such file; give --config an existing one or leave it out" {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile("snapflame.yaml", []byte("listen: 127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := conf.Load(conf.Source{})
	if err != nil || c.Listen != "127.0.0.1:1" || c.File() != conf.DefaultFile {
		t.Errorf("the default file: listen %q from %q, %v", c.Listen, c.File(), err)
	}
	if err := os.WriteFile("big.yaml", make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := conf.Load(conf.Source{File: "big.yaml"}); err == nil || !strings.Contains(err.Error(), "larger than 1MiB") {
		t.Errorf("a file of 2 MiB: %v", err)
	}
	if _, err := conf.Load(conf.Source{File: "."}); err == nil || !strings.HasPrefix(err.Error(), ".: ") {
		t.Errorf("a folder: %v", err)
	}
}

func TestMisspelledVariables(t *testing.T) {
	c, err := load(t, "", map[string]string{
		"SNAPFLAME_CAPTURE_DURATON":   "5s",
		"SNAPFLAME_SERVICE_HOST":      "10.0.0.1", // as Kubernetes sets them
		"SNAPFLAME_PORT_8080_TCP":     "x",
		"SNAPFLAME_INGEST_TOKEN_FLIE": "x",
	})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(c.Warnings, "\n")
	for _, want := range []string{
		"SNAPFLAME_CAPTURE_DURATON is not read; did you mean SNAPFLAME_CAPTURE_DURATION?",
		"SNAPFLAME_INGEST_TOKEN_FLIE is not read; did you mean SNAPFLAME_INGEST_TOKEN_FILE?",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no warning %q in:\n%s", want, got)
		}
	}
	if len(c.Warnings) != 2 {
		t.Errorf("%d warnings, want 2:\n%s", len(c.Warnings), got)
	}
}

func TestDurationLimitsAreTheProfilers(t *testing.T) {
	for d, ok := range map[time.Duration]bool{
		capture.MinDuration: true, capture.MaxDuration: true,
		capture.MinDuration - 1: false, capture.MaxDuration + 1: false,
	} {
		_, err := load(t, "", map[string]string{"SNAPFLAME_CAPTURE_DURATION": d.String()})
		if (err == nil) != ok {
			t.Errorf("capture.duration %s: %v", d, err)
		}
	}
}

func TestReload(t *testing.T) {
	old, err := load(t, "listen: 127.0.0.1:1\nslack: {channel: C1}\ncapture: {duration: 5s, per_hour: 9}", nil)
	if err != nil {
		t.Fatal(err)
	}
	next, err := load(t, "listen: 127.0.0.1:2\nslack: {channel: C2}\ncapture: {duration: 6s, per_hour: 9}\nrules: [{name: all}]", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, restart := old.Reload(next)
	if got.Slack.Channel != "C2" || got.Capture.Duration != 6*time.Second || len(got.Rules) != 1 {
		t.Errorf("hot keys were not taken over: %+v", got)
	}
	if got.Listen != "127.0.0.1:1" || old.Slack.Channel != "C1" {
		t.Errorf("listen %q, old channel %q: a reload must not touch them", got.Listen, old.Slack.Channel)
	}
	if strings.Join(restart, ",") != "listen" {
		t.Errorf("keys that need a restart: %q, want listen", restart)
	}
}

func TestMissing(t *testing.T) {
	c, _ := load(t, "", nil)
	var keys []string
	for _, p := range c.Missing() {
		keys = append(keys, p.Key)
	}
	if got := strings.Join(keys, " "); got != "cloudflare.account_id cloudflare.api_token slack.bot_token slack.channel" {
		t.Errorf("missing: %s", got)
	}
	c, err := load(t, "cloudflare: {account_id: a, api_token: t}\nslack: {bot_token: xoxb-1, channel: C1}", nil)
	if err != nil || len(c.Missing()) > 0 {
		t.Errorf("complete: %v, missing %v", err, c.Missing())
	}
}
