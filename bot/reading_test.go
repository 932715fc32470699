package bot_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/report"
)

// Slack takes a message a second: of several incidents that open at once, no
// root waits for the evidence of another.
func TestEvidenceLetsRootsGoFirst(t *testing.T) {
	policy := bot.Policy{}
	c := handed(opened(t), start)
	if got := c.Due(); !got.Equal(start.Add(3 * time.Second)) {
		t.Fatalf("due %v, want the evidence after 3 s", got)
	}
	if _, changed := c.Tick(policy, start.Add(2*time.Second)); changed {
		t.Error("the evidence came before its time")
	}
	late, changed := c.Tick(policy, start.Add(3*time.Second))
	if got := pendingPosts(late); !changed || !slices.Equal(got, []string{"inc1.evidence"}) {
		t.Errorf("after 3 s %v, want the evidence alone", got)
	}
	if _, again := handed(late, start).Tick(policy, start.Add(4*time.Second)); again {
		t.Error("the evidence is owed twice")
	}
	job := opened(t).Captures[0].Record.Job
	soon, _ := c.CaptureChanged(capture.Record{Job: job, State: capture.Failed, Failure: &capture.Failure{Kind: capture.FailEmpty}}, nil, nil, policy, start.Add(time.Second))
	if got, want := pendingPosts(soon), []string{"inc1.root", "inc1.evidence", "inc1.report.inc1-1"}; !slices.Equal(got, want) {
		t.Errorf("with a report after 1 s %v, want %v", got, want)
	}
	off := bot.New(overload(start, objectID), bot.Opening{ID: "inc1", Now: start}, bot.Policy{Off: map[bot.Notice]bool{bot.NoticeEvidence: true}})
	if !off.EvidenceAt.IsZero() {
		t.Error("switched off, and owed all the same")
	}
}

// What is called nearly all garbage collection needs its allocations, and those
// need to be told with it.
func TestRootTellsBothHalves(t *testing.T) {
	c := opened(t)
	gc := bot.Summary{Verdict: "conclusive", Headline: "95.2 % of busy CPU is garbage collection", Window: "10 s"}
	heap := bot.Summary{Verdict: "conclusive", Headline: "recordRequest allocates 29.2 % of the bytes", Window: "10 s"}
	job := c.Captures[0].Record.Job
	second := job
	second.ID, second.Type = "inc1-2", capture.Heap
	stored := func(job capture.Job, s bot.Summary) {
		c, _ = c.CaptureChanged(capture.Record{Job: job, State: capture.Stored}, &bot.Analysed{Summary: s}, nil, bot.Policy{}, start)
	}
	stored(job, gc)
	stored(second, heap)
	root := (bot.Writer{}).Root(c, start)
	for _, want := range []string{gc.Headline + " [10 s; conclusive]", heap.Headline + " [10 s; conclusive]"} {
		if !strings.Contains(root.Verdict, want) || !strings.Contains(root.Text, want) {
			t.Errorf("root says %q and %q, want %q in both", root.Verdict, root.Text, want)
		}
	}
}

// In the thread of an incident its names can be left out.
func TestThreadFillsInWhatIsLeftOut(t *testing.T) {
	w := newWorld(t)
	if _, err := w.desk.Handle(t.Context(), overload(start, objectID)); err != nil {
		t.Fatal(err)
	}
	w.finish()
	w.threads["1.1"] = "inc1"
	in := func(text string) bot.Reply {
		return w.do(bot.Request{Kind: bot.RequestMention, Text: text, ThreadTS: "1.1", MessageTS: "1.9"})
	}
	in("heap 5s")
	jobs := w.queued()
	if len(jobs) != 1 || jobs[0].Type != capture.Heap || jobs[0].Duration != 5*time.Second || jobs[0].Target.ObjectID != objectID {
		t.Fatalf("heap 5s: %+v, want 5 s of the incident's object", jobs)
	}
	w.finish()
	if got := said(in("cpu 5m")); !strings.Contains(got, "5 min is not possible") || strings.Contains(got, " it ") {
		t.Errorf("cpu 5m: %s", got)
	}
	w.reports["inc1-2"] = profile(t)
	if got := said(in("compare baseline")); strings.Contains(got, "don't know a capture") {
		t.Errorf("compare baseline: %s", got)
	}
	if got := said(in("silence 4h")); !strings.Contains(got, "room-api is silenced") || !strings.Contains(got, "4 h more") {
		t.Errorf("silence 4h: %s", got)
	}
	if got := said(in("unsilence")); !strings.Contains(got, "room-api is not silenced any more") {
		t.Errorf("unsilence: %s", got)
	}
}

func TestComparingWhatCannotBeCompared(t *testing.T) {
	w := newWorld(t)
	if _, err := w.desk.Handle(t.Context(), overload(start, objectID)); err != nil {
		t.Fatal(err)
	}
	w.finish()
	w.fail = report.ErrDifferentUse
	if got := said(w.say("compare inc1-1 inc9-1")); !strings.Contains(got, "compare CPU with CPU") {
		t.Errorf("two types: %s", got)
	}
	if got := said(w.say("compare inc1-1 inc1-1")); !strings.Contains(got, "same capture twice") {
		t.Errorf("the same: %s", got)
	}
}

func TestOnlyCloudflaresWordsAreQuoted(t *testing.T) {
	c := opened(t)
	for kind, want := range map[capture.FailureKind]string{capture.FailForbidden: "words", capture.FailTimeout: "", capture.FailNoNamespace: ""} {
		v := bot.CaptureView{Record: capture.Record{Job: c.Captures[0].Record.Job, State: capture.Failed, Failure: &capture.Failure{Kind: kind, Message: "words"}}}
		if got := (bot.Writer{}).Failure(c, v).Quote; got != want {
			t.Errorf("%s quotes %q, want %q", kind, got, want)
		}
	}
}

func TestClosingSaysWhatThereWas(t *testing.T) {
	c := opened(t)
	c.State, c.Captures[0].Record.State, c.Captures[0].Record.Failure = bot.Closed, capture.Failed, &capture.Failure{Kind: capture.FailEmpty}
	got := (bot.Writer{}).Closed(c).Text
	if want := "1 event, at 03:14:00 UTC, 1 capture, which gave no profile."; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q at its end", got, want)
	}
}
