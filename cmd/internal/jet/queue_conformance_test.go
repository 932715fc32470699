package jet_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/cmd/internal/jet"
)

func next(t *testing.T, j *jet.Jet) capture.Task {
	t.Helper()
	task, err := j.Jobs().Next(within(t), patience)
	if err != nil || task == nil {
		t.Fatalf("next job: got %v, %v", task, err)
	}
	return task
}

func jobsConform(t *testing.T, a, b *jet.Jet) {
	ctx := within(t)
	if task, err := b.Jobs().Next(ctx, time.Millisecond); task != nil || err != nil {
		t.Fatalf("empty queue: got %v, %v, want nothing", task, err)
	}
	slow := capture.Job{ID: key(t, "slow"), Target: target(t), Priority: 9}
	fast := capture.Job{ID: key(t, "fast"), Target: target(t), Priority: 0}
	for _, j := range []capture.Job{slow, fast, slow, fast} { // a repeated submit is fine
		if err := a.Jobs().Submit(ctx, j); err != nil {
			t.Fatalf("submit: %v", err)
		}
	}
	for _, p := range []int{0, 3} { // any priority: the target is busy
		other := capture.Job{ID: key(t, "other"), Target: slow.Target, Priority: p}
		if err := b.Jobs().Submit(ctx, other); !errors.Is(err, capture.ErrTargetBusy) {
			t.Errorf("another job of the target with priority %d: got %v, want ErrTargetBusy", p, err)
		}
	}
	first := next(t, b)
	if first.Job().ID != fast.ID {
		t.Errorf("first is %s, want the urgent one", first.Job().ID)
	}
	if err := first.Touch(); err != nil {
		t.Errorf("touch: %v", err)
	}
	if err := a.Jobs().Submit(ctx, capture.Job{ID: key(t, "x"), Target: fast.Target}); !errors.Is(err, capture.ErrTargetBusy) {
		t.Errorf("a running target: got %v, want ErrTargetBusy", err)
	}
	if err := first.Done(ctx); err != nil {
		t.Fatalf("done: %v", err)
	}
	if err := a.Jobs().Submit(ctx, capture.Job{ID: key(t, "y"), Target: fast.Target}); err != nil {
		t.Errorf("the target right after done: %v", err)
	}
	// With replicas a job is seen a moment after it is stored, so a less urgent
	// one may come first.
	until(t, "the urgent job came", func() bool {
		task := next(t, a)
		if task.Job().Target.Key() == fast.Target.Key() {
			return task.Done(ctx) == nil
		}
		_ = task.Later(0)
		return false
	})
	second := next(t, a)
	if second.Job().ID != slow.ID {
		t.Errorf("second is %s, want the slow one", second.Job().ID)
	}
	began := time.Now()
	if err := second.Later(300 * time.Millisecond); err != nil {
		t.Errorf("later: %v", err)
	}
	again := next(t, b)
	if again.Job().ID != slow.ID || time.Since(began) < 290*time.Millisecond {
		t.Errorf("got %s after %s, want the slow one at or after the delay", again.Job().ID, time.Since(began))
	}
	if err := again.Done(ctx); err != nil {
		t.Error(err)
	}
}

func jobHasOneWinner(t *testing.T, a, b *jet.Jet) {
	ctx := within(t)
	tg := target(t)
	var wins, busy atomic.Int32
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			j := []*jet.Jet{a, b}[i%2]
			err := j.Jobs().Submit(ctx, capture.Job{ID: key(t, "j") + strconv.Itoa(i), Target: tg, Priority: i % 4})
			switch {
			case err == nil:
				wins.Add(1)
			case errors.Is(err, capture.ErrTargetBusy):
				busy.Add(1)
			default:
				t.Errorf("submit: %v", err)
			}
		})
	}
	wg.Wait()
	if wins.Load() != 1 || busy.Load() != 19 {
		t.Errorf("%d won and %d were told busy, want 1 and 19", wins.Load(), busy.Load())
	}
	if err := next(t, a).Done(ctx); err != nil {
		t.Error(err)
	}
	if task, err := b.Jobs().Next(ctx, 10*time.Millisecond); task != nil || err != nil {
		t.Errorf("after it: got %v, %v, want an empty queue", task, err)
	}
}

func nextPost(t *testing.T, j *jet.Jet) *jet.Post {
	t.Helper()
	p, err := j.Outbox().Next(within(t), patience)
	if err != nil || p == nil {
		t.Fatalf("next post: got %v, %v", p, err)
	}
	return p
}

