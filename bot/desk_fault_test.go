package bot_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

var errDown = errors.New("no responders")

// running drives a desk by its own timers in a bubble of fake time.
func running(t *testing.T, p *process, o bot.DeskOptions, f func(ctx context.Context, d *bot.Desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.NewID, o.State = ids(), states{p.s}
		if o.Analyst == nil {
			o.Analyst = analyst(conclusive)
		}
		o.Routing = bot.Routing{Channel: "C0DEFAULT"}
		d := bot.NewDesk(p, p, p, o)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := d.Run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
		synctest.Wait()
		f(ctx, d)
		cancel()
		wg.Wait()
	})
}

// rest lets fake time pass and everything settle.
func rest(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Slack's outbox is down for an hour: the capture goes on, and everything that
// was owed arrives afterwards, each once, saying what is true then.
func TestOutboxDownForAnHour(t *testing.T) {
	var down atomic.Bool
	var calls atomic.Int64
	down.Store(true)
	p := &process{s: newStore()}
	p.hook = func(op string) (error, error) {
		if op == "post" && down.Load() {
			calls.Add(1)
			return errDown, nil
		}
		return nil, nil
	}
	running(t, p, bot.DeskOptions{}, func(ctx context.Context, d *bot.Desk) {
		got, err := d.Handle(ctx, overload(time.Now(), objectID))
		if err != nil || got.IncidentID == "" {
			t.Fatalf("%+v %v: an incident must open without Slack", got, err)
		}
		if len(p.s.waiting()) != 1 {
			t.Fatal("the capture waits for Slack")
		}
		for _, job := range p.s.waiting() {
			finish(ctx, t, d, job)
		}
		rest(time.Hour)
		if len(p.s.posts) != 0 || len(p.s.open) != 1 {
			t.Fatalf("%d posts, %d open: a closed incident would have lost its posts", len(p.s.posts), len(p.s.open))
		}
		if n := calls.Load(); n > 3000 {
			t.Errorf("%d tries in an hour", n)
		}
		down.Store(false)
		rest(15 * time.Second)
		keys := slices.Sorted(maps.Keys(p.s.posts))
		want := []string{"inc1.closed", "inc1.evidence", "inc1.png.inc1-1", "inc1.report.inc1-1", "inc1.root"}
		if !slices.Equal(keys, want) {
			t.Fatalf("posts %v, want %v", keys, want)
		}
		for key, n := range p.s.puts {
			if n != 1 {
				t.Errorf("%s was put %d times", key, n)
			}
		}
		if root := p.s.post(t, "inc1.root"); root.Card.Icon != "white_check_mark" {
			t.Errorf("the root says :%s:, not what is true now", root.Card.Icon)
		}
	})
}

// The queue holds another capture of the target: the incident says so and its
// own comes as soon as that one is done.
func TestBusyTargetWaits(t *testing.T) {
	p := &process{s: newStore()}
	running(t, p, bot.DeskOptions{}, func(ctx context.Context, d *bot.Desk) {
		other := capture.Job{ID: "baseline-1", Target: capture.Target{Kind: capture.DurableObject, ObjectID: objectID}}
		if err := p.s.Submit(ctx, other); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Handle(ctx, overload(time.Now(), objectID)); err != nil {
			t.Fatal(err)
		}
		rest(5 * time.Second)
		if root := p.s.post(t, "inc1.root"); !strings.Contains(root.Card.Text, "another capture of the same target comes first") {
			t.Errorf("the root says %q", root.Card.Text)
		}
		p.s.take()
		rest(15 * time.Second)
		if got := p.s.waiting(); len(got) != 1 || got[0].ID != "inc1-1" {
			t.Errorf("queued %+v, want the incident's own", got)
		}
	})
}

// A stateless Worker: up to three captures, spaced, merged; the first is
// reported at once and the later ones update it, in one message.
func TestStatelessSeriesIsOneReport(t *testing.T) {
	p := &process{s: newStore()}
	var merged [][]string
	o := bot.DeskOptions{Plan: bot.FollowUps(time.Minute), Analyst: analyst(func(s bot.Study) (bot.Analysed, error) {
		a, err := conclusive(s)
		merged = append(merged, s.With)
		a.Summary.Captures = len(s.With) + 1
		return a, err
	})}
	running(t, p, o, func(ctx context.Context, d *bot.Desk) {
		dec := overload(time.Now(), "")
		dec.Class, dec.Subclass, dec.Target = triggers.ClassExceededCPU, "", triggers.Target{Kind: triggers.TargetWorker, Script: "checkout"}
		if _, err := d.Handle(ctx, dec); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if len(p.s.waiting()) != 1 {
				t.Fatalf("after %d captures %d are queued", i, len(p.s.waiting()))
			}
			for _, job := range p.s.take() {
				if wait := time.Until(job.NotBefore); i > 0 && wait != time.Minute {
					t.Errorf("capture %d comes after %v, want the spacing", i+1, wait)
				}
				r := capture.Record{Job: job, State: capture.Stored, Resolved: capture.Target{Kind: capture.Worker, VersionID: version}}
				if err := d.CaptureChanged(ctx, r); err != nil {
					t.Fatal(err)
				}
				if i > 0 && job.Target.VersionID != version {
					t.Errorf("capture %d is of version %q, want that of the first", i+1, job.Target.VersionID)
				}
			}
		}
		if len(p.s.waiting()) != 0 {
			t.Error("a fourth is queued")
		}
		if want := [][]string{nil, {"inc1-1"}, {"inc1-1", "inc1-2"}}; !slices.EqualFunc(merged, want, slices.Equal) {
			t.Errorf("merged with %v, want %v", merged, want)
		}
		report := p.s.post(t, "inc1.report.inc1-1")
		if !strings.Contains(report.Card.Title, "3 captures merged") || report.CaptureID != "inc1-3" {
			t.Errorf("%q of %s", report.Card.Title, report.CaptureID)
		}
		for _, key := range []string{"inc1.report.inc1-2", "inc1.report.inc1-3", "inc1.png.inc1-2"} {
			if _, ok := p.s.posts[key]; ok {
				t.Errorf("%s is a message of its own", key)
			}
		}
	})
}

