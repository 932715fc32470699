package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snapflame/snapflame/capture"
)

// lastSeen is the newest incident of a target.
type lastSeen struct {
	Incident string    `json:"incident"`
	At       time.Time `json:"at"`
}

func lastKey(target string) string { return lastPrefix + target }

// previous is only a link: an incident opens without it when the state fails.
func (d *Desk) previous(ctx context.Context, target string) string {
	if d.o.State == nil {
		return ""
	}
	var last lastSeen
	if _, err := d.o.State.Get(ctx, lastKey(target), &last); err != nil {
		return ""
	}
	return last.Incident
}

// remember makes the case its target's newest. Somebody else's newer case wins.
func (d *Desk) remember(ctx context.Context, c Case) error {
	key := lastKey(c.Target.Key())
	var last lastSeen
	rev, err := d.o.State.Get(ctx, key, &last)
	if err != nil && !errors.Is(err, capture.ErrNotFound) {
		return fmt.Errorf("remember incident %s: %w", c.ID, err)
	}
	if last.Incident == c.ID || last.At.After(c.OpenedAt) {
		return nil
	}
	_, err = d.o.State.Put(ctx, key, lastSeen{Incident: c.ID, At: c.OpenedAt}, rev)
	if err != nil {
		return fmt.Errorf("remember incident %s: %w", c.ID, err)
	}
	return nil
}

// lastKept is how long a target's newest incident is remembered: older ones are
// history, and there may be many targets.
const (
	lastKept   = 30 * 24 * time.Hour
	lastPrefix = "last."
)

// forgetOld forgets, once a day, which incident old targets had.
func (d *Desk) forgetOld(ctx context.Context) {
	if d.o.State == nil {
		return
	}
	tick := time.NewTicker(24 * time.Hour)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := d.ForgetBefore(ctx, d.o.Now().Add(-lastKept)); err != nil {
			d.o.Log.Warn().Err(err).Msg("old targets are forgotten tomorrow")
		}
	}
}

// ForgetBefore forgets the newest incident of targets that had none since t.
func (d *Desk) ForgetBefore(ctx context.Context, t time.Time) error {
	keys, err := d.o.State.Keys(ctx, lastPrefix)
	if err != nil {
		return fmt.Errorf("list targets: %w", err)
	}
	for _, key := range keys {
		var last lastSeen
		_, err := d.o.State.Get(ctx, key, &last)
		if errors.Is(err, capture.ErrNotFound) || err == nil && last.At.After(t) {
			continue
		}
		if err == nil {
			err = d.o.State.Delete(ctx, key)
		}
		if err != nil {
			return fmt.Errorf("forget %s: %w", key, err)
		}
	}
	return nil
}