func outboxConforms(t *testing.T, a, b *jet.Jet) {
	ctx := within(t)
	put := func(k, channel string) {
		t.Helper()
		if err := a.Outbox().Put(ctx, bot.Post{Key: k, Channel: channel}); err != nil {
			t.Fatalf("put: %v", err)
		}
	}
	k, other := key(t, "inc")+".root <x> ü.", key(t, "inc")+".png"
	for i := range 5 {
		put(k, strconv.Itoa(i))
	}
	put(other, "o")
	p := nextPost(t, b)
	for p.Post().Channel < "4" { // with replicas the latest is seen a moment later
		if err := p.Ack(ctx); err != nil {
			t.Fatal(err)
		}
		p = nextPost(t, b)
	}
	if p.Post().Key != k || p.Post().Channel != "4" {
		t.Fatalf("got %q %q, want the latest of the first key", p.Post().Key, p.Post().Channel)
	}
	put(k, "5") // while 4 is being sent
	q := nextPost(t, b)
	if q.Post().Key != other {
		t.Fatalf("got %q, want the other key while the first is being sent", q.Post().Key)
	}
	if none, err := b.Outbox().Next(ctx, 50*time.Millisecond); none != nil || err != nil {
		t.Fatalf("got %v, %v, want nothing while the key is being sent", none, err)
	}
	if err := p.Ack(ctx); err != nil {
		t.Fatal(err)
	}
	if err := q.Later(200 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	r := nextPost(t, b)
	if r.Post().Key != k || r.Post().Channel != "5" {
		t.Errorf("got %q %q, want what came while the former was sent", r.Post().Key, r.Post().Channel)
	}
	if err := r.Touch(); err != nil {
		t.Error(err)
	}
	if err := r.Ack(ctx); err != nil {
		t.Error(err)
	}
	s := nextPost(t, b)
	if s.Post().Key != other {
		t.Errorf("got %q, want the one put off", s.Post().Key)
	}
	if err := s.Ack(ctx); err != nil {
		t.Error(err)
	}
	if none, err := b.Outbox().Next(ctx, 50*time.Millisecond); none != nil || err != nil {
		t.Errorf("got %v, %v, want an empty outbox", none, err)
	}
}

func sentConforms(t *testing.T, a, b *jet.Jet) {
	ctx := within(t)
	k := key(t, "inc") + ".root"
	if _, _, err := a.SentLedger().Sent(ctx, k); !errors.Is(err, capture.ErrNotFound) {
		t.Fatalf("before: got %v, want ErrNotFound", err)
	}
	rev, err := a.SentLedger().PutSent(ctx, bot.Sent{Key: k, Channel: "C"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.SentLedger().PutSent(ctx, bot.Sent{Key: k}, 0); !errors.Is(err, capture.ErrConflict) {
		t.Errorf("second claim: got %v, want ErrConflict", err)
	}
	if _, err := b.SentLedger().PutSent(ctx, bot.Sent{Key: k, TS: "1.2"}, rev); err != nil {
		t.Fatal(err)
	}
	if s, _, err := a.SentLedger().Sent(ctx, k); err != nil || s.TS != "1.2" {
		t.Errorf("got %q, %v, want 1.2", s.TS, err)
	}
}

func leaseConforms(t *testing.T, a, b *jet.Jet) {
	ctx := within(t)
	name := key(t, "sender")
	l, err := a.Acquire(ctx, name, "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Acquire(ctx, name, "b"); !errors.Is(err, capture.ErrConflict) {
		t.Fatalf("second owner: got %v, want ErrConflict", err)
	}
	if err := l.Renew(ctx, "a"); err != nil {
		t.Fatalf("renew: %v", err)
	}
	// Not renewed any more: it runs out, although it was renewed (an update
	// without a time to live would have made it permanent).
	var m *jet.Lease
	until(t, "the lease ran out", func() bool { m, err = b.Acquire(ctx, name, "b"); return err == nil })
	if m.Fence <= l.Fence {
		t.Errorf("fence %d after %d, want it to grow", m.Fence, l.Fence)
	}
	if err := l.Renew(ctx, "a"); err == nil {
		t.Error("the former owner could renew")
	}
	if err := l.Release(ctx); err != nil {
		t.Errorf("release by the former owner: %v", err)
	}
	if _, err := a.Acquire(ctx, name, "a"); !errors.Is(err, capture.ErrConflict) {
		t.Errorf("a former owner's release freed it: %v", err)
	}
	if err := m.Release(ctx); err != nil {
		t.Fatal(err)
	}
	n, err := a.Acquire(ctx, name, "a")
	if err != nil {
		t.Fatalf("after release: %v, want it at once", err)
	}
	if err := n.Release(ctx); err != nil {
		t.Error(err)
	}
	// Holders take turns and never overlap.
	var inside, most, terms atomic.Int32
	hold, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for _, j := range []*jet.Jet{a, b} {
		wg.Go(func() {
			_ = j.Hold(hold, name, "x", func(ctx context.Context, _ uint64) error {
				most.Store(max(most.Load(), inside.Add(1)))
				defer inside.Add(-1)
				if terms.Add(1) < 4 {
					return errors.New("once more")
				}
				<-ctx.Done()
				return ctx.Err()
			})
		})
	}
	until(t, "four terms", func() bool { return terms.Load() >= 4 })
	stop()
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d held the lease at once, want 1", most.Load())
	}
}
