package app

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/cmd/internal/conf"
)

// upkeepEvery is how often what is too old, too many or too large is deleted.
const upkeepEvery = 10 * time.Minute

// upkeep keeps the store within its retention. Any replica may do it: deleting
// twice is harmless.
func (a *App) upkeep(ctx context.Context) error {
	t := time.NewTicker(upkeepEvery)
	defer t.Stop()
	for {
		if err := a.retain(ctx, time.Now()); err != nil && ctx.Err() == nil {
			a.log.Warn().Err(err).Msg("retention is tried again later")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

// retain deletes captures and closed incidents beyond the retention.
func (a *App) retain(ctx context.Context, now time.Time) error {
	r := a.config().Retention
	keep := capture.Retention{Age: time.Duration(r.Age), Count: r.Count, Bytes: int64(r.Bytes)}
	var all []capture.Record
	var before time.Time
	for {
		page, err := a.jet.Records().RecordsList(ctx, before, 500)
		if err != nil {
			return err
		}
		all = append(all, page...)
		if len(page) < 500 {
			break
		}
		before = page[len(page)-1].QueuedAt
	}
	var errs []error
	gone := capture.Expired(all, keep, now)
	for _, rec := range gone {
		errs = append(errs, a.jet.Profiles().DeleteProfile(ctx, rec.ID))
		for _, name := range []string{rec.ID + ".png", rec.ID + ".html"} {
			errs = append(errs, a.jet.Profiles().DeleteFile(ctx, name))
		}
		errs = append(errs, a.jet.Records().DeleteRecord(ctx, rec.ID))
	}
	if len(gone) > 0 {
		a.log.Info().Int("captures", len(gone)).Msg("deleted by retention")
	}
	cases, err := a.jet.Cases().DeleteClosed(ctx, now.Add(-time.Duration(r.Age)))
	errs = append(errs, err)
	for _, id := range cases {
		a.reader.catalog.Forget(id)
	}
	return errors.Join(errs...)
}

// Reload reads the configuration again and takes over what can change while
// the service runs. A bad file changes nothing.
func (a *App) Reload() error {
	if a.reread == nil {
		return errors.New("this process has no configuration to read again")
	}
	next, err := a.reread()
	if err != nil {
		return err
	}
	merged, restart := a.config().Reload(next)
	rules, err := compile(merged)
	if err != nil {
		return err
	}
	a.apply(merged)
	a.trigger.setRules(rules)
	if len(restart) > 0 {
		a.log.Warn().Strs("keys", restart).Msg("these keys need a restart to take effect")
	}
	a.log.Info().Msg("configuration reloaded")
	return nil
}

func (a *App) apply(c *conf.Config) {
	a.conf.Store(c)
	if l, err := zerolog.ParseLevel(c.Log.Level); err == nil && a.level != nil {
		a.level(l)
	}
}
