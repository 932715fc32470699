package app

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/cmd/internal/jet"
	"github.com/snapflame/snapflame/triggers/ingest"
	"github.com/snapflame/snapflame/triggers/telemetry"
)

// progressKey is where the replicas share how far Workers Logs were polled.
const progressKey = "telemetry.progress"

// polling is the source of events for accounts without a Tail Worker.
type polling struct {
	a      *App
	polls  *prometheus.CounterVec
	events *prometheus.CounterVec

	mu   sync.Mutex
	last telemetry.Reason // of this replica's newest poll; empty: another polls
	err  error
}

// wirePoll polls Workers Logs when cloudflare.poll says so, in one replica at a
// time.
func (a *App) wirePoll() error {
	c := a.config().Cloudflare
	if c.Poll <= 0 {
		return nil
	}
	p := &polling{
		a: a,
		polls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snapflame_polls_total",
			Help: "Polls of Workers Logs by how they ended.",
		}, []string{"result"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snapflame_polled_events_total",
			Help: "Events that polls found: published, late (published as well), known from an earlier poll, or skipped.",
		}, []string{"result"}),
	}
	a.metrics.registry.MustRegister(p.polls, p.events)
	poller, err := telemetry.New(pollQueue{a.jet.Events()}, pollStore{a.jet.State()}, telemetry.Options{
		Account: telemetry.Account{ID: c.AccountID, Token: c.APIToken.Reveal(), BaseURL: c.BaseURL}, Every: c.Poll, Observe: p.observe,
	})
	if err != nil {
		return err
	}
	owner := strings.ToLower(rand.Text()[:10])
	a.polling = p
	a.layers.add(0, "polling", func(ctx context.Context) error {
		return a.jet.Hold(ctx, "telemetry-poller", owner, func(ctx context.Context, _ uint64) error {
			defer p.set("", nil)
			return poller.Run(ctx)
		})
	})
	return nil
}

// observe counts a poll, and says once when polls begin or cease to fail.
func (p *polling) observe(pass telemetry.Pass) {
	p.polls.WithLabelValues(string(pass.Reason)).Inc()
	for label, n := range map[string]int{"published": pass.Published, "late": pass.Late, "known": pass.Known, "skipped": pass.Skipped} {
		p.events.WithLabelValues(label).Add(float64(n))
	}
	log := p.a.log.With().Str("reason", string(pass.Reason)).Int("calls", pass.Calls).Int("published", pass.Published).Logger()
	if pass.Skipped > 0 || pass.Missed > 0 {
		log.Warn().Int("skipped", pass.Skipped).Dur("missed", pass.Missed).Msg("some events of Workers Logs were left out")
	}
	switch before := p.set(pass.Reason, pass.Err); {
	case before == pass.Reason:
		log.Debug().Err(pass.Err).Msg("polled Workers Logs")
	case pass.Reason != telemetry.ReasonDone:
		log.Warn().Err(pass.Err).Dur("wait", pass.Wait).Msg("workers logs cannot be polled; it is tried again")
	default:
		log.Info().Msg("polling Workers Logs")
	}
}

func (p *polling) set(r telemetry.Reason, err error) (before telemetry.Reason) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, p.last, p.err = p.last, r, err
	return before
}

// health is "ok", or why nothing is polled.
func (p *polling) health() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.last == "":
		return "ok" // another replica polls, or none has yet
	case p.err != nil:
		return p.err.Error()
	}
	return "ok"
}

// pollQueue is the events queue as the poller sees it.
type pollQueue struct{ e *jet.Events }

var _ telemetry.Publisher = pollQueue{}

// PublishEvent implements telemetry.Publisher.
func (q pollQueue) PublishEvent(ctx context.Context, script string, data []byte, id string) error {
	err := q.e.PublishEvent(ctx, script, data, id)
	if errors.Is(err, ingest.ErrTooLarge) {
		return errors.Join(telemetry.ErrTooLarge, err)
	}
	return err
}

// pollStore keeps the progress among the shared values.
type pollStore struct{ s *jet.State }

var _ telemetry.Store = pollStore{}

// Load implements telemetry.Store.
func (s pollStore) Load(ctx context.Context) (p telemetry.Progress, rev uint64, err error) {
	rev, err = s.s.Get(ctx, progressKey, &p)
	if errors.Is(err, capture.ErrNotFound) {
		return telemetry.Progress{}, 0, nil
	}
	return p, rev, err
}

// Save implements telemetry.Store.
func (s pollStore) Save(ctx context.Context, p telemetry.Progress, rev uint64) (uint64, error) {
	return s.s.Put(ctx, progressKey, p, rev)
}
