package app

import (
	"context"
	"errors"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/report"
)

// wireCaptures makes the runner: jobs in, stored profiles and news of them out.
func (a *App) wireCaptures(context.Context) error {
	var err error
	a.runner, err = capture.NewRunner(capture.Parts{
		Queue: a.jet.Jobs(), Records: a.jet.Records(), Ledger: a.jet.Ledger(), Profiles: a.jet.Profiles(), Rewrite: a.rewrite(),
		Observer: observer{a}, API: a.cf, Resolver: a.cf, Check: a.check,
	}, capture.Options{
		Limits: func() capture.Limits {
			c := a.config().Capture
			return capture.Limits{Spacing: c.Spacing, PerHour: c.PerHour, Concurrency: c.Concurrency}
		},
		Paused: func(ctx context.Context) bool {
			_, paused := a.pauses.Paused(ctx, time.Now())
			return paused
		},
		Drain:   a.config().Grace,
		Problem: func(err error) { a.log.Warn().Err(err).Msg("captures") },
	})
	if err != nil {
		return err
	}
	a.layers.add(1, "captures", a.runner.Run)
	a.layers.add(2, "upkeep", a.upkeep)
	a.layers.add(1, "baselines", a.baselines)
	return nil
}

// check reads a profile as the report will, before it is stored: a 0-byte or
// unparsable answer is a failure and leaves nothing behind.
func (a *App) check(t capture.Type, data []byte) error {
	began := time.Now()
	rep, err := report.Analyse(data, report.Options{})
	if err != nil {
		return err
	}
	a.metrics.measured("check", time.Since(began))
	if string(rep.Type) != string(t) {
		return errors.New("the profile is of type " + string(rep.Type) + ", asked for was " + string(t))
	}
	return nil
}

// observer counts what the desk is told.
type observer struct{ a *App }

var _ capture.Observer = observer{}

// CaptureChanged implements capture.Observer.
func (o observer) CaptureChanged(ctx context.Context, r capture.Record) error {
	m := o.a.metrics
	switch r.State {
	case capture.Stored:
		m.captures.WithLabelValues(string(r.Type), "stored").Inc()
	case capture.Failed:
		kind := string(capture.FailUnknown)
		if r.Failure != nil {
			kind = string(r.Failure.Kind)
		}
		m.captures.WithLabelValues(string(r.Type), kind).Inc()
	case capture.Waiting:
		m.waits.WithLabelValues(string(r.WaitFor)).Inc()
	case capture.Started:
		if r.Attempts == 1 && r.Cause == capture.CauseIncident {
			m.toCapture.Observe(r.StartedAt.Sub(r.QueuedAt).Seconds())
		}
	case capture.Queued:
	}
	if r.Cause == capture.CauseBaseline && r.IncidentID == "" {
		return nil
	}
	return o.a.desk.CaptureChanged(ctx, r)
}

// rewrite keeps only function names, files, lines and figures of a profile, when
// that is configured; nil keeps the bytes as they came.
func (a *App) rewrite() func([]byte) ([]byte, error) {
	if a.config().Retention.Redact {
		return capture.Redact
	}
	return nil
}
