package app

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
)

const (
	// considerEvery is how often it is considered whether a quiet capture is due.
	considerEvery = time.Minute
	// baselineObjects is how many of the hottest objects are considered.
	baselineObjects = 50
	// baselinePast is how many records back a target counts as known.
	baselinePast = 1000
)

// baselines captures what is normal while it is quiet, so that an incident can
// say what changed. One replica at a time considers it; the job's ID makes two
// harmless.
func (a *App) baselines(ctx context.Context) error {
	t := time.NewTicker(a.consider)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		if err := a.baseline(ctx, time.Now()); err != nil && ctx.Err() == nil {
			a.log.Warn().Err(err).Msg("no baseline this time")
		}
	}
}

// baseline submits the one quiet capture that is most worth taking, if any.
func (a *App) baseline(ctx context.Context, now time.Time) error {
	c := a.config()
	state, err := a.baselineState(ctx, now)
	if err != nil {
		return err
	}
	job, why := capture.BaselinePlan(state, capture.BaselineRules{
		Enabled: c.Baseline.Enabled && c.Capture.Enabled, Every: c.Baseline.Every, Duration: c.Capture.Duration, Wanted: a.wantsBaseline,
	}, now)
	if why != "" {
		a.log.Debug().Str("reason", string(why)).Msg("no baseline")
		return nil
	}
	err = a.jet.Jobs().Submit(ctx, job)
	if errors.Is(err, capture.ErrTargetBusy) {
		return nil
	}
	if err == nil {
		a.log.Info().Str("capture", job.ID).Str("type", string(job.Type)).Str("script", job.Target.Script).Msg("baseline queued")
	}
	return err
}

func (a *App) baselineState(ctx context.Context, now time.Time) (capture.BaselineState, error) {
	s := capture.BaselineState{
		Trouble: map[string]time.Time{},
		Limits:  capture.Limits{Spacing: a.config().Capture.Spacing, PerHour: a.config().Capture.PerHour, Concurrency: a.config().Capture.Concurrency},
	}
	var err error
	if s.Budget, err = a.jet.Ledger().Budget(ctx); err != nil {
		return s, err
	}
	if s.Past, err = a.jet.Records().RecordsList(ctx, time.Time{}, baselinePast); err != nil {
		return s, err
	}
	rows, _, _, err := a.reader.ListCases(ctx, bot.CaseQuery{Since: now.Add(-time.Hour), Limit: 200})
	if err != nil {
		return s, err
	}
	for _, r := range rows {
		at := r.LastAt
		if r.State == bot.Open && r.Class != bot.ClassRequested {
			at = now.Add(time.Hour)
		}
		for _, script := range []string{r.Script, r.Target.Script} {
			if at.After(s.Trouble[script]) {
				s.Trouble[script] = at
			}
		}
	}
	known := map[string]bool{}
	seen := func(t capture.Target) {
		if t.Kind != capture.Worker || known[t.Script] {
			return
		}
		known[t.Script] = true
		s.Seen = append(s.Seen, capture.Seen{Target: capture.Target{Kind: capture.Worker, Script: t.Script, DispatchNamespace: t.DispatchNamespace}, At: now, Versions: a.versions(ctx, t.Script)})
	}
	for _, r := range s.Past {
		if !r.Final() && r.Cause != capture.CauseBaseline {
			s.Waiting++
		}
		seen(r.Resolved)
	}
	for _, script := range named(a.config().Baseline.Workers) {
		seen(capture.Target{Kind: capture.Worker, Script: script})
	}
	for _, l := range a.trigger.index.Hottest("", baselineObjects) {
		if t, ok := bot.CaptureTarget(l.Target); ok {
			s.Seen = append(s.Seen, capture.Seen{Target: t, At: now})
		}
	}
	return s, nil
}

// named are the globs that are the name of one Worker. Who names a Worker wants
// to know what is normal for it before its first incident; whom a pattern means
// is only known once there was one.
func named(globs []string) []string {
	var out []string
	for _, g := range globs {
		if g != "" && !strings.ContainsAny(g, `*?[\`) {
			out = append(out, g)
		}
	}
	return out
}

// versions are the deployed versions of a Worker with when they went live; nil
// when Cloudflare does not say.
func (a *App) versions(ctx context.Context, script string) map[string]time.Time {
	list, err := a.reader.Deployments(ctx, script)
	if err != nil || len(list) == 0 {
		return nil
	}
	out := map[string]time.Time{}
	for _, d := range list {
		if d.At.Equal(list[0].At) && d.Percent > 0 { // the newest deployment is the one that serves
			out[d.Version] = d.At
		}
	}
	return out
}

func (a *App) wantsBaseline(t capture.Target) bool {
	c := a.config().Baseline
	if t.Kind == capture.DurableObject {
		return matchesAny(c.Objects, t.Script+"/"+t.Class)
	}
	return matchesAny(c.Workers, t.Script)
}

func matchesAny(globs []string, name string) bool {
	for _, g := range globs {
		if ok, err := path.Match(g, name); ok && err == nil || g == "*" {
			return true
		}
	}
	return false
}
