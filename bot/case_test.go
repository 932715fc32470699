package bot_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

func opened(t *testing.T) bot.Case {
	t.Helper()
	return bot.New(overload(start, objectID), bot.Opening{ID: "inc1", Channel: "C0DEFAULT", Now: start}, bot.Policy{})
}

// handed is the case after everything it wanted was handed over.
func handed(c bot.Case, now time.Time) bot.Case { return c.Done(c.Pending, now) }

func pendingPosts(c bot.Case) (keys []string) {
	for _, e := range c.Pending {
		if e.Post != nil {
			keys = append(keys, e.Post.Key)
		}
	}
	return keys
}

func TestNewWantsTheCaptureFirst(t *testing.T) {
	c := opened(t)
	if len(c.Pending) == 0 || c.Pending[0].Kind != bot.EffectCapture {
		t.Fatalf("pending %+v, want the capture first", c.Pending)
	}
	job := c.Pending[0].Job
	if job.ID != "inc1-1" || job.IncidentID != "inc1" || job.Target.ObjectID != objectID || job.Target.Class != "RoomObject" || job.Duration != 10*time.Second {
		t.Errorf("job %+v", job)
	}
	if got, want := pendingPosts(c), []string{"inc1.root"}; !reflect.DeepEqual(got, want) {
		t.Errorf("posts %v, want %v", got, want)
	}
	if c.Count != 1 || c.Routes["POST /rooms/:id"] != 1 {
		t.Errorf("count %d routes %v, want the opening event in both", c.Count, c.Routes)
	}
}

func TestReportDecisionHasNoCapture(t *testing.T) {
	d := overload(start, "")
	d.Action, d.Target, d.Attribution = triggers.ActionReport, triggers.Target{Kind: triggers.TargetUnknown, Script: "edge-gateway"}, triggers.AttributionNone
	d.Candidates = []triggers.Target{
		{Kind: triggers.TargetDurableObject, Script: "room-api", Entrypoint: "RoomObject", ObjectID: objectID},
		{Kind: triggers.TargetDurableObject, Script: "room-api", Entrypoint: "RoomObject"},
	}
	c := bot.New(d, bot.Opening{ID: "inc1", Now: start}, bot.Policy{})
	for _, e := range c.Pending {
		if e.Kind == bot.EffectCapture {
			t.Fatalf("a report wants capture %+v", e.Job)
		}
	}
	card := bot.Writer{}.Root(c, start)
	if card.Buttons[0].Action != "pf.pick" || card.Buttons[0].Value != "inc1:0" {
		t.Errorf("first button %+v, want the first candidate", card.Buttons[0])
	}
	if _, _, err := c.Again(bot.Asked{Type: capture.CPU}, start); refusal(t, err) != bot.RefusedNoTarget {
		t.Errorf("again without a target: %v", err)
	}
	if _, _, err := c.Pick(1, "U1", start); refusal(t, err) != bot.RefusedNoTarget {
		t.Errorf("candidate without an id: %v", err)
	}
	if _, _, err := c.Pick(2, "U1", start); refusal(t, err) != bot.RefusedUnknown {
		t.Errorf("candidate that does not exist: %v", err)
	}
	next, id, err := c.Pick(0, "U1", start)
	if err != nil || id != "inc1-1" || next.Picked.ObjectID != objectID {
		t.Fatalf("pick: %q %v %+v", id, err, next.Picked)
	}
	if _, _, err := next.Pick(0, "U2", start); refusal(t, err) != bot.RefusedBusy {
		t.Errorf("the second click: %v, want busy", err)
	}
}

func refusal(t *testing.T, err error) bot.RefusalReason {
	t.Helper()
	var r *bot.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("error %v is no refusal", err)
	}
	if r.Sentence == "" {
		t.Errorf("refusal %s has no sentence", r.Reason)
	}
	return r.Reason
}

