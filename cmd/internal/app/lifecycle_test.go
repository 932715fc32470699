package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

func TestLayersStopInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var stopped []string
		l := layers{log: zerolog.Nop()}
		for layer, name := range []string{"web", "captures", "slack"} {
			l.add(layer, name, func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(time.Duration(10-layer) * time.Second) // the first takes longest
				mu.Lock()
				stopped = append(stopped, name)
				mu.Unlock()
				return nil
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.run(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("got %v", err)
		}
		if !slices.Equal(stopped, []string{"web", "captures", "slack"}) {
			t.Errorf("stopped %v", stopped)
		}
	})
}

func TestAPartThatFailsStopsTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := layers{log: zerolog.Nop()}
		closed := false
		l.add(0, "bad", func(context.Context) error { time.Sleep(time.Second); return errors.New("broken") })
		l.add(1, "good", func(ctx context.Context) error { <-ctx.Done(); closed = true; return ctx.Err() })
		err := l.run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "bad: stopped by itself") || !strings.Contains(err.Error(), "broken") || !closed {
			t.Errorf("got %v, closed %v", err, closed)
		}
	})
}

func TestForeverStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts := 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := forever(zerolog.Nop(), "watch", func(context.Context) error { starts++; return errors.New("gone") })(ctx)
		if err != nil || starts < 300 || starts > 400 {
			t.Errorf("got %v after %d starts, want a start every ten seconds", err, starts)
		}
	})
}

func TestLRU(t *testing.T) {
	l := newLRU[string, int](2)
	made := 0
	get := func(k string, err error) int {
		v, _ := l.get(k, func() (int, error) { made++; return made, err })
		return v
	}
	get("a", nil)
	get("a", nil)
	get("b", nil)
	get("c", nil) // a goes
	if get("a", nil); made != 4 {
		t.Errorf("made %d, want 4", made)
	}
	get("x", errors.New("no"))
	get("x", nil)
	if made != 6 {
		t.Errorf("an error was kept: made %d, want 6", made)
	}
}
