package bot_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

const objectID = "3fa1c07d5be2498a1d6e0b7c94f2538e6a1b2c3d4e5f60718293a4b5c6d7e8f9"

func overload(at time.Time, object string) triggers.Decision {
	return triggers.Decision{
		Action: triggers.ActionCapture, Reason: "overloaded", Sentence: "The caller's log names the object.",
		Class: triggers.ClassOverloaded, Subclass: triggers.SubclassRequestsQueued,
		Target:      triggers.Target{Kind: triggers.TargetDurableObject, Script: "room-api", Entrypoint: "RoomObject", ObjectID: object},
		Attribution: triggers.AttributionLogged, Rule: "overloaded", Profile: triggers.ProfileCPU, Duration: 10 * time.Second,
		Quote: "Durable Object is overloaded. Too many requests queued.",
		Event: triggers.Event{Shape: triggers.ShapeTail, Script: "edge-gateway", Time: at, Method: "POST", Route: "/rooms/:id", Colo: "FRA", Size: 1200},
	}
}

func tallyOf(d triggers.Decision, n int64, at time.Time) triggers.Tally {
	return triggers.Tally{
		IncidentKey: d.IncidentKey(), IncidentID: d.IncidentID, Count: n, First: at, Last: at,
		PerMinute: map[int64]int64{at.Unix() / 60: n}, Routes: map[string]int64{"POST /rooms/:id": n},
	}
}

type analyst func(s bot.Study) (bot.Analysed, error)

func (f analyst) Analyse(_ context.Context, s bot.Study) (bot.Analysed, error) { return f(s) }

func conclusive(s bot.Study) (bot.Analysed, error) {
	return bot.Analysed{
		Summary: bot.Summary{
			Verdict: "conclusive", Headline: "record is 88.7 % of busy CPU", Samples: 3821, Window: "10 s, 1 isolate, 3,821 samples",
			Top: []bot.Row{{Name: "record", File: "file:///bundle/worker.js", Line: 12, Self: 0.887, Total: 0.9}},
		},
		PNG: &bot.File{Object: s.Record.ID + ".png", Name: "flamegraph.png", Title: "Flamegraph", Alt: "record is 88.7 % of busy CPU"},
	}, nil
}

func desk(p *process, now func() time.Time, newID func() string, plan bot.Planner) *bot.Desk {
	return bot.NewDesk(p, p, p, bot.DeskOptions{
		NewID: newID, State: states{p.s}, Analyst: analyst(conclusive), Now: now, Plan: plan, AtOnce: 1,
		Routing: bot.Routing{Channel: "C0DEFAULT"},
	})
}

// A storm opens one incident with one capture and one root, on two replicas
// that see it at once, and closes it once.
func TestStormIsOneIncident(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, newID := newStore(), ids()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		desks := []*bot.Desk{desk(&process{s: s}, time.Now, newID, nil), desk(&process{s: s}, time.Now, newID, nil)}
		for _, d := range desks {
			wg.Go(func() {
				if err := d.Run(ctx); err != nil {
					t.Errorf("Run: %v", err)
				}
			})
		}
		synctest.Wait()
		var opened, joined int64
		var mu sync.Mutex
		var storm sync.WaitGroup
		for i := range 8 {
			storm.Go(func() {
				for range 1250 {
					d := desks[i%2]
					got, err := d.Handle(ctx, overload(time.Now(), objectID))
					if err != nil {
						t.Errorf("Handle: %v", err)
						return
					}
					mu.Lock()
					if got.Action == triggers.ActionCapture {
						opened++
					} else {
						joined++
					}
					mu.Unlock()
				}
			})
		}
		storm.Wait()
		if opened != 1 || joined != 9999 {
			t.Fatalf("opened %d joined %d, want 1 and 9999", opened, joined)
		}
		if err := desks[1].Tally(ctx, []triggers.Tally{tallyOf(overload(time.Now(), objectID), 9999, time.Now())}); err != nil {
			t.Fatalf("Tally: %v", err)
		}
		if len(s.waiting()) != 1 {
			t.Fatalf("%d captures queued, want 1", len(s.waiting()))
		}
		time.Sleep(4 * time.Second) // past the root's own pace
		synctest.Wait()
		c, _, err := s.OpenCase(ctx, overload(start, objectID).IncidentKey())
		if err != nil {
			t.Fatal(err)
		}
		if c.Count != 10000 {
			t.Errorf("count %d, want 10000", c.Count)
		}
		root := s.post(t, c.ID+".root")
		if !strings.Contains(root.Card.Text, "10,000 events") {
			t.Errorf("root says %q, want the count", root.Card.Text)
		}
		for _, job := range s.waiting() {
			finish(ctx, t, desks[0], job)
		}
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if len(s.open) != 0 || s.closes[c.ID] != 1 {
			t.Errorf("%d open, closed %d times, want 0 and once", len(s.open), s.closes[c.ID])
		}
		if got := s.puts[c.ID+".closed"]; got != 1 {
			t.Errorf("%d closing notices, want 1", got)
		}
		if got := len(s.archive); got != 1 {
			t.Errorf("%d incidents, want 1", got)
		}
		for _, key := range []string{".evidence", ".report." + c.ID + "-1", ".png." + c.ID + "-1"} {
			if p := s.post(t, c.ID+key); p.Thread != c.ID+".root" || p.Channel != "C0DEFAULT" {
				t.Errorf("%s is in thread %q of %q", key, p.Thread, p.Channel)
			}
		}
		cancel()
		wg.Wait()
	})
}

func finish(ctx context.Context, t *testing.T, d *bot.Desk, job capture.Job) {
	t.Helper()
	r := capture.Record{Job: job, State: capture.Stored, Attempts: 1, StartedAt: job.QueuedAt, EndedAt: job.QueuedAt.Add(job.Duration)}
	for range 2 { // told twice, as a redelivery would
		if err := d.CaptureChanged(ctx, r); err != nil {
			t.Fatalf("CaptureChanged: %v", err)
		}
	}
}

// A tally comes again when the answer to it was lost: all of it is left out, a
// part of it is refused until the messages are told apart.
func TestTallyCountsEachMessageOnce(t *testing.T) {
	w := newWorld(t)
	stored := func(seq uint64) time.Time { return start.Add(time.Duration(seq)) }
	counted := func(seqs ...uint64) triggers.Counted {
		var c triggers.Counted
		for _, s := range seqs {
			c = c.With(triggers.CountedOne(s, 1, stored(s)))
		}
		return c
	}
	first := overload(start, objectID)
	first.Counted = counted(1)
	opened, err := w.desk.Handle(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		seqs   []uint64
		failed bool
		count  int64
	}{{[]uint64{2, 3}, false, 3}, {[]uint64{2, 3}, false, 3}, {[]uint64{3, 4}, true, 3}, {[]uint64{4}, false, 4}, {[]uint64{1}, false, 4}} {
		tally := tallyOf(opened, int64(len(c.seqs)), start)
		tally.Counted = counted(c.seqs...)
		if err := w.desk.Tally(t.Context(), []triggers.Tally{tally}); (err != nil) != c.failed {
			t.Errorf("%d: %v", i, err)
		}
		got, err := w.Case(t.Context(), opened.IncidentID)
		if err != nil || got.Count != c.count {
			t.Errorf("%d: counts %d, want %d: %v", i, got.Count, c.count, err)
		}
		if c.failed && !w.desk.Counted(opened.IncidentKey()).Covers(counted(3)) {
			t.Errorf("%d: nobody can tell which of them are counted", i)
		}
	}
}
