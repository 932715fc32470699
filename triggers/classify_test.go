package triggers_test

import (
	"strings"
	"testing"

	"github.com/snapflame/snapflame/triggers"
)

func exception(message string) triggers.Event {
	return triggers.Event{Script: "s", Outcome: "exception", Texts: []triggers.Text{{Source: triggers.TextException, Message: message}}}
}

func TestClassifyTexts(t *testing.T) {
	const (
		o, m, c, a, none = triggers.ClassOverloaded, triggers.ClassExceededMemory, triggers.ClassExceededCPU, triggers.ClassAccountOverloaded, triggers.ClassNone
		rq, dq, tl, tw   = triggers.SubclassRequestsQueued, triggers.SubclassDataQueued, triggers.SubclassQueuedTooLong, triggers.SubclassTooManyInWindow
	)
	tests := []struct {
		text  string
		class triggers.Class
		sub   triggers.Subclass
	}{
		// Cloudflare's own.
		{"Durable Object is overloaded. Too many requests queued.", o, rq},
		{"Durable Object is overloaded. Too much data queued.", o, dq},
		{"Durable Object is overloaded. Requests queued for too long.", o, tl},
		{"Durable Object is overloaded. Too many requests for the same object within a 10 second window.", o, tw},
		{"Your account is generating too much load on Durable Objects. Please back off and try again later.", a, ""},
		{"Your account is doing too many concurrent storage operations. Please back off and try again later.", a, ""},
		{"Durable Object's isolate exceeded its memory limit and was reset.", m, ""},
		{"Durable Object's isolate exceeded its memory limit due to overflowing the storage cache. This could be due to writing too many values to storage without stopping to wait for writes to complete, or due to reading too many values in a single operation (e.g. a large list()). All objects in the isolate were reset.", m, ""},
		{"Durable Object exceeded its CPU time limit and was reset.", c, ""},
		{"Worker exceeded memory limit.", m, ""},
		{"Worker has exceeded memory limit.", m, ""},
		{"Worker exceeded CPU time limit.", c, ""},
		// Prefixed and wrapped.
		{"Error: Durable Object is overloaded. Too many requests queued.", o, rq},
		{"Uncaught (in promise) Error: Durable Object is overloaded. Too much data queued.", o, dq},
		{"OVERLOADED: Worker exceeded memory limit.", m, ""},
		{"1101 Worker Exceeded Memory Limit", m, ""},
		{"Worker exceeded memory limit", m, ""},
		{"fetch sanity-studio: Durable Object's isolate exceeded its memory limit and was reset", m, ""},
		{"failed to append batch to room 7 because the Durable Object's isolate exceeded its memory limit and was reset while flushing", m, ""},
		{`{"error":"Durable Object is overloaded. Requests queued for too long.","status":503}`, o, tl},
		{`RPC failed (cause: "Durable Object is overloaded. Too many requests queued.")`, o, rq},
		{"msg=Durable Object is overloaded. Too many requests queued. overloaded=true", o, rq},
		{"request failed when calling the room: Durable Object is overloaded. Too many requests queued.", o, rq},
		{"at step 3\nDurable Object is overloaded. Too many requests queued.\nretrying", o, rq},
		{"alarm failed - Durable Object exceeded its CPU time limit and was reset", c, ""},
		{"Durable Object is overloaded: too many requests queued (object abc)", o, rq},
		{"DURABLE OBJECT IS OVERLOADED. TOO MANY REQUESTS QUEUED.", o, rq},
		{"durable object is overloaded", o, ""},
		{"Durable Object is overloaded. Some reason of tomorrow.", o, ""},
		// Typography and white space.
		{"Durable Object’s isolate exceeded its memory limit and was reset.", m, ""},
		{"Durable Object&#39;s isolate exceeded its memory limit and was reset.", m, ""},
		{"Durable Objectʼs  isolate\texceeded its\u00a0memory limit", m, ""},
		{"Durable Object\nis overloaded.\nToo many  requests queued.", o, rq},
		// Truncated.
		{"Durable Object is overloaded. Too many requests qu", o, rq},
		{"Durable Object is overloaded. Too many requests", o, ""},
		{"Durable Object is overloaded. Too mu…", o, ""},
		{"Durable Object is overloaded. Too much d...", o, dq},
		{"Durable Object is overload", o, ""},
		{"Durable Object's isolate exceeded its mem<<<Logpush: exception messages truncated>>>", m, ""},
		{"Worker exceeded CPU", c, ""},
		// Look-alikes.
		{"Durable Object's isolate exceeded its", none, ""},
		{"Durable Object is over", none, ""},
		{"Worker exceeded", none, ""},
		{"D1_ERROR: D1 DB is overloaded. Too many requests queued.", none, ""},
		{"D1 DB is overloaded. Requests queued for too long.", none, ""},
		{"D1 DB's isolate exceeded its memory limit and was reset.", none, ""},
		{"D1_EXEC_ERROR: Error in line 1: SELECT: D1 DB exceeded its CPU time limit and was reset.", none, ""},
		{"Parser error: The memory limit has been exceeded.", none, ""},
		{"TypeError: Memory limit would be exceeded before EOF.", none, ""},
		{"Durable Object reset because its code was updated.", none, ""},
		{"The Durable Object's code has been updated, this version can no longer access storage.", none, ""},
		{"Durable Object storage operation exceeded timeout which caused object to be reset.", none, ""},
		{"Alarm exceeded its allowed execution time", none, ""},
		{"Log size limit exceeded: More than 256KB of data (across console.log statements, exception, request metadata and headers) was logged during a single request.", none, ""},
		{"Worker exceeded resource limits", none, ""},
		{"error code: 1102", none, ""},
		{"Network connection lost.", none, ""},
		{"Kafka broker is overloaded. Too many requests queued.", none, ""},
		{"Too many requests queued.", none, ""},
		{"Web worker exceeded memory limit", none, ""},
		{"the render coworker exceeded memory limit", none, ""},
		{"MyWorker exceeded memory limit", none, ""},
		{"Our billing page tells customers what to do if the Durable Object is overloaded. Too many requests queued is the usual text", none, ""},
		{`docs: "Durable Object is overloaded. Too many requests queued." is retryable`, none, ""},
		{"Durable Object is overloaded errors should be retried with back-off", none, ""},
		{"never retry when the Durable Object is overloaded", none, ""},
		{"", none, ""},
	}
	for _, tt := range tests {
		e := exception(tt.text)
		class, sub, quote := triggers.Classify(e)
		if class != tt.class || sub != tt.sub {
			t.Errorf("%q\n got %s/%s, want %s/%s", tt.text, class, sub, tt.class, tt.sub)
		}
		if (class != none) != (quote.Message == tt.text && tt.text != "") {
			t.Errorf("%q: quoted text %q", tt.text, quote.Message)
		}
		e.Outcome, e.Texts[0].Source = "ok", triggers.TextLog
		if class, sub, _ = triggers.Classify(e); class != tt.class || sub != tt.sub {
			t.Errorf("logged with outcome ok: %q\n got %s/%s, want %s/%s", tt.text, class, sub, tt.class, tt.sub)
		}
	}
}

