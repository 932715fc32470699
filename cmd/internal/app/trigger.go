package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/api"
	"github.com/snapflame/snapflame/bot/pages"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/cmd/internal/conf"
	"github.com/snapflame/snapflame/triggers"
)

// keptDecisions is how many recent decisions each replica remembers for
// "why?", of those that acted and of those that ignored.
const keptDecisions = 2000

// trigger is the listener with its index and memory, and answers from them.
type trigger struct {
	listener *triggers.Listener
	rules    atomic.Pointer[triggers.Rules]
	index    *triggers.Index
	recent   *triggers.Recent
	window   time.Duration
	reader   *reader
}

var (
	_ api.Objects   = (*trigger)(nil)
	_ api.Decisions = (*trigger)(nil)
	_ pages.Objects = (*trigger)(nil)
	_ bot.Objects   = (*trigger)(nil)
	_ bot.Decisions = (*trigger)(nil)
)

func (a *App) wireTriggers(context.Context) error {
	c := a.config()
	rules, err := compile(c)
	if err != nil {
		return err
	}
	t := &trigger{index: triggers.NewIndex(time.Now), recent: triggers.NewRecent(keptDecisions), reader: a.reader}
	t.window = t.index.Window()
	t.rules.Store(rules)
	sink := &boundSink{
		next: a.desk, index: t.index, bindings: a.cf.Bindings, rules: t.rules.Load, silences: a.silences.Active, now: time.Now,
		trouble: func(err error) { a.log.Warn().Err(err).Msg("what a caller binds is not known") },
	}
	t.listener, err = triggers.NewListener(a.jet.Source(), sink, a.jet.Dead(), triggers.Options{
		Rules: rules, Index: t.index, Recent: t.recent, Silences: a.silences.Active,
		Observe: func(cl triggers.Class, act triggers.Action, n int64) {
			a.metrics.events.WithLabelValues(classLabel(cl), string(act)).Add(float64(n))
		},
		Buried: func(r triggers.DecodeReason) { a.metrics.deadLetters.WithLabelValues(string(r)).Inc() },
		Lag:    func(d time.Duration) { a.metrics.queueLag.Observe(d.Seconds()) },
		Trouble: func(err error) {
			a.log.Warn().Err(err).Msg("events are tried again")
		},
	})
	if err != nil {
		return err
	}
	a.trigger = t
	a.layers.add(0, "triggers", a.keyed(func(ctx context.Context) error {
		// What the open incidents have counted keeps a message that comes again
		// after a crash from counting twice.
		select {
		case <-a.desk.Loaded():
			return t.listener.Run(ctx)
		case <-ctx.Done():
			return nil
		}
	}))
	a.layers.add(2, "bindings", a.bindings)
	return a.wirePoll()
}

// setRules replaces the rules from the next batch on.
func (t *trigger) setRules(r *triggers.Rules) {
	t.rules.Store(r)
	t.listener.SetRules(r)
}

// compile turns configured rules into the ones that decide. The configuration
// was checked when it was loaded, so an error here is a rule that contradicts
// itself.
func compile(c *conf.Config) (*triggers.Rules, error) {
	var rules []triggers.Rule
	for _, r := range c.Rules {
		rules = append(rules, triggers.Rule{
			Name: r.Name, Profile: triggers.ProfileType(r.Profile), Duration: r.Duration, Repeat: r.Repeat,
			Channel: r.Channel, Mention: r.Mention, Quiet: r.Quiet, Ignore: r.Ignore,
			Match: triggers.Match{
				Class: triggers.Class(r.Match.Class), Subclass: triggers.Subclass(r.Match.Subclass), Script: r.Match.Script,
				Environment: r.Match.Environment, Entrypoint: r.Match.Entrypoint, Text: r.Match.Text,
				Count: r.Match.Count, Window: r.Match.Window, ReturnedAfter: r.Match.ReturnedAfter,
			},
		})
	}
	out, err := triggers.CompileRules(rules, triggers.Defaults{Duration: c.Capture.Duration, Quiet: c.Incident.Quiet})
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return out, nil
}

