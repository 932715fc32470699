package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/api"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/capture/cloudflare"
	"github.com/snapflame/snapflame/cmd/internal/jet"
)

// person is what people ask for: captures by hand, names of Workers, how the
// service does.
type person struct {
	a      *App
	desk   *bot.Desk
	cf     *cloudflare.Client
	ledger *jet.Ledger

	mu   sync.Mutex
	gone error // Cloudflare's API, since its last answer
}

var (
	_ api.Starter  = (*person)(nil)
	_ bot.Workers  = (*person)(nil)
	_ bot.Statuses = (*person)(nil)
)

// StartCapture implements api.Starter: the same path as a Slack command.
func (p *person) StartCapture(ctx context.Context, s api.Start, by string) (api.Started, error) {
	asked, err := p.asked(s, by)
	if err != nil {
		return api.Started{}, err
	}
	if pause, paused := p.a.pauses.Paused(ctx, time.Now()); paused {
		return api.Started{}, fmt.Errorf("%w: %s", api.ErrRefused, pause.Sentence(time.Now()))
	}
	c, id, err := p.desk.Ask(ctx, asked)
	if refusal, ok := errors.AsType[*bot.Refusal](err); ok {
		if refusal.Reason == bot.RefusedBusy {
			return api.Started{}, fmt.Errorf("%w: %s", capture.ErrTargetBusy, refusal.Sentence)
		}
		return api.Started{}, fmt.Errorf("%w: %s", api.ErrRefused, refusal.Sentence)
	}
	if err != nil {
		return api.Started{}, err
	}
	return api.Started{Capture: id, Incident: c.ID, State: string(capture.Queued)}, nil
}

func (p *person) asked(s api.Start, by string) (bot.Asked, error) {
	refuse := func(format string, args ...any) (bot.Asked, error) {
		return bot.Asked{}, fmt.Errorf("%w: %s", api.ErrRefused, fmt.Sprintf(format, args...))
	}
	a := bot.Asked{
		Target: capture.Target{Kind: capture.Worker, Script: s.Worker, VersionID: s.Version}, OnlyVersion: s.Version != "", Type: capture.Type(s.Type),
		Duration: p.a.config().Capture.Duration, RequestedBy: "api:" + by, Channel: p.a.config().Slack.Channel,
	}
	if s.Worker == "" {
		return refuse("worker is missing")
	}
	switch a.Type {
	case "":
		a.Type = capture.CPU
	case capture.CPU, capture.Heap:
	default:
		return refuse("type %q is neither cpu nor heap", s.Type)
	}
	if s.Duration != "" {
		d, err := time.ParseDuration(s.Duration)
		if err != nil || d < capture.MinDuration || d > capture.MaxDuration {
			return refuse("duration %q is not 1s to 50s, which is what Cloudflare takes", s.Duration)
		}
		a.Duration = d
	}
	if s.ObjectID != "" {
		id := strings.ToLower(s.ObjectID)
		if len(id) != 64 || strings.Trim(id, "0123456789abcdef") != "" {
			return refuse("object_id is not 64 hexadecimal digits")
		}
		a.Target.Kind, a.Target.ObjectID, a.Target.Class, a.Target.NamespaceID = capture.DurableObject, id, s.Class, s.Namespace
	} else if s.Namespace != "" {
		return refuse("namespace_id goes with object_id")
	}
	return a, nil
}

// askAgain is how old the list of Workers may be when a name is not in it: a
// person who types must not become a request per letter.
const askAgain = time.Second

func matching(list []cloudflare.Worker, query string) []string {
	query = strings.ToLower(query)
	var names []string
	for _, w := range list {
		if strings.Contains(strings.ToLower(w.Name), query) {
			names = append(names, w.Name)
		}
	}
	return names
}

// Workers implements bot.Workers: those with recent captures first.
func (p *person) Workers(ctx context.Context, query string, limit int) ([]string, bool, error) {
	list, err := p.cf.Workers(ctx)
	if err != nil {
		p.unreachable(err)
		return nil, false, err
	}
	p.reached()
	recent := map[string]time.Time{}
	if records, err := p.a.reader.records.RecordsList(ctx, time.Time{}, 200); err == nil {
		for _, r := range slices.Backward(records) {
			recent[r.Resolved.Script], recent[r.Target.Script] = r.QueuedAt, r.QueuedAt
		}
	}
	names := matching(list, query)
	if len(names) == 0 && query != "" {
		if list, err = p.cf.WorkersWithin(ctx, askAgain); err == nil {
			names = matching(list, query)
		}
	}
	slices.SortStableFunc(names, func(x, y string) int {
		if d := recent[y].Compare(recent[x]); d != 0 {
			return d
		}
		return strings.Compare(x, y)
	})
	return names[:min(limit, len(names))], len(names) <= limit, nil
}

// Status implements bot.Statuses.
func (p *person) Status(ctx context.Context) (bot.Status, error) {
	c := p.a.config()
	s := bot.Status{PerHour: c.Capture.PerHour}
	records, err := p.a.reader.records.RecordsList(ctx, time.Time{}, 500)
	if err != nil {
		return s, err
	}
	for _, r := range slices.Backward(records) {
		switch r.State {
		case capture.Started:
			s.Running = append(s.Running, r)
		case capture.Queued, capture.Waiting:
			s.Waiting = append(s.Waiting, r)
		case capture.Stored, capture.Failed:
		}
	}
	slices.SortStableFunc(s.Waiting, func(x, y capture.Record) int { return x.Priority - y.Priority })
	b, err := p.ledger.Budget(ctx)
	if err != nil {
		return s, err
	}
	now := time.Now()
	for _, at := range b.Starts {
		if now.Sub(at) < time.Hour {
			s.UsedHour++
		}
	}
	cloudflare := p.health()
	switch {
	case !b.BlockedUntil.After(now):
	case b.BlockedFor == capture.WaitRateLimit:
		s.BlockedUntil = b.BlockedUntil
	default:
		cloudflare = strings.TrimPrefix(b.BlockedFor.Words(), "Cloudflare ") + "; captures wait until " + b.BlockedUntil.UTC().Format("15:04:05") + " UTC"
	}
	s.Health = append(s.Health, health("NATS", p.a.jet.Health(ctx)), check("Slack", p.a.slack.health()), check("Cloudflare", cloudflare))
	return s, nil
}

func health(name string, err error) bot.Check {
	if err != nil {
		return bot.Check{Name: name, Text: err.Error()}
	}
	return bot.Check{Name: name, OK: true, Text: "ok"}
}

func check(name, text string) bot.Check { return bot.Check{Name: name, OK: text == "ok", Text: text} }

func (p *person) unreachable(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone == nil {
		p.a.log.Warn().Err(err).Msg("cloudflare does not answer; incidents wait")
	}
	p.gone = err
}

func (p *person) reached() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = nil
}

// health is "ok", or what is wrong with Cloudflare's API.
func (p *person) health() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone != nil {
		return p.gone.Error()
	}
	return "ok"
}