func TestClassifyOutcomes(t *testing.T) {
	for outcome, want := range map[string]triggers.Class{
		"exceededMemory": triggers.ClassExceededMemory, "exceededCpu": triggers.ClassExceededCPU, "exceeded_cpu": triggers.ClassExceededCPU,
		"ok": triggers.ClassNone, "internalError": triggers.ClassNone, "exceededWallTime": triggers.ClassNone, "loadShedHard": triggers.ClassNone,
		"": triggers.ClassNone, "exceededMemoryOfTomorrow": triggers.ClassNone, strings.Repeat("x", 1<<20): triggers.ClassNone,
	} {
		if got, _, _ := triggers.Classify(triggers.Event{Outcome: outcome}); got != want {
			t.Errorf("outcome %.40q: got %s, want %s", outcome, got, want)
		}
	}
	// The outcome is the record's own; a text of another class is somebody else's.
	e := exception("Durable Object is overloaded. Too many requests queued.")
	e.Outcome = "exceededMemory"
	if got, _, quote := triggers.Classify(e); got != triggers.ClassExceededMemory || quote.Message != "" {
		t.Errorf("got %s and quote %q, want the outcome to decide", got, quote.Message)
	}
}

func TestQuoteIsVerbatim(t *testing.T) {
	for text, want := range map[string]string{
		"Durable Object is overloaded. Too many requests queued.":                                  "Durable Object is overloaded. Too many requests queued.",
		"msg=Durable Object’s isolate exceeded its memory limit and was reset. doId=" + id64:       "Durable Object’s isolate exceeded its memory limit and was reset.",
		"Error: Durable Object is overloaded. Too many requests queued (object " + id64 + ")":      "Durable Object is overloaded. Too many requests queued",
		"boom: Durable Object is overloaded. Requests queued for too long. overloaded=true x=y.z.": "Durable Object is overloaded. Requests queued for too long.",
	} {
		d := triggers.Decide(exception(text), triggers.State{Rules: builtin(t)}, now())
		if d.Quote != want {
			t.Errorf("%q\nquoted %q\nwant   %q", text, d.Quote, want)
		}
	}
}

func TestAdviceDiffers(t *testing.T) {
	seen := map[string]string{}
	add := func(c triggers.Class, s triggers.Subclass) {
		advice := triggers.Advice(c, s)
		if other, twice := seen[advice]; twice || advice == "" {
			t.Errorf("advice of %s/%s is empty or that of %s", c, s, other)
		}
		seen[advice] = string(c) + "/" + string(s)
	}
	for _, s := range []triggers.Subclass{"", triggers.SubclassRequestsQueued, triggers.SubclassDataQueued, triggers.SubclassQueuedTooLong, triggers.SubclassTooManyInWindow} {
		add(triggers.ClassOverloaded, s)
	}
	for _, c := range []triggers.Class{triggers.ClassExceededMemory, triggers.ClassExceededCPU, triggers.ClassAccountOverloaded} {
		add(c, "")
	}
	if triggers.Advice(triggers.ClassNone, "") != "" {
		t.Error("class none has advice")
	}
}

func TestObjectIDsAnywhere(t *testing.T) {
	for pad := range 200 {
		text := strings.Repeat("-", pad) + id64 + strings.Repeat(" ", pad%67) + "," + idA + "x " + idB
		d := triggers.Decide(one(t, `{"scriptName":"s","outcome":"ok","logs":[{"message":["`+overload+` `+text+`"]}]}`), triggers.State{Rules: builtin(t)}, now())
		if d.Reason != triggers.ReasonSeveralObjects || !strings.HasPrefix(d.Sentence, "2 different") {
			t.Fatalf("with %d before: %s (%s)", pad, d.Reason, d.Sentence)
		}
	}
}
