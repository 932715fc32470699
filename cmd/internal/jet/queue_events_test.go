package jet_test

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/cmd/internal/jet"
	"github.com/snapflame/snapflame/triggers"
)

func deadLettersConform(t *testing.T, a, b *jet.Jet) {
	ctx := within(t)
	d := triggers.DeadLetter{Subject: "workers.events." + key(t, "dead"), Sequence: 7, Reason: "no shape\r\nX: y", Data: []byte("not json"), At: time.Now()}
	for range 2 { // the same again is kept once
		if err := a.Dead().Bury(ctx, d); err != nil {
			t.Fatalf("bury: %v", err)
		}
	}
	large := d
	large.Data = bytes.Repeat([]byte("x"), int(a.MaxEvent()))
	if err := a.Dead().Bury(ctx, large); err != nil {
		t.Fatalf("bury a message as large as may be: %v", err)
	}
	list, err := b.Dead().List(ctx, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var mine []jet.Letter
	for _, l := range list {
		if l.Subject == d.Subject {
			mine = append(mine, l)
		}
	}
	if len(mine) != 2 || string(mine[0].Data) != "not json" || len(mine[1].Data) != len(large.Data) || mine[0].Reason != "no shape  X: y" {
		t.Fatalf("got %d letters %+v", len(mine), mine[0])
	}
	if err := b.Dead().Replay(ctx, mine[0].ID); err != nil {
		t.Fatalf("replay: %v", err)
	}
	if err := b.Dead().Replay(ctx, mine[0].ID); !errors.Is(err, capture.ErrNotFound) {
		t.Errorf("replay again: got %v, want ErrNotFound", err)
	}
	take(t, a, b, func(v triggers.Delivery) bool { return v.Subject() == d.Subject && string(v.Data()) == "not json" })
	if n, err := b.Dead().ReplayAll(ctx); err != nil || n < 1 {
		t.Errorf("replay all: got %d, %v", n, err)
	}
	take(t, a, b, func(v triggers.Delivery) bool { return v.Subject() == d.Subject && len(v.Data()) == len(large.Data) })
}

// take fetches from both replicas, acknowledging, until f is content.
func take(t *testing.T, a, b *jet.Jet, f func(triggers.Delivery) bool) {
	t.Helper()
	until(t, "the event came", func() bool {
		for _, j := range []*jet.Jet{a, b} {
			got, err := j.Source().Fetch(within(t), 100, 20*time.Millisecond)
			if err != nil {
				t.Fatalf("fetch: %v", err)
			}
			found := false
			for _, d := range got {
				found = f(d) || found
				if err := d.Ack(); err != nil && !errors.Is(err, jet.ErrUnavailable) {
					t.Errorf("ack: %v", err)
				}
			}
			if found {
				return true
			}
		}
		return false
	})
}

func eventsConform(t *testing.T, a, b *jet.Jet) {
	ctx := within(t)
	subject := "workers.events." + key(t, "w")
	const n = 500
	for i := range n {
		for range 1 + i%2 { // every second one twice, with one message id
			if err := a.Publish(ctx, subject, []byte(strconv.Itoa(i)), fmt.Sprint(subject, i)); err != nil {
				t.Fatalf("publish: %v", err)
			}
		}
	}
	seen := map[string]int{}
	take(t, a, b, func(d triggers.Delivery) bool {
		if d.Subject() == subject {
			seen[string(d.Data())]++
			if d.Sequence() == 0 || time.Since(d.Received()) > time.Minute {
				t.Errorf("sequence %d, received %s", d.Sequence(), d.Received())
			}
		}
		return len(seen) == n
	})
	for k, c := range seen {
		if c != 1 {
			t.Errorf("event %s came %d times, want once", k, c)
		}
	}
	if err := a.Publish(ctx, subject, make([]byte, a.MaxEvent()+1), ""); !errors.Is(err, jet.ErrTooLarge) {
		t.Errorf("too large: got %v, want ErrTooLarge", err)
	}
	if err := b.Events().PublishEvent(ctx, "a.b c*>", []byte("odd"), "odd"); err != nil {
		t.Errorf("publish for an odd script: %v", err)
	}
	retried := false
	take(t, a, b, func(d triggers.Delivery) bool {
		if string(d.Data()) != "odd" {
			return false
		}
		if d.Subject() != "workers.events.a_b_c__" {
			t.Errorf("subject %q", d.Subject())
		}
		if retried {
			return true
		}
		retried = true
		if err := d.Retry(time.Millisecond); err != nil {
			t.Errorf("retry: %v", err)
		}
		return false
	})
}
