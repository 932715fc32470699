package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/access"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/cmd/internal/conf"
	"github.com/snapflame/snapflame/triggers"
)

// wireDesk makes what turns decisions into cases, and the links they carry.
func (a *App) wireDesk(ctx context.Context) error {
	c := a.config()
	a.gate = access.New(access.Options{Token: c.API.Token.Reveal(), PublicURL: c.PublicURL, Life: time.Duration(c.API.LinkTTL)})
	a.silences = bot.NewSilences(a.jet.State())
	a.pauses = bot.NewSwitch(a.jet.State(), func() bool { return a.config().Capture.Enabled })
	texts, err := bot.ParseTemplates(c.Slack.Texts.Sources())
	if err != nil {
		return fmt.Errorf("configuration: slack.texts: %w", err)
	}
	a.writer = bot.Writer{Links: links{a.gate}, Command: c.Slack.Command, Templates: texts}
	a.desk = bot.NewDesk(a.jet.Cases(), a.jet.Jobs(), a.jet.Outbox(), bot.DeskOptions{
		NewID: newID, Writer: a.writer, State: a.jet.State(), Analyst: a.analyst, Plan: bot.FollowUps(c.Capture.Spacing),
		Current: a.current, Silences: a.silences, Log: a.log,
	})
	a.layers.add(1, "desk", a.keyed(forever(a.log, "desk", a.desk.Run)))
	if a.jet.Embedded() {
		return a.readKey(ctx) // what goes wrong here needs a person
	}
	a.layers.add(2, "link key", func(ctx context.Context) error {
		for a.readKey(ctx) != nil && ctx.Err() == nil { // health says why
			pauseFor(ctx, time.Second)
		}
		<-ctx.Done()
		return nil
	})
	return nil
}

// readKey gives the gate its key.
func (a *App) readKey(ctx context.Context) error {
	key, err := linkKey(ctx, a.jet.State())
	if err == nil {
		a.gate.SetKey(key)
		close(a.key)
	}
	return err
}

// keyed starts a part once links can be signed: an external server may be away
// at the start, and what is written before it answers would have no links.
func (a *App) keyed(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-a.key:
			return run(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

func pauseFor(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// newID is a name for an incident: [a-z0-9], unguessable, short enough to type.
func newID() string { return strings.ToLower(rand.Text()[:12]) }

// linkKeyName is where the replicas share the key that signs links.
const linkKeyName = "link-key"

// linkKey reads the shared key, or makes it: the first replica to write wins.
func linkKey(ctx context.Context, s bot.State) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for range 3 {
		var key []byte
		_, err := s.Get(ctx, linkKeyName, &key)
		if err == nil {
			return key, nil
		}
		if !errors.Is(err, capture.ErrNotFound) {
			return nil, fmt.Errorf("read the key that signs links: %w", err)
		}
		key = make([]byte, 32)
		_, _ = rand.Read(key) // never fails, by its documentation
		_, err = s.Put(ctx, linkKeyName, key, 0)
		if err == nil {
			return key, nil
		}
		if !errors.Is(err, capture.ErrConflict) {
			return nil, fmt.Errorf("store the key that signs links: %w", err)
		}
	}
	return nil, errors.New("the key that signs links changes at each look; is another service writing to the same bucket?")
}

// current is asked for each new incident, so that a reload takes effect.
func (a *App) current() (bot.Routing, bot.Policy) {
	c := a.config()
	return routing(c), policy(c)
}

func routing(c *conf.Config) bot.Routing {
	r := bot.Routing{Channel: c.Slack.Channel, Mention: c.Slack.Mention}
	for _, one := range c.Slack.Routes {
		r.Routes = append(r.Routes, bot.Route{Class: triggers.Class(one.Class), Script: one.Script, Environment: one.Environment, Channel: one.Channel, Mention: one.Mention})
	}
	return r
}

func policy(c *conf.Config) bot.Policy {
	off := map[bot.Notice]bool{}
	for _, n := range c.Slack.NoticesOff {
		off[bot.Notice(n)] = true
	}
	return bot.Policy{Quiet: c.Incident.Quiet, Duration: c.Capture.Duration, Off: off}
}

// links signs what messages point to.
type links struct{ gate *access.Gate }

var _ bot.Links = links{}

// Incident is the page of an incident.
func (l links) Incident(id string) string { return l.gate.URL("/incidents/" + id) }

// Capture is the page of a capture.
func (l links) Capture(id string) string { return l.gate.URL("/captures/" + id) }

// Link signs a path of the pages, for whoever started the process.
func (a *App) Link(path string) string { return a.gate.URL(path) }
