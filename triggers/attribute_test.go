package triggers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/snapflame/snapflame/triggers"
)

const (
	overload = "Durable Object is overloaded. Too many requests queued."
	outOfMem = "Durable Object's isolate exceeded its memory limit and was reset."
	idA      = "aa91b2c07d5be2498a1d6e0b7c94f2538e6a1b2c3d4e5f60718293a4b5c6d7e8"
	idB      = "bb91b2c07d5be2498a1d6e0b7c94f2538e6a1b2c3d4e5f60718293a4b5c6d7e8"
)

// suspector answers as told.
type suspector struct{ s triggers.Suspicion }

func (s suspector) Suspect(triggers.Event) triggers.Suspicion { return s.s }

func named(id string) suspector {
	target := triggers.Target{Kind: triggers.TargetDurableObject, Script: "rooms", Entrypoint: "Room", ObjectID: id}
	return suspector{triggers.Suspicion{
		Named: true, Target: target, Probability: 0.97,
		Candidates: []triggers.Candidate{{Target: target, Probability: 0.97, Load: triggers.Load{CPU: 0.98, Requests: 400}}},
	}}
}

func TestAttribution(t *testing.T) {
	tail := func(model, id, outcome, exceptions, logs string) string {
		own := ""
		if id != "" {
			own = fmt.Sprintf(`,"entrypoint":"Room","durableObjectId":%q`, id)
		}
		return fmt.Sprintf(`{"scriptName":"rooms","scriptVersion":{"id":"v1"},"executionModel":%q,"outcome":%q,"exceptions":[%s],"logs":[%s]%s}`, model, outcome, exceptions, logs, own)
	}
	thrown := func(message, stack string) string {
		return fmt.Sprintf(`{"name":"Error","message":%q,"stack":%q}`, message, stack)
	}
	logged := func(args string) string { return `{"level":"error","message":[` + args + `]}` }
	const user, none = "    at async Room.join (worker.js:91:7)", ""
	const internal = "    at new Promise (<anonymous>)\n    at async Promise.all (index 0)\n    at Stub.fetch (cloudflare-internal:rpc:1:2)"
	otlp := func(attributes string) string {
		return `{"resourceLogs":[{"resource":{"attributes":[{"key":"cloudflare.script_name","value":{"stringValue":"rooms"}}]},"scopeLogs":[{"logRecords":[{"attributes":[` + attributes + `]}]}]}]}`
	}
	attr := func(k, v string) string { return fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, k, v) }
	push := func(entrypoint, logs string) string {
		return fmt.Sprintf(`{"ScriptName":"rooms","Entrypoint":%q,"Outcome":"exceededMemory","EventTimestampMs":1,"Exceptions":[],"Logs":[%s]}`, entrypoint, logs)
	}
	tests := []struct {
		name, data  string
		index       triggers.Suspector
		kind        triggers.TargetKind
		id          string
		attribution triggers.Attribution
		reason      triggers.Reason
		likely      bool
	}{
		{name: "id beside the text, in any key", data: tail("stateless", "", "ok", "", logged(fmt.Sprintf(`{"msg":%q,"what":{"ever":%q}}`, overload, strings.ToUpper(idA)))), kind: "durable_object", id: idA, attribution: "logged", reason: "logged_id"},
		{name: "id as a key", data: tail("stateless", "", "ok", "", logged(fmt.Sprintf(`{%q:%q}`, idA, overload))), kind: "durable_object", id: idA, attribution: "logged", reason: "logged_id"},
		{name: "id as another argument", data: tail("stateless", "", "ok", "", logged(fmt.Sprintf(`%q,%q`, overload, idA))), kind: "durable_object", id: idA, attribution: "logged", reason: "logged_id"},
		{name: "id on another line", data: tail("stateless", "", "exception", thrown(overload, user), logged(fmt.Sprintf(`"calling",%q`, idA))), kind: "durable_object", id: idA, attribution: "logged", reason: "logged_id"},
		{name: "id beside the text comes before another line's", data: tail("stateless", "", "ok", "", logged(fmt.Sprintf(`"etag",%q`, idB))+","+logged(fmt.Sprintf(`%q,%q`, overload, idA))), kind: "durable_object", id: idA, attribution: "logged", reason: "logged_id"},
		{name: "the same id twice", data: tail("stateless", "", "ok", "", logged(fmt.Sprintf(`%q,%q,%q`, overload, idA, idA))), kind: "durable_object", id: idA, attribution: "logged", reason: "logged_id"},
		{name: "two ids", data: tail("stateless", "", "ok", "", logged(fmt.Sprintf(`%q,%q,%q`, overload, idA, idB))), kind: "unknown", attribution: "none", reason: "several_objects"},
		{name: "two lines, two ids", data: tail("stateless", "", "ok", "", logged(fmt.Sprintf(`%q,%q`, overload, idA))+","+logged(fmt.Sprintf(`%q,%q`, overload, idB))), kind: "unknown", attribution: "none", reason: "several_objects"},
		{name: "two ids are not the index's business", index: named(idB), data: tail("stateless", "", "ok", "", logged(fmt.Sprintf(`%q,%q,%q`, overload, idA, idB))), kind: "unknown", attribution: "none", reason: "several_objects"},
		{name: "65 digits, 0x and words are no ids", data: tail("stateless", "", "ok", "", logged(fmt.Sprintf(`%q,%q,%q,%q`, overload, idA+"0", "0x"+idA, "z"+idA))), kind: "unknown", attribution: "none", reason: "no_object_named"},
		{name: "logged comes before the index", index: named(idB), data: tail("stateless", "", "ok", "", logged(fmt.Sprintf(`%q,%q`, overload, idA))), kind: "durable_object", id: idA, attribution: "logged", reason: "logged_id"},
		{name: "own id logged beside another", data: tail("durableObject", idB, "exception", thrown(overload, user), logged(fmt.Sprintf(`%q,%q`, idA, idB))), kind: "durable_object", id: idA, attribution: "logged", reason: "logged_id"},
		{name: "own id does not count as logged", data: tail("durableObject", idB, "exception", thrown(overload, user), logged(fmt.Sprintf(`"in",%q`, idB))), kind: "unknown", attribution: "none", reason: "passed_through"},

		{name: "index names", index: named(idA), data: tail("stateless", "", "exception", thrown(overload, user), ""), kind: "durable_object", id: idA, attribution: "index", reason: "index_named"},
		{name: "index overrules the own record", index: named(idA), data: tail("durableObject", idB, "exception", thrown(overload, none), ""), kind: "durable_object", id: idA, attribution: "index", reason: "index_named"},
		{name: "index does not know", index: suspector{}, data: tail("durableObject", idB, "exception", thrown(overload, none), ""), kind: "durable_object", id: idB, attribution: "event", reason: "own_likely", likely: true},

		{name: "stateless names nothing", data: tail("stateless", "", "exception", thrown(overload, none), ""), kind: "unknown", attribution: "none", reason: "no_object_named"},
		{name: "stateless with an object id names nothing", data: tail("stateless", idB, "exception", thrown(overload, none), ""), kind: "unknown", attribution: "none", reason: "no_object_named"},
		{name: "own, no stack", data: tail("durableObject", idB, "exception", thrown(overload, none), ""), kind: "durable_object", id: idB, attribution: "event", reason: "own_likely", likely: true},
		{name: "own, runtime frames only", data: tail("durableObject", idB, "exception", thrown(overload, internal), ""), kind: "durable_object", id: idB, attribution: "event", reason: "own_likely", likely: true},
		{name: "own, user frame", data: tail("durableObject", idB, "exception", thrown(overload, internal+"\n"+user), ""), kind: "unknown", attribution: "none", reason: "passed_through"},
		{name: "own, caught and logged", data: tail("durableObject", idB, "ok", "", logged(fmt.Sprintf("%q", overload))), kind: "unknown", attribution: "none", reason: "passed_through"},
		{name: "another exception's frame does not matter", data: tail("durableObject", idB, "exception", thrown("boom", user)+","+thrown(overload, none), ""), kind: "durable_object", id: idB, attribution: "event", reason: "own_likely", likely: true},
		{name: "own id is malformed", data: tail("durableObject", "beef", "exception", thrown(overload, none), ""), kind: "unknown", attribution: "none", reason: "no_object_named"},

		{name: "memory by outcome", data: tail("durableObject", idB, "exceededMemory", thrown(outOfMem, user), logged(fmt.Sprintf("%q", idA))), kind: "durable_object", id: idB, attribution: "event", reason: "own_record"},
		{name: "memory by outcome, stateless", data: tail("stateless", "", "exceededMemory", "", ""), kind: "worker", attribution: "event", reason: "own_record"},
		{name: "memory by text, stateless", data: tail("stateless", "", "exception", thrown("Worker exceeded memory limit.", none), ""), kind: "unknown", attribution: "none", reason: "no_object_named"},
		{name: "memory by text, own", data: tail("durableObject", idB, "exception", thrown(outOfMem, none), ""), kind: "durable_object", id: idB, attribution: "event", reason: "own_likely", likely: true},
		{name: "memory by text, passed through", data: tail("durableObject", idB, "internalError", thrown(outOfMem, user), ""), kind: "unknown", attribution: "none", reason: "passed_through"},
		{name: "memory by outcome, object not said", data: tail("durableObject", "", "exceededMemory", "", ""), kind: "unknown", attribution: "none", reason: "class_only"},

		{name: "OTLP log of an object, no outcome", data: otlp(attr("exception.message", outOfMem) + "," + attr("cloudflare.entrypoint", "Room") + "," + attr("cloudflare.durable_object.id", idB)), kind: "durable_object", id: idB, attribution: "event", reason: "own_record"},
		{name: "OTLP log of a Worker, no outcome", data: otlp(attr("exception.message", outOfMem)), kind: "unknown", attribution: "none", reason: "no_object_named"},
		{name: "OTLP log with another outcome", data: otlp(attr("exception.message", outOfMem) + "," + attr("cloudflare.outcome", "exception") + "," + attr("exception.stacktrace", user) + "," + attr("cloudflare.durable_object.id", idB)), kind: "unknown", attribution: "none", reason: "passed_through"},
		{name: "OTLP log names an object in an attribute", data: otlp(attr("exception.message", overload) + "," + attr("room", idA) + "," + attr("cloudflare.something", idB)), kind: "durable_object", id: idA, attribution: "logged", reason: "logged_id"},
		{name: "telemetry of an object, no outcome", data: fmt.Sprintf(`{"timestamp":1796020331412,"source":"x","$metadata":{"id":"1","error":%q,"fingerprint":%q},"$workers":{"scriptName":"rooms","entrypoint":"Room","durableObjectId":%q}}`, outOfMem, idA, idB), kind: "durable_object", id: idB, attribution: "event", reason: "own_record"},
		{name: "telemetry overload, own invocation", data: fmt.Sprintf(`{"timestamp":1796020331412,"source":{"message":%q},"$metadata":{"id":"1","type":"cf-worker-event","error":%q},"$workers":{"scriptName":"rooms","entrypoint":"Room","executionModel":"durableObject","outcome":"exception","durableObjectId":%q}}`, overload, overload, idB), kind: "durable_object", id: idB, attribution: "event", reason: "own_likely", likely: true},
		{name: "telemetry overload, console line", data: fmt.Sprintf(`{"timestamp":1796020331412,"source":{"message":%q},"$metadata":{"id":"1","type":"cf-worker-log","error":%q},"$workers":{"scriptName":"rooms","entrypoint":"Room","executionModel":"durableObject","outcome":"ok","durableObjectId":%q}}`, overload, overload, idB), kind: "unknown", attribution: "none", reason: "passed_through"},

		{name: "Logpush, class only", data: push("Room", ""), kind: "unknown", attribution: "none", reason: "class_only"},
		{name: "Logpush, class and logged id", data: push("Room", fmt.Sprintf(`{"Level":"log","Message":[%q]}`, idA)), kind: "durable_object", id: idA, attribution: "logged", reason: "logged_id"},
		{name: "Logpush, default entrypoint", data: push("default", ""), kind: "worker", attribution: "event", reason: "own_record"},
		{name: "webhook", data: fmt.Sprintf(`{"name":"x","text":"%s (12 occurrences)","ts":1796020340,"alert_type":"workers_issue"}`, outOfMem), kind: "unknown", attribution: "none", reason: "no_object_named"},
		{name: "webhook that names the object", data: fmt.Sprintf(`{"name":"x","text":%q,"ts":1796020340,"alert_type":"workers_issue"}`, overload+" "+idA), kind: "durable_object", id: idA, attribution: "logged", reason: "logged_id"},
		{name: "account", data: tail("stateless", "", "exception", thrown("Your account is generating too much load on Durable Objects.", none), logged(fmt.Sprintf("%q", idA))), kind: "unknown", attribution: "none", reason: "account_wide"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := triggers.Decide(one(t, tt.data), triggers.State{Rules: builtin(t), Index: tt.index}, now())
			if d.Target.Kind != tt.kind || d.Target.ObjectID != tt.id || d.Attribution != tt.attribution || d.Reason != tt.reason || (d.Confidence == "likely") != tt.likely {
				t.Errorf("got %s %.4s %s %s %q", d.Target.Kind, d.Target.ObjectID, d.Attribution, d.Reason, d.Confidence)
			}
			want := triggers.ActionCapture
			if tt.kind == triggers.TargetUnknown {
				want = triggers.ActionReport
			}
			if d.Action != want || d.Sentence == "" {
				t.Errorf("action %s (%q), want %s", d.Action, d.Sentence, want)
			}
		})
	}
}

func TestTargetOfUnknownKeepsCallersApart(t *testing.T) {
	a, b := exception(overload), exception(overload)
	b.Script = "other"
	s := triggers.State{Rules: builtin(t)}
	da, db := triggers.Decide(a, s, now()), triggers.Decide(b, s, now())
	if da.IncidentKey() == db.IncidentKey() {
		t.Errorf("two callers share the incident %s", da.IncidentKey())
	}
	if line := da.Explain(1); line.Target.Script != "" || line.Script != "s" {
		t.Errorf("an unknown target is shown with a script: %+v", line.Target)
	}
}
