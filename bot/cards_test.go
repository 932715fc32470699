package bot_test

import (
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

type links struct{}

func (links) Incident(id string) string { return "https://sf.example/incidents/" + id + "?sig=x" }
func (links) Capture(id string) string  { return "https://sf.example/captures/" + id + "?sig=x" }

// scene is a case at one moment of an incident.
type scene struct {
	c   bot.Case
	now time.Time
}

const version = "9f1c2b7e-6d0a-4a55-8e43-0a5f4f0c1d22"

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// stormed is an overload that has gone on for three minutes.
func stormed() scene {
	d := overload(start, objectID)
	d.Event.Environment, d.Target.VersionID, d.Event.VersionID = "production", version, version
	c := bot.New(d, bot.Opening{ID: "k7f3q9", Channel: "C0DEFAULT", Mention: "here", Now: start}, bot.Policy{})
	minute := start.Unix() / 60
	c = c.Tallied(triggers.Tally{
		Count: 1203, Last: at(179), PerMinute: map[int64]int64{minute: 100, minute + 1: 700, minute + 2: 403},
		Versions: map[string]int64{version: 1203}, Routes: map[string]int64{"POST /rooms/:id": 1100, "GET /rooms/:id": 103},
		Scripts: map[string]int64{"edge-gateway": 1203}, Sizes: []int64{48213}, MaxSize: 1_048_576,
	}, at(180))
	return scene{c, at(180)}
}

func (s scene) with(r capture.Record, a *bot.Analysed, plan bot.Planner) scene {
	if r.ID == "" {
		r.Job = s.c.Captures[len(s.c.Captures)-1].Record.Job
	}
	s.c, _ = s.c.CaptureChanged(r, a, plan, bot.Policy{}, s.now)
	return s
}

func stored() capture.Record {
	return capture.Record{
		State: capture.Stored, Attempts: 1, StartedAt: at(2), EndedAt: at(13), Bytes: 108_100, VersionSource: "event",
		Resolved: capture.Target{Kind: capture.DurableObject, Script: "room-api", Class: "RoomObject", ObjectID: objectID, VersionID: version},
	}
}

func doReport() *bot.Analysed {
	return &bot.Analysed{
		PNG: &bot.File{Object: "k7f3q9-1.png", Name: "flamegraph.png", Title: "CPU of room-api RoomObject 3fa1c07d", Alt: "ensureSchema is 71.7 % of busy CPU"},
		Summary: bot.Summary{
			Verdict: "conclusive", Headline: "ensureSchema is 71.7 % of busy CPU, on every request", Samples: 3821, GCShare: 0.049,
			Window: "10 s, 1 isolate, 3,821 samples, 2.4 s waiting removed", Busy: 7005 * time.Millisecond, Removed: 2449 * time.Millisecond,
			Baseline: "3 captures of 2026-11-29, same version",
			Top: []bot.Row{
				{Name: "ensureSchema", File: "file:///bundle/worker.js", Line: 12, Self: 0.717, Total: 0.73, Change: "grew +41.2 points (33.0 to 48.9)"},
				{Name: "record", File: "file:///bundle/worker.js", Line: 40, Self: 0.249, Total: 0.99},
				{Name: "(garbage collector)", Self: 0.049, Total: 0.049, Change: "no clear change"},
				{Name: "", File: "src/a/very/long/path/that/goes/on/and/on/and/on/handlers/rooms.ts", Line: 7, Self: 0.004, Total: 0.1},
				{Name: "<!channel>", File: "a&b<script>.js", Line: 1, Self: 0.001, Total: 0.1},
			},
			Findings: []string{"ensureSchema is wide under 4 entry points: it runs on every request. Run it once, in the constructor under blockConcurrencyWhile."},
			Changes:  []string{"ensureSchema grew from 30.5 % to 71.7 % (+33.0 to +48.9 points)"},
		},
	}
}

func scenes() map[string]scene {
	m := map[string]scene{}
	first := stormed()
	m["opened"] = scene{bot.New(overload(start, objectID), bot.Opening{ID: "k7f3q9", Mention: "here", Now: start}, bot.Policy{}), start}
	m["running"] = first.with(capture.Record{State: capture.Started, StartedAt: at(178)}, nil, nil)
	m["rate_limited"] = first.with(capture.Record{
		State: capture.Waiting, NextAt: at(220), WaitFor: capture.WaitRateLimit, Attempts: 1, Failure: &capture.Failure{Kind: capture.FailRateLimited, Status: 429},
	}, nil, nil)
	m["busy"] = scene{first.c.Refused("k7f3q9-1", first.now), first.now}
	m["reported"] = first.with(stored(), doReport(), nil)
	m["weak_then_second"] = first.with(stored(), &bot.Analysed{Summary: bot.Summary{
		Verdict: "weak", Headline: "record has the largest share", Samples: 41, Window: "10 s, 1 isolate, 41 samples, 9.1 s waiting removed", Busy: 60 * time.Millisecond, Removed: 9100 * time.Millisecond,
		Top: []bot.Row{{Name: "record", File: "worker.js", Line: 12, Self: 0.4, Total: 0.5}},
	}}, bot.FollowUps(time.Minute))
	gc := doReport()
	gc.Summary.GCShare, gc.Summary.Headline = 0.966, "96.6 % of busy CPU is garbage collector"
	m["gc_then_heap"] = first.with(stored(), gc, bot.FollowUps(time.Minute))
	m["idle"] = first.with(stored(), &bot.Analysed{Summary: bot.Summary{Verdict: "empty", Headline: "The isolate was idle", Samples: 1, Window: "10 s, 1 isolate, 1 sample"}}, nil)
	m["unread"] = first.with(stored(), &bot.Analysed{Summary: bot.Summary{Verdict: "unread", Headline: "The profile is stored, but reading it failed each time.", Window: "10 s asked for"}}, nil)
	m["closed"] = m["reported"].tick(at(180 + 600))
	m["closed_without"] = m["failed"].tick(at(0))

	asked := stored()
	asked.AskedAgain, asked.Attempts = true, 2
	asked.Notes = []string{"replacement isolate, 12 s after the failure"}
	asked.Split = map[string]float64{version: 75, "other": 25}
	m["asked_again"] = first.with(asked, doReport(), nil)

	memory := bot.New(triggers.Decision{
		Action: triggers.ActionCapture, Reason: "own_record", Sentence: "The record's own outcome is exceededMemory.", Class: triggers.ClassExceededMemory, Rule: "exceeded_memory",
		Target: triggers.Target{Kind: triggers.TargetWorker, Script: "checkout", VersionID: version}, Attribution: triggers.AttributionEvent, Profile: triggers.ProfileHeap,
		Quote: "Worker exceeded memory limit.", Event: triggers.Event{Script: "checkout", Time: start, VersionID: version, Size: 4 << 20, Route: "/cart", Method: "PUT"},
	}, bot.Opening{ID: "m3m0ry", Previous: "k7f3q9", Now: start}, bot.Policy{})
	heap := stored()
	heap.Resolved = capture.Target{Kind: capture.Worker, Script: "checkout", VersionID: version}
	m["heap"] = scene{memory, at(20)}.with(heap, &bot.Analysed{Summary: bot.Summary{
		Verdict: "conclusive", Headline: "metrics are 66.0 % of allocations", Samples: 212, Bytes: 111_149_056, Window: "10 s, 1 isolate, 212 samples",
		Top: []bot.Row{{Name: "inc", File: "node_modules/metrics/index.js", Line: 3, Self: 0.4, Total: 0.66}},
	}}, bot.FollowUps(time.Minute))
	m["heap_empty"] = scene{memory, at(20)}.with(heap, &bot.Analysed{Summary: bot.Summary{Verdict: "empty", Headline: "An empty heap profile", Window: "10 s, 1 isolate, 0 samples"}}, bot.FollowUps(time.Minute))

	likely := overload(start, objectID)
	likely.Attribution, likely.Confidence, likely.Probability = triggers.AttributionIndex, "likely", 0.82
	m["likely"] = scene{bot.New(likely, bot.Opening{ID: "likely", Now: start}, bot.Policy{}), at(1)}
	own := overload(start, objectID)
	own.Attribution, own.Confidence = triggers.AttributionEvent, "likely"
	m["own_likely"] = scene{bot.New(own, bot.Opening{ID: "own", Now: start}, bot.Policy{}), at(1)}

	unknown := overload(start, "")
	unknown.Action, unknown.Attribution = triggers.ActionReport, triggers.AttributionNone
	unknown.Target = triggers.Target{Kind: triggers.TargetUnknown, Script: "edge-gateway"}
	unknown.Sentence = "No object is named in the record."
	m["unknown"] = scene{bot.New(unknown, bot.Opening{ID: "unkn0wn", Now: start}, bot.Policy{}), at(1)}
	unknown.Candidates = []triggers.Target{
		{Kind: triggers.TargetDurableObject, Script: "room-api", Entrypoint: "RoomObject", ObjectID: objectID},
		{Kind: triggers.TargetDurableObject, Script: "room-api", Entrypoint: "RoomObject", ObjectID: strings.Repeat("ab", 32)},
	}
	m["candidates"] = scene{bot.New(unknown, bot.Opening{ID: "cand1d", Now: start}, bot.Policy{}), at(1)}
	picked, _, _ := m["candidates"].c.Pick(1, "U0ALICE", at(30))
	m["picked"] = scene{picked, at(31)}

	account := unknown
	account.Class, account.Subclass, account.Candidates = triggers.ClassAccountOverloaded, "", nil
	account.Quote = "Your account is generating too much load on Durable Objects. Please back off and try again later."
	m["account"] = scene{bot.New(account, bot.Opening{ID: "acc0unt", Now: start}, bot.Policy{}), at(1)}

	requested := bot.NewRequested(bot.Asked{
		Target: capture.Target{Kind: capture.Worker, Script: "checkout"}, Type: capture.CPU, RequestedBy: "U0ALICE",
	}, bot.Opening{ID: "asked1", Channel: "C0HERE", Now: start}, bot.Policy{})
	m["requested"] = scene{requested, at(1)}
	return m
}

func (s scene) tick(now time.Time) scene {
	s.c, _ = s.c.Tick(bot.Policy{}, now)
	s.now = now
	return s
}

// Every message of every scene, as its thread reads. The files are reviewed by eye.
func TestThreadsRead(t *testing.T) {
	w := bot.Writer{Links: links{}}
	for name, s := range scenes() {
		if s.c.ID == "" {
			continue
		}
		var b strings.Builder
		keys := []string{".root", ".evidence"}
		for _, v := range s.c.Captures {
			keys = append(keys, ".report."+v.Record.ID, ".png."+v.Record.ID)
		}
		if s.c.State == bot.Closed {
			keys = append(keys, ".closed")
		}
		for _, key := range keys {
			p, ok := w.Post(s.c, s.c.ID+key, s.now)
			if !ok {
				continue
			}
			checkCard(t, name+key, p.Card)
			b.WriteString("---- " + strings.TrimPrefix(p.Key, s.c.ID) + suffix(" in ", strings.TrimPrefix(p.Thread, s.c.ID)) + "\n")
			if p.File != nil {
				b.WriteString("file " + p.File.Name + ": " + p.File.Alt + "\n")
				continue
			}
			b.WriteString(transcript(p.Card))
		}
		golden(t, "thread_"+name, b.String())
	}
}

func failures() []capture.FailureKind {
	return []capture.FailureKind{
		capture.FailRateLimited, capture.FailNoExecutions, capture.FailNoIsolate, capture.FailUnavailable, capture.FailUnsupported,
		capture.FailCouldNotStart, capture.FailUnauthorized, capture.FailForbidden, capture.FailNotFound, capture.FailBadRequest,
		capture.FailServer, capture.FailUnreachable, capture.FailTimeout, capture.FailEmpty, capture.FailNotProfile, capture.FailTruncated,
		capture.FailTooLarge, capture.FailNoNamespace, capture.FailNoDeployment, capture.FailLostAnswer, capture.FailBudget, capture.FailUnknown,
	}
}

// One file with the thread of every kind of failure: cause, retried or not, what to do.
func TestFailuresRead(t *testing.T) {
	w := bot.Writer{Links: links{}}
	var b strings.Builder
	titles := map[string]bool{}
	for _, kind := range failures() {
		s := stormed().with(capture.Record{
			State: capture.Failed, Attempts: 3, StartedAt: at(2), EndedAt: at(60),
			Failure: &capture.Failure{Kind: kind, Status: 500, Message: "Cloudflare's own words", RetryAfter: 30 * time.Second},
		}, nil, bot.FollowUps(time.Minute))
		p, ok := w.Post(s.c, "k7f3q9.report.k7f3q9-1", s.now)
		if !ok {
			t.Fatalf("%s has no message", kind)
		}
		checkCard(t, string(kind), p.Card)
		if titles[p.Card.Verdict] {
			t.Errorf("%s reads like another failure: %q", kind, p.Card.Verdict)
		}
		titles[p.Card.Verdict] = true
		// The cause in full is capture's to word, and read there.
		rec := s.c.Captures[0].Record
		if got, want := p.Card.Sections[0].Text, rec.Explain(rec.EndedAt); got != want || got == "" {
			t.Errorf("%s: the cause is %q, want capture's own %q", kind, got, want)
		}
		p.Card.Sections[0].Text = "(as capture explains it)"
		b.WriteString("==== " + string(kind) + "\n" + transcript(p.Card) + "\n")
		root, _ := w.Post(s.c, "k7f3q9.root", s.now)
		if !strings.Contains(root.Card.Text, "no profile") {
			t.Errorf("%s: the root says %q, not that there is no profile", kind, root.Card.Text)
		}
	}
	golden(t, "failures", b.String())
}

// No figure without its window and how far it can be trusted.
func TestFiguresHaveTheirWindow(t *testing.T) {
	for name, s := range scenes() {
		for _, v := range s.c.Captures {
			if v.Summary == nil {
				continue
			}
			for _, key := range []string{".root", ".report." + v.Record.ID, ".closed"} {
				p, ok := bot.Writer{}.Post(s.c, s.c.ID+key, s.now)
				if !ok {
					continue
				}
				all := transcript(p.Card)
				for line := range strings.SplitSeq(all, "\n") {
					if strings.Contains(line, v.Summary.Headline) && !strings.Contains(line, v.Summary.Window) && !strings.HasPrefix(line, "**") {
						t.Errorf("%s%s: a figure without its window: %s", name, key, line)
					}
				}
				if !strings.Contains(all, v.Summary.Window) {
					t.Errorf("%s%s has no window", name, key)
				}
				if v.Summary.Verdict == "weak" && !strings.Contains(p.Card.Text, "Weak evidence") {
					t.Errorf("%s%s does not say weak: %s", name, key, p.Card.Text)
				}
			}
		}
	}
}

// The root names the class in the words of the API too, where no rule of that
// name does.
func TestRootNamesTheClass(t *testing.T) {
	s := stormed()
	for rule, want := range map[string]string{
		"overloaded": "incident k7f3q9 · rule overloaded · ",
		"big rooms":  "incident k7f3q9 · class overloaded · rule big rooms · ",
		"":           "incident k7f3q9 · class overloaded · ",
	} {
		s.c.Rule = rule
		if got := strings.Join((bot.Writer{}).Root(s.c, s.now).Context, " "); !strings.HasPrefix(got, want) {
			t.Errorf("rule %q: got %q, want %q", rule, got, want)
		}
	}
}

// The evidence tells an event that worked from one that waited, when it says so.
func TestEvidenceSaysWhatTheEventTook(t *testing.T) {
	for want, e := range map[string]triggers.Event{
		"rpc, outcome exception, 812 ms CPU in 30 s": {Trigger: "rpc", Outcome: "exception", CPU: 812 * time.Millisecond, Wall: 30_011 * time.Millisecond},
		"0 ms CPU in 9 ms":                           {Wall: 9 * time.Millisecond},
		"rpc, outcome exception":                     {Trigger: "rpc", Outcome: "exception"},
	} {
		d := overload(start, objectID)
		d.Event.Trigger, d.Event.Outcome, d.Event.CPU, d.Event.Wall = e.Trigger, e.Outcome, e.CPU, e.Wall
		c := bot.New(d, bot.Opening{ID: "k7f3q9", Channel: "C0DEFAULT", Now: start}, bot.Policy{})
		got := ""
		for _, f := range (bot.Writer{}).Evidence(c).Fields {
			if f.Label == "Trigger" {
				got = f.Value
			}
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
