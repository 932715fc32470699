package conf_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/snapflame/snapflame/cmd/internal/conf"
	"github.com/snapflame/snapflame/triggers"
)

// A key that triggers knows and the file does not (or the other way round)
// would be lost in between.
func TestRulesHaveTheSameFields(t *testing.T) {
	names := func(v any) map[string]bool {
		out := map[string]bool{}
		for f := range reflect.TypeOf(v).Fields() {
			out[f.Name] = true
		}
		return out
	}
	for _, p := range []struct{ ours, theirs any }{{conf.Rule{}, triggers.Rule{}}, {conf.Match{}, triggers.Match{}}} {
		if a, b := names(p.ours), names(p.theirs); !reflect.DeepEqual(a, b) {
			t.Errorf("%T has %v, %T has %v", p.ours, a, p.theirs, b)
		}
	}
}

func TestCompiledRulesDecide(t *testing.T) {
	c, err := load(t, `
capture: {duration: 7s}
rules:
- {name: staging, match: {environment: staging}, ignore: true}
- {name: rooms, match: {class: exceeded_memory, script: "room-*", entrypoint: Room*, text: "limit"}, profile: cpu, repeat: 2, channel: C9, mention: here, quiet: 3m}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := c.CompileRules()
	if err != nil {
		t.Fatal(err)
	}
	e := triggers.Event{
		Script: "room-api", Entrypoint: "RoomObject", ExecutionModel: "durableObject", Outcome: "exceededMemory",
		ObjectID: "3fa1c07d5be2498a1d6e0b7c94f2538e6a1b2c3d4e5f60718293a4b5c6d7e8f9",
		Texts:    []triggers.Text{{Source: triggers.TextException, Message: "Durable Object's isolate exceeded its memory limit and was reset."}},
	}
	d := triggers.Decide(e, triggers.State{Rules: rules}, time.Now())
	if d.Action != triggers.ActionCapture || d.Rule != "rooms" || d.Profile != triggers.ProfileCPU || d.Duration != 7*time.Second ||
		d.Repeat != 2 || d.Channel != "C9" || d.Mention != "here" || d.Quiet != 3*time.Minute {
		t.Errorf("decided %+v", d)
	}
	e.Environment = "staging"
	if d := triggers.Decide(e, triggers.State{Rules: rules}, time.Now()); d.Action != triggers.ActionIgnore || d.Rule != "staging" {
		t.Errorf("staging: %s by %q", d.Action, d.Rule)
	}
}