// A severe overload gets one short capture and nothing after it.
func TestSevereOverloadIsCapturedOnce(t *testing.T) {
	d := overload(start, objectID)
	d.Subclass, d.Duration = triggers.SubclassTooManyInWindow, 3*time.Second
	c := bot.New(d, bot.Opening{ID: "inc1", Now: start}, bot.Policy{})
	job := *c.Pending[0].Job
	if job.Duration != 3*time.Second || !strings.Contains(job.Note, "short") {
		t.Errorf("%v long (%s), want 3 s", job.Duration, job.Note)
	}
	c, _ = c.CaptureChanged(capture.Record{Job: job, State: capture.Stored}, &bot.Analysed{Summary: bot.Summary{Verdict: "weak", GCShare: 0.95}},
		bot.FollowUps(time.Minute), bot.Policy{}, start)
	if v, more := c.Unfinished(); more {
		t.Errorf("followed by %+v", v.Record.Job)
	}
}

// An analysis that fails is tried again, on any replica, and then told.
func TestProfileThatCannotBeRead(t *testing.T) {
	p := &process{s: newStore()}
	tries := 0
	o := bot.DeskOptions{Analyst: analyst(func(bot.Study) (bot.Analysed, error) { tries++; return bot.Analysed{}, errDown })}
	running(t, p, o, func(ctx context.Context, d *bot.Desk) {
		if _, err := d.Handle(ctx, overload(time.Now(), objectID)); err != nil {
			t.Fatal(err)
		}
		r := capture.Record{State: capture.Stored, Bytes: 10}
		for _, job := range p.s.waiting() {
			r.Job = job
		}
		told := 0
		for err := errDown; err != nil && told < 20; told++ {
			err = d.CaptureChanged(ctx, r)
		}
		if tries != 5 || told != 5 {
			t.Errorf("%d tries in %d tellings, want 5", tries, told)
		}
		if card := p.s.post(t, "inc1.report.inc1-1").Card; !strings.Contains(card.Verdict, "stored, but reading it failed") {
			t.Errorf("the thread says %q", card.Verdict)
		}
	})
}

// The next incident of a target links the one before it.
func TestNextIncidentLinksThePrevious(t *testing.T) {
	p := &process{s: newStore()}
	running(t, p, bot.DeskOptions{Writer: bot.Writer{Links: links{}}}, func(ctx context.Context, d *bot.Desk) {
		for range 2 {
			if _, err := d.Handle(ctx, overload(time.Now(), objectID)); err != nil {
				t.Fatal(err)
			}
			for _, job := range p.s.take() {
				finish(ctx, t, d, job)
			}
			rest(15 * time.Minute)
		}
		c, err := p.s.Case(ctx, "inc2")
		if err != nil || c.Previous != "inc1" {
			t.Fatalf("%q %v, want inc1", c.Previous, err)
		}
		if text := transcript(p.s.post(t, "inc2.root").Card); !strings.Contains(text, "https://sf.example/incidents/inc1") {
			t.Errorf("the root does not link it:\n%s", text)
		}
		if err := d.ForgetBefore(ctx, time.Now().Add(time.Hour)); err != nil || len(p.s.state) != 0 {
			t.Errorf("%d targets remembered (%v), want none", len(p.s.state), err)
		}
	})
}

// Events that joined before the close and are counted after it open the case
// again, or count on the one that followed; none is lost.
func TestLateTally(t *testing.T) {
	p := &process{s: newStore()}
	running(t, p, bot.DeskOptions{}, func(ctx context.Context, d *bot.Desk) {
		first, err := d.Handle(ctx, overload(time.Now(), objectID))
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range p.s.take() {
			finish(ctx, t, d, job)
		}
		rest(11 * time.Minute)
		if len(p.s.open) != 0 {
			t.Fatal("not closed")
		}
		if err := d.Tally(ctx, []triggers.Tally{tallyOf(first, 7, time.Now())}); err != nil {
			t.Fatal(err)
		}
		c, err := p.s.Case(ctx, first.IncidentID)
		if err != nil || c.State != bot.Open || c.Count != 8 {
			t.Fatalf("%s with %d events (%v), want open again with 8", c.State, c.Count, err)
		}
		rest(11 * time.Minute)
		if p.s.puts["inc1.closed"] != 1 {
			t.Errorf("%d closing notices", p.s.puts["inc1.closed"])
		}
		second, err := d.Handle(ctx, overload(time.Now(), objectID))
		if err != nil || second.IncidentID == first.IncidentID {
			t.Fatalf("%+v %v", second, err)
		}
		if err := d.Tally(ctx, []triggers.Tally{tallyOf(first, 5, time.Now())}); err != nil {
			t.Fatal(err)
		}
		if c, err = p.s.Case(ctx, second.IncidentID); err != nil || c.Count != 6 {
			t.Errorf("%d events on the one that followed (%v), want 6", c.Count, err)
		}
		gone := first
		gone.Target.ObjectID, gone.IncidentID = strings.Repeat("00", 32), "gone"
		if err := d.Tally(ctx, []triggers.Tally{tallyOf(gone, 5, time.Now())}); err != nil {
			t.Errorf("an incident that is not kept stops the events behind it: %v", err)
		}
	})
}