func TestRootIsRevisedAtMostEveryThreeSeconds(t *testing.T) {
	c := handed(opened(t), start)
	revisions := 0
	for i := range 600 { // one batch each 100 ms: one minute
		now := start.Add(time.Duration(i) * 100 * time.Millisecond)
		c = c.Tallied(triggers.Tally{Count: 5, Last: now}, now)
		c, _ = c.Tick(bot.Policy{}, now)
		if n := len(pendingPosts(c)); n > 0 {
			revisions += n
			c = handed(c, now)
		}
	}
	if revisions < 19 || revisions > 20 {
		t.Errorf("%d revisions in a minute of storm, want one each 3 s", revisions)
	}
	if c.Count != 3001 {
		t.Errorf("count %d, want 3001", c.Count)
	}
	if c.RootDue {
		later := c.Due()
		if c, _ = c.Tick(bot.Policy{}, later); len(pendingPosts(c)) != 1 {
			t.Errorf("the revision held back is not posted at %v", later)
		}
	}
}

func TestQuietCloseOnce(t *testing.T) {
	c := handed(opened(t), start)
	r := capture.Record{Job: c.Captures[0].Record.Job, State: capture.Stored}
	if got, _ := c.Tick(bot.Policy{}, start.Add(time.Hour)); got.State != bot.Open {
		t.Error("closed while its capture is under way")
	}
	c, _ = c.CaptureChanged(r, &bot.Analysed{Summary: bot.Summary{Verdict: "conclusive"}}, nil, bot.Policy{}, start.Add(20*time.Second))
	c = handed(c, start)
	at := start.Add(20*time.Second + 10*time.Minute)
	if got, _ := c.Tick(bot.Policy{}, at.Add(-time.Second)); got.State != bot.Open {
		t.Error("closed before the quiet period was over")
	}
	c, changed := c.Tick(bot.Policy{}, at)
	if !changed || c.State != bot.Closed {
		t.Fatalf("state %s, want closed", c.State)
	}
	if got, want := pendingPosts(c), []string{"inc1.closed", "inc1.root"}; !reflect.DeepEqual(got, want) {
		t.Errorf("posts %v, want %v", got, want)
	}
	if _, changed := c.Tick(bot.Policy{}, at.Add(time.Hour)); changed {
		t.Error("a closed case changed by time")
	}
}

func TestNoticesCanBeSwitchedOff(t *testing.T) {
	off := bot.Policy{Off: map[bot.Notice]bool{}}
	for _, n := range bot.Notices() {
		off.Off[n] = true
	}
	d := overload(start, objectID)
	c := bot.New(d, bot.Opening{ID: "inc1", Mention: "<@U1>", Now: start}, off)
	if c.Mention != "" {
		t.Errorf("mention %q although switched off", c.Mention)
	}
	record := capture.Record{Job: c.Captures[0].Record.Job, State: capture.Stored}
	c, _ = c.CaptureChanged(record, &bot.Analysed{PNG: &bot.File{}}, nil, off, start)
	c, _ = c.Tick(off, start.Add(time.Hour))
	for _, key := range pendingPosts(c) {
		if key != "inc1.root" {
			t.Errorf("posts %s although it is switched off", key)
		}
	}
}

func TestOvertakenPostIsOwedAgain(t *testing.T) {
	c := opened(t)
	old := c.Pending // one desk is handing these over
	c = c.Tallied(triggers.Tally{Count: 1}, start.Add(4*time.Second))
	c = handed(c, start) // another hands over the newer root
	if len(c.Pending) != 0 {
		t.Fatalf("pending %v", pendingPosts(c))
	}
	c = c.Done(old, start) // the first comes late: its root may have overwritten the newer
	if got, want := pendingPosts(c), []string{"inc1.root"}; !reflect.DeepEqual(got, want) {
		t.Errorf("owed %v, want %v", got, want)
	}
	if c = handed(c, start); len(c.Pending) != 0 {
		t.Errorf("still owed %v: it never ends", pendingPosts(c))
	}
}

func TestCaptureNews(t *testing.T) {
	c := handed(opened(t), start)
	job := c.Captures[0].Record.Job
	started := capture.Record{Job: job, State: capture.Started, StartedAt: start}
	c, changed := c.CaptureChanged(started, nil, nil, bot.Policy{}, start)
	if !changed {
		t.Fatal("the start changed nothing")
	}
	if _, changed := c.CaptureChanged(started, nil, nil, bot.Policy{}, start); changed {
		t.Error("the same news again changed something")
	}
	stored := started
	stored.State = capture.Stored
	a := &bot.Analysed{Summary: bot.Summary{Verdict: "conclusive", Headline: "x"}}
	c, _ = c.CaptureChanged(stored, a, nil, bot.Policy{}, start)
	if _, changed := c.CaptureChanged(started, nil, nil, bot.Policy{}, start); changed {
		t.Error("older news was believed")
	}
	if _, changed := c.CaptureChanged(stored, a, nil, bot.Policy{}, start); changed {
		t.Error("the report again changed something")
	}
	if v, busy := c.Unfinished(); busy {
		t.Errorf("unfinished %+v", v)
	}
}

