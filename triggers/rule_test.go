package triggers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/triggers"
)

func compile(t testing.TB, rules ...triggers.Rule) *triggers.Rules {
	t.Helper()
	c, err := triggers.CompileRules(rules, triggers.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRulesMatch(t *testing.T) {
	type match = triggers.Match
	e := triggers.Event{
		Script: "room-api-production", Environment: "production", Entrypoint: "RoomObject", ObjectID: idA, ExecutionModel: "durableObject",
		Texts: []triggers.Text{{Source: triggers.TextException, Name: "Error", Message: overload}},
	}
	healthy := triggers.Event{
		Script: "room-api-production", ExecutionModel: "stateless", Outcome: "exception",
		Texts: []triggers.Text{{Source: triggers.TextException, Name: "RangeError", Message: "Invalid typed array length: 164260787"}},
	}
	tests := []struct {
		name string
		m    match
		e    triggers.Event
		want bool
	}{
		{"everything", match{}, e, true},
		{"everything is not nothing", match{}, healthy, false},
		{"class", match{Class: triggers.ClassOverloaded}, e, true},
		{"other class", match{Class: triggers.ClassExceededCPU}, e, false},
		{"subclass", match{Subclass: triggers.SubclassRequestsQueued}, e, true},
		{"other subclass", match{Subclass: triggers.SubclassDataQueued}, e, false},
		{"script glob", match{Script: "room-*"}, e, true},
		{"other script glob", match{Script: "room"}, e, false},
		{"environment", match{Environment: "prod*"}, e, true},
		{"other environment", match{Environment: "staging"}, e, false},
		{"entrypoint", match{Entrypoint: "Room?bject"}, e, true},
		{"other entrypoint", match{Entrypoint: "Tenant*"}, e, false},
		{"text", match{Text: `(?i)too many requests`}, e, true},
		{"text with the error's name", match{Text: `^Error: Durable`}, e, true},
		{"other text", match{Text: `data queued`}, e, false},
		{"all must hold", match{Class: triggers.ClassOverloaded, Script: "x"}, e, false},
		{"class none by text", match{Class: triggers.ClassNone, Text: "typed array length"}, healthy, true},
		{"class none, other text", match{Class: triggers.ClassNone, Text: "nothing"}, healthy, false},
	}
	for _, tt := range tests {
		rules := compile(t, triggers.Rule{Name: "r", Match: tt.m, Profile: triggers.ProfileHeap, Duration: 20 * time.Second, Repeat: 2, Channel: "C1", Mention: "@ops", Quiet: time.Hour})
		d := triggers.Decide(tt.e, triggers.State{Rules: rules}, now())
		if got := d.Action == triggers.ActionCapture; got != tt.want {
			t.Errorf("%s: decided %s (%s)", tt.name, d.Action, d.Sentence)
		}
		if tt.want && (d.Rule != "r" || d.Profile != triggers.ProfileHeap || d.Duration != 20*time.Second || d.Repeat != 2 || d.Channel != "C1" || d.Mention != "@ops" || d.Quiet != time.Hour) {
			t.Errorf("%s: the rule's settings are lost: %+v", tt.name, d)
		}
	}
}

func TestFirstRuleWins(t *testing.T) {
	rules := compile(t,
		triggers.Rule{Name: "off", Match: triggers.Match{Script: "noisy"}, Ignore: true},
		triggers.Rule{Name: "quietly", Match: triggers.Match{Script: "s*"}, Profile: triggers.ProfileNone},
		triggers.Rule{Name: "rest"},
	)
	for script, want := range map[string]struct {
		rule   string
		action triggers.Action
		reason triggers.Reason
	}{
		"noisy": {"off", triggers.ActionIgnore, triggers.ReasonRuleIgnores},
		"s1":    {"quietly", triggers.ActionReport, triggers.ReasonReportOnly},
		"x":     {"rest", triggers.ActionCapture, triggers.ReasonOwnRecord},
	} {
		d := triggers.Decide(triggers.Event{Script: script, Outcome: "exceededCpu"}, triggers.State{Rules: rules}, now())
		if d.Rule != want.rule || d.Action != want.action || d.Reason != want.reason {
			t.Errorf("%s: got %s %s %s, want %v", script, d.Rule, d.Action, d.Reason, want)
		}
	}
	only := compile(t, triggers.Rule{Name: "one", Match: triggers.Match{Script: "one"}})
	if d := triggers.Decide(exception(overload), triggers.State{Rules: only}, now()); d.Action != triggers.ActionIgnore || d.Reason != triggers.ReasonNoRule {
		t.Errorf("without a rule: %s %s", d.Action, d.Reason)
	}
}

func TestRuleCounts(t *testing.T) {
	s := triggers.State{Counts: new(triggers.Counts), Rules: compile(t, triggers.Rule{Name: "burst", Match: triggers.Match{Count: 3, Window: time.Minute}})}
	cpu := triggers.Event{Script: "a", Outcome: "exceededCpu"}
	decide := func(e triggers.Event, at time.Duration) triggers.Reason {
		return triggers.Decide(e, s, now().Add(at)).Reason
	}
	other := cpu
	other.Script = "b"
	steps := []struct {
		e    triggers.Event
		at   time.Duration
		want triggers.Reason
	}{
		{cpu, 0, triggers.ReasonBelowCount},
		{cpu, 10 * time.Second, triggers.ReasonBelowCount},
		{other, 20 * time.Second, triggers.ReasonBelowCount},
		{cpu, 80 * time.Second, triggers.ReasonBelowCount}, // the first two are out of the window
		{cpu, 90 * time.Second, triggers.ReasonBelowCount},
		{cpu, 95 * time.Second, triggers.ReasonOwnRecord},
		{cpu, 96 * time.Second, triggers.ReasonOwnRecord},
		{cpu, 300 * time.Second, triggers.ReasonBelowCount},
	}
	for i, step := range steps {
		if got := decide(step.e, step.at); got != step.want {
			t.Errorf("step %d: got %s, want %s", i, got, step.want)
		}
	}
	many := cpu
	many.Script, many.Count = "c", 3
	if got := decide(many, 0); got != triggers.ReasonOwnRecord {
		t.Errorf("an event that stands for three: %s", got)
	}
	// Judged alone, every count is met.
	s.Counts = nil
	if got := decide(cpu, 0); got != triggers.ReasonOwnRecord {
		t.Errorf("alone: got %s", got)
	}
}

func TestRuleReturnedAfter(t *testing.T) {
	s := triggers.State{Counts: new(triggers.Counts), Rules: compile(t, triggers.Rule{Name: "regression", Match: triggers.Match{ReturnedAfter: time.Hour}})}
	e := triggers.Event{Script: "a", Outcome: "exceededCpu"}
	for i, step := range []struct {
		at   time.Duration
		want triggers.Reason
	}{{0, triggers.ReasonNotReturned}, {30 * time.Minute, triggers.ReasonNotReturned}, {2 * time.Hour, triggers.ReasonOwnRecord}, {121 * time.Minute, triggers.ReasonOwnRecord}} {
		if d := triggers.Decide(e, s, now().Add(step.at)); d.Reason != step.want {
			t.Errorf("step %d: got %s (%s), want %s", i, d.Reason, d.Sentence, step.want)
		}
	}
}

func TestCountsStayBounded(t *testing.T) {
	s := triggers.State{Counts: new(triggers.Counts), Rules: compile(t, triggers.Rule{Name: "burst", Match: triggers.Match{Count: 2}})}
	for i := range 120_000 {
		e := triggers.Event{Script: "w" + strings.Repeat("x", i%7) + time.Duration(i).String(), Outcome: "exceededCpu"}
		triggers.Decide(e, s, now().Add(time.Duration(i)*time.Millisecond))
	}
	if n := s.Counts.Len(); n > 60_000 {
		t.Errorf("%d keys are counted", n)
	}
}

func TestCompileRulesNamesTheKey(t *testing.T) {
	type match = triggers.Match
	for want, r := range map[string]triggers.Rule{
		"rules[0].name is missing":                   {},
		`match.class "overload" is unknown`:          {Name: "a", Match: match{Class: "overload"}},
		`match.subclass "x" is unknown`:              {Name: "a", Match: match{Subclass: "x"}},
		"match.subclass belongs to class overloaded": {Name: "a", Match: match{Class: triggers.ClassExceededCPU, Subclass: triggers.SubclassDataQueued}},
		`match.script "[x" is not a glob`:            {Name: "a", Match: match{Script: "[x"}},
		"match.text is not a regular expression":     {Name: "a", Match: match{Text: "("}},
		"match.class none needs match.text":          {Name: "a", Match: match{Class: triggers.ClassNone}},
		"match.window needs a match.count":           {Name: "a", Match: match{Window: time.Minute}},
		`profile "memory" is unknown`:                {Name: "a", Profile: "memory"},
		"duration 51s is out of bounds":              {Name: "a", Duration: 51 * time.Second},
		"repeat and quiet cannot be negative":        {Name: "a", Repeat: -1},
	} {
		_, err := triggers.CompileRules([]triggers.Rule{r}, triggers.Defaults{})
		if err == nil || !strings.Contains(err.Error(), want) || r.Name != "" && !strings.Contains(err.Error(), "rules[0] (a)") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	_, err := triggers.CompileRules([]triggers.Rule{{Name: "a"}, {Name: "a"}}, triggers.Defaults{})
	if err == nil || !strings.Contains(err.Error(), `rules[1].name "a"`) {
		t.Errorf("a name used twice: %v", err)
	}
}

func TestSilences(t *testing.T) {
	e := triggers.Event{Script: "room-api", Entrypoint: "Room", ObjectID: idA, ExecutionModel: "durableObject", Outcome: "exceededMemory"}
	until := now().Add(time.Hour)
	for _, tt := range []struct {
		name string
		s    triggers.Silence
		want bool
	}{
		{"nothing set", triggers.Silence{Until: until}, false},
		{"script", triggers.Silence{Script: "room-api", Until: until}, true},
		{"glob", triggers.Silence{Script: "room-*", Until: until}, true},
		{"other script", triggers.Silence{Script: "x", Until: until}, false},
		{"class", triggers.Silence{Class: triggers.ClassExceededMemory, Until: until}, true},
		{"other class", triggers.Silence{Class: triggers.ClassOverloaded, Script: "room-api", Until: until}, false},
		{"object", triggers.Silence{ObjectID: idA, Until: until}, true},
		{"other object", triggers.Silence{ObjectID: idB, Until: until}, false},
		{"entrypoint", triggers.Silence{Entrypoint: "R*", Until: until}, true},
		{"other entrypoint", triggers.Silence{Entrypoint: "T*", Until: until}, false},
		{"expired", triggers.Silence{Script: "room-api", Until: now()}, false},
	} {
		d := triggers.Decide(e, triggers.State{Rules: builtin(t), Silences: []triggers.Silence{tt.s}}, now())
		if got := d.Reason == triggers.ReasonSilenced && d.Action == triggers.ActionIgnore; got != tt.want {
			t.Errorf("%s: got %s %s (%s)", tt.name, d.Action, d.Reason, d.Sentence)
		}
	}
}

func TestReasonsAreSaid(t *testing.T) {
	ended := exception(overload)
	ended.Ended = true
	for _, e := range []triggers.Event{ended, exception("D1 DB is overloaded. Too many requests queued."), exception("boom"), {Outcome: "loadShedHard"}, {}} {
		d := triggers.Decide(e, triggers.State{Rules: builtin(t)}, now())
		if d.Action != triggers.ActionIgnore || d.Sentence == "" || d.Sentence == string(d.Reason) {
			t.Errorf("%+v: %s %s %q", e.Texts, d.Action, d.Reason, d.Sentence)
		}
	}
}

// The most extreme of Cloudflare's texts makes the capture short, unless a rule
// names a duration of its own.
func TestASevereOverloadIsCapturedShortly(t *testing.T) {
	e := triggers.Event{
		Script: "rooms", Entrypoint: "Room", ObjectID: idA, ExecutionModel: "durableObject", Outcome: "exception",
		Texts: []triggers.Text{{Source: triggers.TextException, Name: "Error", Message: "Durable Object is overloaded. Too many requests for the same object within a 10 second window."}},
	}
	for _, c := range []struct{ standard, own, want time.Duration }{
		{10 * time.Second, 0, 3 * time.Second},
		{2 * time.Second, 0, 2 * time.Second},
		{10 * time.Second, 20 * time.Second, 20 * time.Second},
	} {
		rules, err := triggers.CompileRules([]triggers.Rule{{Name: "r", Duration: c.own}}, triggers.Defaults{Duration: c.standard})
		if err != nil {
			t.Fatal(err)
		}
		d := triggers.Decide(e, triggers.State{Rules: rules}, now())
		if d.Duration != c.want || strings.Contains(d.Sentence, "the capture is short: 3s") != (c.want == 3*time.Second) {
			t.Errorf("default %s, rule %s: got %s (%s), want %s", c.standard, c.own, d.Duration, d.Sentence, c.want)
		}
	}
}
