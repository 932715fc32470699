package bot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

// Retries of effects that could not be done: soon at first, for a hiccup, then
// slower, for an outage.
const (
	// grace is how long a desk leaves another one's fresh effects alone: they are
	// being done right now. A desk that died is found after this.
	grace    = 2 * time.Second
	retryMin = 500 * time.Millisecond
	retryMax = 10 * time.Second
)

// Run watches the open cases and does what falls due, until ctx ends. It
// returns nil then, and an error only when the watch itself cannot go on.
func (d *Desk) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var watchErr error
	var wg sync.WaitGroup
	wg.Go(func() { d.forgetOld(ctx) })
	wg.Go(func() {
		defer cancel()
		watchErr = d.cases.WatchOpen(ctx, d.Saw, func() { d.once.Do(func() { close(d.loaded) }) })
	})
	defer wg.Wait()
	for {
		timer := time.NewTimer(d.untilNext())
		select {
		case <-ctx.Done():
			timer.Stop()
			wg.Wait()
			if watchErr != nil && !errors.Is(watchErr, context.Canceled) {
				return fmt.Errorf("watch the open incidents: %w", watchErr)
			}
			return nil
		case <-d.wake:
			timer.Stop()
		case <-timer.C:
		}
		d.Sweep(ctx)
	}
}

// Saw takes in one revision of an open case, or that it is archived.
func (d *Desk) Saw(c Case, rev uint64, closed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if closed {
		d.due.forget(c.Key)
		return
	}
	w := d.due.find(c.Key)
	if rev < w.rev {
		return
	}
	w.rev, w.id, w.surely, w.counted = rev, c.ID, c.surelyOpenUntil(), c.Counted
	at := c.Due()
	if len(c.Pending) > 0 || c.State == Closed {
		if soon := d.o.Now().Add(max(grace, w.backoff)); at.IsZero() || soon.Before(at) {
			at = soon
		}
	} else {
		w.backoff = 0
	}
	d.due.set(w, at)
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// known is the open case of the key, when that is certain without reading it:
// a storm's joins then cost no look into the store.
func (d *Desk) known(key string, now time.Time) (id string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w, ok := d.due.index[key]
	if !ok || !now.Before(w.surely) {
		return "", false
	}
	return w.id, true
}

// Loaded is closed when the desk has seen every case that was open when it
// began: from then on Counted is as good as it gets.
func (d *Desk) Loaded() <-chan struct{} { return d.loaded }

// Counted implements triggers.Sink, from the newest revision that was seen. What
// another desk counts is there long before its messages come again.
func (d *Desk) Counted(key string) triggers.Counted {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w, ok := d.due.index[key]; ok {
		return w.counted
	}
	return triggers.Counted{}
}

// noteCounted is for a case that was read and is newer than the watch, or closed.
func (d *Desk) noteCounted(c Case) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.due.find(c.Key).counted = c.Counted
}

// idle is how long a desk without a deadline sleeps.
const idle = time.Hour

func (d *Desk) untilNext() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, ok := d.due.next()
	if !ok {
		return idle
	}
	return max(0, min(idle, at.Sub(d.o.Now())))
}

// Sweep does all that is due now. Run calls it; it is exported so that a test
// or a command can drive a desk without its timers.
func (d *Desk) Sweep(ctx context.Context) {
	now := d.o.Now()
	var due []string
	d.mu.Lock()
	for {
		at, ok := d.due.next()
		if !ok || at.After(now) {
			break
		}
		w := d.due.first()
		due = append(due, w.key)
		// Until the watch tells of what this changes, look again later.
		w.backoff = min(max(2*w.backoff, retryMin), retryMax)
		d.due.set(w, now.Add(w.backoff))
	}
	d.mu.Unlock()
	var wg sync.WaitGroup
	free := make(chan struct{}, d.o.AtOnce)
	for _, key := range due {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			if err := d.act(ctx, key); err != nil && ctx.Err() == nil {
				d.o.Log.Warn().Err(err).Str("key", key).Msg("incident waits for a retry")
			}
		})
	}
	wg.Wait()
}

// act does what one case wants now.
func (d *Desk) act(ctx context.Context, key string) error {
	c, rev, err := d.cases.OpenCase(ctx, key)
	if errors.Is(err, capture.ErrNotFound) {
		d.mu.Lock()
		d.due.forget(key)
		d.mu.Unlock()
		return nil
	}
	if err != nil {
		return err
	}
	if next, changed := c.Tick(d.policy(), d.o.Now()); changed {
		newRev, err := d.cases.PutCase(ctx, next, rev)
		if errors.Is(err, capture.ErrConflict) {
			return nil // another desk was first; the watch tells what it did
		}
		if err != nil {
			return err
		}
		c, rev = next, newRev
	}
	if len(c.Pending) > 0 {
		return d.perform(ctx, c, rev)
	}
	if c.State == Closed {
		return d.archive(ctx, c, rev)
	}
	d.Saw(c, rev, false) // it was not due after all: its deadline has moved
	return nil
}
