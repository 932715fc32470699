package bot_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/triggers"
)

func profile(t *testing.T) *report.Report {
	t.Helper()
	data, err := os.ReadFile("testdata/do-meter.cpu.pb.gz")
	if err != nil {
		t.Fatal(err)
	}
	r, err := report.Analyse(data, report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// One conversation with every word, as it reads. The file is reviewed by eye.
func TestConversation(t *testing.T) {
	w := newWorld(t)
	var b strings.Builder
	turn := func(what string, r bot.Reply) {
		b.WriteString("======== " + what + "\n" + said(r) + "\n")
	}
	ask := func(text string) { t.Helper(); turn(w.m.Name()+" "+text, w.say(text)) }
	ask("")
	for _, topic := range []string{"help", "help cpu", "help cup"} {
		ask(topic)
	}
	ask("list")
	ask("cpu chekout")
	ask("cpu nothing-like-it")
	ask("cpu checkout 90s")
	ask("cpu")
	ask("cpu checkout 20s")
	ask("cpu checkout") // busy
	w.status.Running, w.status.Waiting = w.records(), []capture.Record{{Job: capture.Job{ID: "x-1", Type: capture.Heap, Target: capture.Target{Kind: capture.Worker, Script: "shop"}}, State: capture.Waiting, WaitFor: capture.WaitBudget, NextAt: at(900)}}
	w.status.UsedHour, w.status.PerHour = 60, 60
	w.status.Health = []bot.Check{{Name: "Slack", OK: true}, {Name: "Cloudflare", Text: "the token is refused; run snapflame doctor"}}
	w.finish()
	rep := profile(t)
	w.reports["inc1-1|"] = rep
	compared := *rep
	compared.Base = &report.Comparison{Captures: 3, Changes: []report.Change{
		{Name: "record", File: "file:///bundle/worker.js", Before: 0.3, After: 0.887, Low: 0.4, High: 0.7, Verdict: report.Grew},
		{Name: "parse", File: "file:///bundle/worker.js", Before: 0.02, After: 0.02, Low: -0.01, High: 0.01, Verdict: report.NoClearChange},
	}}
	w.reports["inc1-1|baseline"] = &compared
	w.reports["inc1-1|inc1-2"] = nil // CPU against heap
	ask("list checkout")
	ask("show inc1-1")
	ask("show inc1-9")
	ask("top inc1-1")
	ask("top inc1-1 rec")
	ask("peek inc1-1 record")
	ask("peek inc1-1 nothing")
	ask("compare inc1-1")
	ask("diff inc1-1 parse")
	ask("heap checkout")
	ask("top inc1-2")
	w.finish()
	ask("compare inc1-1 inc1-2")
	ask("compare inc1-1 inc9-9")
	ask("why inc1")
	ask("why inc1-2")
	w.rows = []bot.DecisionRow{{At: at(3), Decision: triggers.ActionIgnore, Reason: "reads like an overload and is none"}, {At: at(2), Decision: triggers.ActionJoin, Incident: "inc1", Reason: "an incident is open"}}
	ask("why edge-gateway")
	ask("why nobody")
	ask("objects room-api")
	w.objects = []bot.ObjectRow{{Script: "room-api", Entrypoint: "RoomObject", ObjectID: objectID, Requests: 12034, CPUMS: 250000, QueuedMS: 90000, LastError: at(1)}}
	ask("objects room-api")
	ask("cpu room-api/RoomObject")
	ask("cpu room-api/RoomObject object=" + objectID + " 5s")
	ask("silence checkout")
	ask("silence checkout 30d")
	ask("cpu checkout")
	ask("status")
	ask("unsilence checkot")
	ask("unsilence checkout")
	ask("pause 1h")
	ask("cpu checkout")
	ask("resume")
	ask("resume")
	turn("App Home", w.do(bot.Request{Kind: bot.RequestHome}))
	turn("an old button", w.click("pf.gone", "x"))
	golden(t, "conversation", b.String())
}

func TestAskingTwiceStartsOnce(t *testing.T) {
	w := newWorld(t)
	_, other := w.replica(func() string { return "other" })
	for range 3 {
		w.say("cpu checkout")
		if _, err := other.Handle(t.Context(), bot.Request{Kind: bot.RequestCommand, Text: "cpu checkout 50s", UserID: "U0BOB", ChannelID: "C0OPS"}); err != nil {
			t.Fatal(err)
		}
	}
	if jobs := w.queued(); len(jobs) != 1 || len(w.open) != 1 {
		t.Fatalf("%d captures in %d cases, want one", len(jobs), len(w.open))
	}
	busy := w.say("cpu checkout")
	if !strings.Contains(busy.Card.Verdict, "inc1-1") {
		t.Errorf("the refusal does not say what runs: %q", busy.Card.Verdict)
	}
	w.finish()
	w.say("cpu checkout")
	if jobs := w.queued(); len(jobs) != 1 || jobs[0].ID != "inc1-2" {
		t.Errorf("after the first has ended: %+v, want a second in the same case", jobs)
	}
}

// Whoever names a version wants that one: a profile of another would be taken
// for it.
func TestNamedVersionIsTheOnlyOne(t *testing.T) {
	w := newWorld(t)
	other := strings.Repeat("a1", 4) + version[8:]
	for i, c := range []struct {
		text, version string
		only          bool
	}{{"cpu checkout", "", false}, {"cpu checkout version=" + other, other, true}, {"cpu checkout", "", false}} {
		w.say(c.text)
		jobs := w.queued()
		if len(jobs) != 1 || jobs[0].Target.VersionID != c.version || jobs[0].OnlyVersion != c.only {
			t.Fatalf("%d: %q gives %+v", i, c.text, jobs)
		}
		w.finish()
	}
	if _, err := w.desk.Handle(t.Context(), overload(start, objectID)); err != nil {
		t.Fatal(err)
	}
	w.finish()
	w.threads["9.1"] = "inc2"
	w.do(bot.Request{Kind: bot.RequestMention, Text: "heap room-api/RoomObject object=" + objectID + " version=" + other, ThreadTS: "9.1", MessageTS: "9.7"})
	if jobs := w.queued(); len(jobs) != 1 || jobs[0].ID != "inc2-2" || jobs[0].Target.VersionID != other || jobs[0].Target.ObjectID != objectID || !jobs[0].OnlyVersion {
		t.Errorf("in the incident's thread: %+v", jobs)
	}
}

// A capture by hand of a target whose incident has one under way is refused
// with what is running there.
func TestIncidentUnderWayIsSaid(t *testing.T) {
	w := newWorld(t)
	if _, err := w.desk.Handle(t.Context(), overload(start, objectID)); err != nil {
		t.Fatal(err)
	}
	got := w.say("cpu room-api/RoomObject object=" + objectID)
	if !strings.Contains(got.Card.Verdict, "inc1-1") || len(w.queue) != 1 {
		t.Errorf("%q with %d jobs", got.Card.Verdict, len(w.queue))
	}
}

func TestWhoMay(t *testing.T) {
	asked := map[string]bot.Request{
		"cpu":       {Kind: bot.RequestCommand, Text: "cpu checkout"},
		"heap":      {Kind: bot.RequestCommand, Text: "heap checkout"},
		"mention":   {Kind: bot.RequestMention, Text: "cpu checkout", MessageTS: "1.5"},
		"silence":   {Kind: bot.RequestCommand, Text: "silence checkout"},
		"unsilence": {Kind: bot.RequestCommand, Text: "unsilence checkout"},
		"pause":     {Kind: bot.RequestCommand, Text: "pause"},
		"resume":    {Kind: bot.RequestCommand, Text: "resume"},
		"again":     {Kind: bot.RequestClick, ActionID: "pf.again", Value: "inc1-1"},
		"heap too":  {Kind: bot.RequestClick, ActionID: "pf.heap", Value: "inc1-1"},
		"cpu too":   {Kind: bot.RequestClick, ActionID: "pf.cpu", Value: "inc1-1"},
		"pick":      {Kind: bot.RequestClick, ActionID: "pf.pick", Value: "inc2:0"},
		"quiet":     {Kind: bot.RequestClick, ActionID: "pf.silence", Value: "inc1:1h0m0s"},
		"run":       {Kind: bot.RequestClick, ActionID: "pf.run", Value: "cpu checkout"},
		"submit":    {Kind: bot.RequestSubmit, Values: map[string]string{"worker": "checkout"}, Value: `{"c":"C0OPS"}`},
	}
	permits := map[string]struct {
		p  bot.Permit
		ok bool
	}{
		"everyone":              {bot.Permit{}, true},
		"this person":           {bot.Permit{Users: []string{"U0ALICE"}}, true},
		"another person":        {bot.Permit{Users: []string{"U0BOB"}}, false},
		"her group":             {bot.Permit{Groups: []string{"S0OPS"}, Members: groups{"S0OPS": {"U0ALICE"}}}, true},
		"another group":         {bot.Permit{Groups: []string{"S0DEV"}, Members: groups{"S0OPS": {"U0ALICE"}}}, false},
		"a group nobody checks": {bot.Permit{Groups: []string{"S0OPS"}}, false},
		"Slack is down":         {bot.Permit{Groups: []string{"S0BROKEN"}, Members: groups{}}, false},
		"here":                  {bot.Permit{Channels: []string{"C0OPS"}}, true},
		"elsewhere":             {bot.Permit{Channels: []string{"C0DEV"}}, false},
		"she, but elsewhere":    {bot.Permit{Users: []string{"U0ALICE"}, Channels: []string{"C0DEV"}}, false},
		"another workspace":     {bot.Permit{Team: "T0OURS"}, false},
		"our organisation":      {bot.Permit{Team: "T0OURS", Org: "T0GUEST"}, true},
	}
	for name, permit := range permits {
		for what, r := range asked {
			t.Run(name+"/"+what, func(t *testing.T) {
				w := newWorld(t)
				w.say("cpu checkout")
				w.finish()
				unknown := overload(start, "")
				unknown.Action, unknown.Target = triggers.ActionReport, triggers.Target{Kind: triggers.TargetUnknown, Script: "edge-gateway"}
				unknown.Candidates = []triggers.Target{{Kind: triggers.TargetDurableObject, Script: "room-api", Entrypoint: "RoomObject", ObjectID: objectID}}
				if _, err := w.desk.Handle(t.Context(), unknown); err != nil {
					t.Fatal(err)
				}
				before, keys := len(w.queue), len(w.state)
				w.permit = permit.p
				r.TeamID = "T0GUEST"
				got := w.do(r)
				text := said(got)
				if permit.ok {
					if strings.Contains(text, "no_entry_sign") || len(got.Errors) > 0 {
						t.Errorf("refused: %s", text)
					}
					return
				}
				if len(w.queue) != before {
					t.Error("a capture was started")
				}
				if !strings.Contains(text, "no_entry_sign") && len(got.Errors) == 0 {
					t.Errorf("refused without a word: %s", text)
				}
				audit, err := bot.NewAudit(states{w.store}).List(t.Context(), 1)
				if err != nil || len(audit) == 0 || !strings.HasPrefix(audit[0].Outcome, "refused") || audit[0].User != "U0ALICE" {
					t.Errorf("the trail has %+v (%v), want the refusal", audit, err)
				}
				if len(w.state) > keys+1 {
					t.Error("something was changed")
				}
			})
		}
	}
}

func TestAuditSaysWhoStartedWhat(t *testing.T) {
	w := newWorld(t)
	w.say("cpu checkout 5s")
	w.now = w.now.Add(48 * time.Hour)
	w.click("pf.silence", "inc1:1h0m0s")
	got, err := bot.NewAudit(states{w.store}).List(t.Context(), 10)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v %v", got, err)
	}
	if e := got[1]; e.User != "U0ALICE" || e.Channel != "C0OPS" || e.Capture != "inc1-1" || e.What != "cpu checkout 5s" || !e.At.Equal(start) {
		t.Errorf("trail %+v", e)
	}
	if e := got[0]; e.Action != "silence" {
		t.Errorf("newest %+v, want the silence", e)
	}
}

func TestSilenceIsSharedAndEnds(t *testing.T) {
	w := newWorld(t)
	otherDesk, _ := w.replica(func() string { return "other" })
	w.say("silence room-api 30m")
	d, err := otherDesk.Handle(t.Context(), overload(w.now, objectID))
	if err != nil || d.Action != triggers.ActionIgnore || d.Reason != triggers.ReasonSilenced || len(w.open) != 0 {
		t.Fatalf("%s %s %v with %d open", d.Action, d.Reason, err, len(w.open))
	}
	if !strings.Contains(d.Sentence, "U0ALICE") {
		t.Errorf("the reason %q does not say by whom", d.Sentence)
	}
	w.now = w.now.Add(31 * time.Minute)
	if d, err = otherDesk.Handle(t.Context(), overload(w.now, objectID)); err != nil || d.Action != triggers.ActionCapture {
		t.Errorf("after its end: %s %v", d.Action, err)
	}
	w.say("silence room-*")
	w.now = w.now.Add(3 * time.Second)
	if d, _ = otherDesk.Handle(t.Context(), overload(w.now, strings.Repeat("cd", 32))); d.Action != triggers.ActionIgnore {
		t.Errorf("a silence with a star: %s", d.Action)
	}
	if d, _ = otherDesk.Handle(t.Context(), overload(w.now, objectID)); d.Action != triggers.ActionJoin {
		t.Errorf("the open incident: %s, want join", d.Action)
	}
}

func TestPauseIsSharedAndEnds(t *testing.T) {
	w := newWorld(t)
	other := bot.NewSwitch(states{w.store}, nil)
	if _, paused := other.Paused(t.Context(), w.now); paused {
		t.Fatal("paused from the start")
	}
	w.say("pause 1h")
	w.now = w.now.Add(2 * time.Second)
	if p, paused := other.Paused(t.Context(), w.now); !paused || p.By != "U0ALICE" {
		t.Fatalf("%+v %v on the other replica", p, paused)
	}
	if w.say("cpu checkout"); len(w.queue) != 0 {
		t.Error("a capture was started although paused")
	}
	w.now = w.now.Add(time.Hour)
	if _, paused := other.Paused(t.Context(), w.now); paused {
		t.Error("still paused after its end")
	}
	w.say("pause")
	w.say("resume")
	if w.say("cpu checkout"); len(w.queue) != 1 {
		t.Error("no capture after resume")
	}
}

func TestWordsInThreads(t *testing.T) {
	w := newWorld(t)
	if _, err := w.desk.Handle(t.Context(), overload(start, objectID)); err != nil {
		t.Fatal(err)
	}
	w.finish()
	w.threads["9.1"] = "inc1"
	w.reports["inc1-1|"] = profile(t)
	mention := func(ts, text string) bot.Reply {
		return w.do(bot.Request{Kind: bot.RequestMention, Text: text, ThreadTS: ts, MessageTS: "9.7"})
	}
	for _, text := range []string{"top", "show", "peek record", "why", "top inc1-1"} {
		if got := mention("9.1", text); !got.Public || !strings.Contains(said(got), "inc1") {
			t.Errorf("%q in the thread of an incident:\n%s", text, said(got))
		}
	}
	if got := mention("9.1", "peek"); got.Public {
		t.Errorf("a mistake is told to all:\n%s", said(got))
	}
	if got := mention("5.5", "top"); got.Public || !strings.Contains(said(got), "needs the id") {
		t.Errorf("in a foreign thread:\n%s", said(got))
	}
	mention("9.1", "heap")
	if jobs := w.queued(); len(jobs) != 1 || jobs[0].ID != "inc1-2" || jobs[0].Type != capture.Heap || jobs[0].Target.ObjectID != objectID {
		t.Fatalf("heap in the thread: %+v, want a heap capture of its object", jobs)
	}
	w.finish()
	// In a foreign thread the answer stays there, and its first message untouched.
	mention("5.5", "cpu checkout")
	root := w.post(t, "inc2.root")
	if root.ThreadTS != "5.5" || root.Thread != "" || root.Channel != "C0OPS" {
		t.Errorf("root %+v", root)
	}
	w.finish()
	if p := w.post(t, "inc2.report.inc2-1"); p.ThreadTS != "5.5" {
		t.Errorf("report in %q", p.ThreadTS)
	}
	// A mention outside threads is answered under itself.
	w.do(bot.Request{Kind: bot.RequestMention, Text: "cpu room-api", MessageTS: "7.7"})
	if p := w.post(t, "inc3.root"); p.ThreadTS != "7.7" {
		t.Errorf("root in %q, want under the mention", p.ThreadTS)
	}
}

func TestButtonsOfAReport(t *testing.T) {
	w := newWorld(t)
	if _, err := w.desk.Handle(t.Context(), overload(start, objectID)); err != nil {
		t.Fatal(err)
	}
	w.finish()
	w.click("pf.heap", "inc1-1")
	w.click("pf.heap", "inc1-1") // twice
	jobs := w.queued()
	if len(jobs) != 1 || jobs[0].Type != capture.Heap || jobs[0].ID != "inc1-2" {
		t.Fatalf("%+v, want one heap capture", jobs)
	}
	w.finish()
	w.click("pf.again", "inc1-2")
	if jobs = w.queued(); len(jobs) != 1 || jobs[0].Type != capture.Heap || jobs[0].RequestedBy != "U0ALICE" {
		t.Fatalf("again after heap: %+v", jobs)
	}
	w.finish()
	// Over, and asked again: the same thread goes on.
	w.now = w.now.Add(time.Hour)
	w.desk.Saw(decode(w.open[overload(start, objectID).IncidentKey()].raw), 1<<40, false)
	w.desk.Sweep(t.Context())
	if len(w.open) != 0 {
		t.Fatal("not closed")
	}
	w.click("pf.cpu", "inc1-1")
	if jobs = w.queued(); len(jobs) != 1 || jobs[0].IncidentID != "inc1" || jobs[0].Type != capture.CPU {
		t.Fatalf("after the close: %+v", jobs)
	}
	if got := w.click("pf.silence", "inc1:1h0m0s"); !strings.Contains(got.Card.Verdict, "room-api is silenced") {
		t.Errorf("silence: %s", got.Card.Verdict)
	}
	if got := w.click("pf.again", "gone-1"); !strings.Contains(got.Card.Verdict, "don't know a capture") {
		t.Errorf("a capture that is gone: %s", got.Card.Verdict)
	}
	for _, bad := range []string{"pf.pick", "pf.silence"} {
		if got := w.click(bad, "inc1:x"); got.Card == nil || got.Card.Icon != "no_entry_sign" {
			t.Errorf("%s with a bad value: %+v", bad, got)
		}
	}
}

func TestFormAsksAndStarts(t *testing.T) {
	w := newWorld(t)
	form := w.do(bot.Request{Kind: bot.RequestShortcut, ThreadTS: "5.5", MessageTS: "5.6"}).Form
	if form == nil || len(form.State) > 3000 || len(form.Title) > 24 {
		t.Fatalf("form %+v", form)
	}
	submit := func(values map[string]string) bot.Reply {
		return w.do(bot.Request{Kind: bot.RequestSubmit, Value: form.State, Values: values})
	}
	mistakes := map[string]map[string]string{
		"worker":   {"worker": " "},
		"object":   {"worker": "checkout", "object": "3fa1"},
		"version":  {"worker": "checkout", "version": "latest"},
		"duration": {"worker": "checkout", "duration": "90s"},
	}
	for input, values := range mistakes {
		if got := submit(values); got.Errors[input] == "" || len(got.Errors) != 1 {
			t.Errorf("%v: errors %v, want one at %s", values, got.Errors, input)
		}
	}
	if len(w.queue) != 0 {
		t.Fatal("a mistake started a capture")
	}
	got := submit(map[string]string{"worker": "10s", "type": "heap", "duration": "50s", "object": strings.ToUpper(objectID)})
	jobs := w.queued()
	if len(jobs) != 1 || jobs[0].Target.Script != "10s" || jobs[0].Duration != 50*time.Second || jobs[0].Type != capture.Heap || jobs[0].Target.ObjectID != objectID {
		t.Fatalf("%+v (%s)", jobs, said(got))
	}
	if p := w.post(t, "inc1.root"); p.ThreadTS != "5.5" {
		t.Errorf("answers in %q, want the thread of the message", p.ThreadTS)
	}
	if again := submit(map[string]string{"worker": "10s", "object": objectID}); again.Errors["worker"] == "" || len(w.queue) != 1 {
		t.Errorf("a second submit: %+v", again)
	}
}

func TestSuggestions(t *testing.T) {
	w := newWorld(t)
	for range 300 {
		w.workers = append(w.workers, "many")
	}
	suggest := func(q string) []bot.Option {
		return w.do(bot.Request{Kind: bot.RequestSuggest, ActionID: "worker", Query: q}).Options
	}
	if got := suggest(""); len(got) != 100 {
		t.Errorf("%d options, want Slack's 100", len(got))
	}
	if got := suggest("check"); len(got) != 2 || got[0].Value != "checkout" {
		t.Errorf("%v", got)
	}
	if got := suggest("chekout"); len(got) == 0 || got[0].Value != "checkout" {
		t.Errorf("misspelt: %v", got)
	}
}

// While the configuration says no, nobody's resume starts a capture, and
// everybody is told what would.
func TestSwitchedOffInTheConfiguration(t *testing.T) {
	w := newWorld(t)
	enabled := false
	s := bot.NewSwitch(states{w.store}, func() bool { return enabled })
	if err := s.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, paused := s.Paused(t.Context(), w.now)
	if !paused || !p.Off || !strings.Contains(p.Sentence(w.now), "capture.enabled") {
		t.Errorf("%v %+v: %s", paused, p, p.Sentence(w.now))
	}
	enabled = true
	if p, paused := s.Paused(t.Context(), w.now); paused {
		t.Errorf("still off: %+v", p)
	}
}