func TestCaseStaysSmall(t *testing.T) {
	c := opened(t)
	for i := range 200 {
		now := start.Add(time.Duration(i) * 10 * time.Minute)
		tally := triggers.Tally{
			Count: 1000, Last: now, PerMinute: map[int64]int64{}, Routes: map[string]int64{}, Versions: map[string]int64{},
			Sizes: make([]int64, 100),
		}
		for k := range 100 {
			tally.PerMinute[now.Unix()/60+int64(k)] = 1
			tally.Routes[strings.Repeat("r", 300)+string(rune('a'+k))] = 1
			tally.Versions[strings.Repeat("v", k+1)+string(rune('a'+i%26))] = 1
		}
		c = handed(c.Tallied(tally, now).Noted("test", strings.Repeat("long ", 1000), now), now)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	// A NATS message is at most 1 MB; a case is rewritten on each change.
	if len(raw) > 128<<10 {
		t.Errorf("a case of a day's storm is %d bytes", len(raw))
	}
	if c.Count != 200_001 {
		t.Errorf("count %d, want 200001: names may be folded, events may not", c.Count)
	}
}

func TestPureFunctionsLeaveTheCaseAlone(t *testing.T) {
	c := handed(opened(t), start)
	before, _ := json.Marshal(c)
	now := start.Add(time.Minute)
	c.Tallied(triggers.Tally{Count: 3, PerMinute: map[int64]int64{1: 2}, Routes: map[string]int64{"x": 1}}, now)
	c.CaptureChanged(capture.Record{Job: c.Captures[0].Record.Job, State: capture.Stored}, &bot.Analysed{}, nil, bot.Policy{}, now)
	c.Refused("inc1-1", now)
	c.Tick(bot.Policy{}, now.Add(48*time.Hour))
	c.Reopened(now, "test")
	c.Noted("a", "b", now)
	if after, _ := json.Marshal(c); string(before) != string(after) {
		t.Errorf("the case changed:\nbefore %s\nafter  %s", before, after)
	}
}

func TestTargetConversionCarriesEveryField(t *testing.T) {
	from := triggers.Target{
		Kind: triggers.TargetDurableObject, Script: "s", Entrypoint: "E", ObjectID: objectID, VersionID: "v", DispatchNamespace: "d",
	}
	for i := range reflect.TypeFor[triggers.Target]().NumField() {
		if reflect.ValueOf(from).Field(i).IsZero() {
			t.Fatalf("the test sets no %s: set it", reflect.TypeFor[triggers.Target]().Field(i).Name)
		}
	}
	to, ok := bot.CaptureTarget(from)
	if !ok {
		t.Fatal("an object with an id is not a target")
	}
	want := capture.Target{Kind: capture.DurableObject, Script: "s", Class: "E", ObjectID: objectID, VersionID: "v", DispatchNamespace: "d"}
	if to != want {
		t.Errorf("got %+v, want %+v", to, want)
	}
	// The namespace is resolved by the capture; every other field comes from here.
	for i := range reflect.TypeFor[capture.Target]().NumField() {
		if f := reflect.TypeFor[capture.Target]().Field(i); f.Name != "NamespaceID" && reflect.ValueOf(to).Field(i).IsZero() {
			t.Errorf("%s is not carried over", f.Name)
		}
	}
	if to.Key() != from.Key() {
		t.Errorf("keys differ: %s and %s", to.Key(), from.Key())
	}
	worker := triggers.Target{Kind: triggers.TargetWorker, Script: "s", Entrypoint: "E", DispatchNamespace: "d"}
	if to, ok := bot.CaptureTarget(worker); !ok || to.Class != "" || to.Key() != worker.Key() {
		t.Errorf("worker: %+v %v", to, ok)
	}
	if _, ok := bot.CaptureTarget(triggers.Target{Kind: triggers.TargetUnknown, Script: "s"}); ok {
		t.Error("an unknown target can be captured")
	}
}