// bindings tells the index which namespaces there are and whose they are: a
// caller without load lines of its own can only mean an object of its account.
func (a *App) bindings(ctx context.Context) error {
	for wait := time.Duration(0); ; {
		err := a.cf.Warm(ctx)
		if err != nil && ctx.Err() == nil {
			a.person.unreachable(err)
		}
		wait = nextWarm(wait, err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// nextWarm is how long after the last wait and its outcome the lists are asked
// for again. After a failure that is sooner, but never before Cloudflare lets
// anybody in: within the block of its global limit every request is refused.
func nextWarm(last time.Duration, err error) time.Duration {
	const usual = 10 * time.Minute
	if err == nil {
		return usual
	}
	wait := min(max(2*last, time.Second), usual)
	if f, ok := errors.AsType[*capture.Failure](err); ok {
		wait = max(wait, f.RetryAfter)
	}
	return wait
}

// Objects lists the hottest Durable Objects, with what is known of each.
func (t *trigger) Objects(ctx context.Context, script string, limit int) (bot.ObjectList, error) {
	list := bot.ObjectList{Window: t.window.String()}
	incidents, captures := t.about(ctx)
	for _, l := range t.index.Hottest(script, limit) {
		seconds := t.window.Seconds()
		if known := time.Since(l.Since).Seconds(); !l.Since.IsZero() && known < seconds {
			seconds = max(known, 1)
		}
		row := bot.ObjectRow{
			Script: l.Target.Script, Entrypoint: l.Target.Entrypoint, ObjectID: l.Target.ObjectID,
			Requests: int64(l.Requests * seconds), Errors: int64(l.Errors*seconds) + l.Overloads,
			CPUMS: int64(l.CPU * seconds * 1000), WallMS: int64(l.Wall * seconds * 1000), ErrorBound: int64(l.CPUError * seconds * 1000),
			LastSeen: l.LastSeen, LastError: l.LastOverload, Incident: incidents[l.Target.Key()], LastCapture: captures[l.Target.Key()],
		}
		row.QueuedMS = max(0, row.WallMS-row.CPUMS)
		if list.Since.IsZero() || !l.Since.IsZero() && l.Since.Before(list.Since) {
			list.Since = l.Since
		}
		list.Objects = append(list.Objects, row)
	}
	return list, nil
}

// about finds the open incident and the newest capture of each target.
func (t *trigger) about(ctx context.Context) (incidents, captures map[string]string) {
	incidents, captures = map[string]string{}, map[string]string{}
	rows, _, _, err := t.reader.ListCases(ctx, bot.CaseQuery{State: bot.Open, Limit: 200})
	if err == nil {
		for _, r := range slices.Backward(rows) {
			incidents[r.Target.Key()] = r.ID
		}
	}
	records, err := t.reader.records.RecordsList(ctx, time.Time{}, 500)
	if err == nil {
		for _, r := range slices.Backward(records) {
			if r.State == capture.Stored {
				captures[r.Target.Key()] = r.ID
			}
		}
	}
	return incidents, captures
}

// Decisions lists what was decided lately, newest first; an empty script is all.
func (t *trigger) Decisions(_ context.Context, script string, limit int) ([]bot.DecisionRow, error) {
	var keep func(triggers.Decision) bool
	if script != "" {
		keep = func(d triggers.Decision) bool { return d.Event.Script == script || d.Target.Script == script }
	}
	var out []bot.DecisionRow
	for _, p := range t.recent.List(limit, keep) {
		d := p.Decision
		row := bot.DecisionRow{At: p.At, Incident: d.IncidentID, Class: d.Class, Decision: d.Action, Script: d.Event.Script, Rule: d.Rule, Reason: d.Sentence, Code: d.Reason}
		if d.Target.Kind != "" {
			row.Target = &d.Target
		}
		out = append(out, row)
	}
	return out, nil
}
