package app

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/slackio"
	"github.com/snapflame/snapflame/cmd/internal/jet"
)

// slackSide is everything that speaks with Slack: one sender among all
// replicas, and a receiver in each.
type slackSide struct {
	client *slackio.Client
	sender *slackio.Sender
	doors  *slackio.Receiver

	mu      sync.Mutex
	home    slackio.Home
	homed   bool // home is known
	sending bool // this replica holds the sender's lease

	asking sync.Mutex // held while Slack is asked for home
}

func (a *App) wireSlack(ctx context.Context) error {
	c := a.config().Slack
	base, err := slackio.APIBase(c.APIURL)
	if err != nil {
		return err
	}
	s := &slackSide{client: slackio.NewClient(c.BotToken.Reveal(), slackio.ClientOptions{APIURL: base, AppToken: c.AppToken.Reveal()})}
	a.slack = s
	s.sender = slackio.NewSender(s.client, outboxQueue{a.jet.Outbox()}, newThreads(a.jet), storedFiles{a.jet.Profiles()}, slackio.SenderOptions{
		Fallback: c.Channel, Logger: a.log, Observe: a.sent,
	})
	a.person = &person{a: a, desk: a.desk, cf: a.cf, ledger: a.jet.Ledger()}
	a.reader.links = s.permalink
	a.wireReceiver()
	owner := strings.ToLower(rand.Text()[:10])
	a.layers.add(2, "slack sender", func(ctx context.Context) error {
		return a.jet.Hold(ctx, "slack-sender", owner, func(ctx context.Context, _ uint64) error {
			s.hold(true)
			defer s.hold(false)
			return s.sender.Run(ctx)
		})
	})
	_ = ctx
	return nil
}

// wireReceiver takes what people say and click to the commander.
func (a *App) wireReceiver() {
	c := a.config()
	commander := bot.NewCommander(a.desk, a.reader, bot.CommanderOptions{
		Writer: a.writer, Silences: a.silences, Switch: a.pauses, Audit: bot.NewAudit(a.jet.State()),
		Figures: figures{a.analyst}, Workers: a.person, Objects: a.trigger, Decisions: a.trigger, Threads: newThreads(a.jet), Statuses: a.person,
		Permit: a.permit, Routing: func() bot.Routing { return routing(a.config()) },
		SilenceDefault: time.Duration(c.Silence.Default), SilenceMax: time.Duration(c.Silence.Max), Log: a.log,
	})
	a.slack.doors = slackio.NewReceiver(a.slack.client, commander, slackio.ReceiverOptions{
		SigningSecret: c.Slack.SigningSecret.Reveal(), Sockets: sockets(c.SlackMode()), Command: c.Slack.Command, Logger: a.log,
		Observe: func(kind bot.RequestKind, outcome string, acked, _ time.Duration) {
			a.metrics.requests.WithLabelValues(string(kind), outcome).Inc()
			a.metrics.measured("slack_ack", acked)
		},
	})
	a.layers.add(0, "slack receiver", a.slack.doors.Run)
}

func (a *App) permit() bot.Permit {
	c := a.config().Slack
	// While Slack cannot be asked no answer of ours arrives either: then the
	// other questions are asked alone.
	home := a.slack.workspace(context.Background())
	return bot.Permit{Team: home.Team, Org: home.Org, Users: c.Users, Groups: c.Usergroups, Channels: c.Channels, Members: a.slack.client}
}

// routes adds Slack's three doors. Without a signing secret they refuse all.
func (s *slackSide) routes(mux *http.ServeMux) { s.doors.Register(mux) }

// sockets is how many Socket Mode connections are held: one is renewed by
// closing it, so a second one takes what comes meanwhile.
func sockets(mode string) int {
	if mode == "socket" {
		return 2
	}
	return 0
}

func (s *slackSide) hold(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sending = on
}

// health is "ok", or why messages cannot be sent or commands not come in.
func (s *slackSide) health() string {
	s.mu.Lock()
	sending := s.sending // else another replica sends
	s.mu.Unlock()
	if sending {
		if err := s.sender.Health(); err != nil {
			return err.Error()
		}
	}
	if err := s.doors.Health(); err != nil {
		return err.Error()
	}
	return "ok"
}

// permalink asks Slack once where the workspace is; the rest is arithmetic.
func (s *slackSide) permalink(ctx context.Context, channel, ts string) string {
	home := s.workspace(ctx)
	return slackio.Permalink(home.URL, channel, ts)
}

// workspace is where we are, which Slack is asked for until it has said so; the
// zero Home while it has not.
func (s *slackSide) workspace(ctx context.Context) slackio.Home {
	if home, known := s.known(); known {
		return home
	}
	s.asking.Lock() // one asks, the others wait for its answer
	defer s.asking.Unlock()
	if home, known := s.known(); known {
		return home
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	home, err := s.client.Home(ctx)
	if err != nil {
		return slackio.Home{}
	}
	s.mu.Lock()
	s.home, s.homed = home, true
	s.mu.Unlock()
	return home
}

func (s *slackSide) known() (slackio.Home, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.home, s.homed
}

// sent counts deliveries.
func (a *App) sent(n slackio.Note) {
	kind := "message"
	if strings.Contains(n.Key, ".png.") {
		kind = "file"
	}
	a.metrics.slack.WithLabelValues(kind, string(n.Reason)).Inc()
	if n.Took > 0 && strings.HasSuffix(n.Key, ".root") && n.Reason == slackio.ReasonSent {
		a.metrics.measured("root_message", n.Took)
	}
}

// outboxQueue hands the outbox to the sender, and keeps alive what the sender
// holds: it waits for Slack's pace far longer than the engine waits for us.
type outboxQueue struct{ o *jet.Outbox }

var _ slackio.Queue = outboxQueue{}

// Next implements slackio.Queue.
func (q outboxQueue) Next(ctx context.Context) (slackio.Delivery, error) {
	for {
		p, err := q.o.Next(ctx, time.Minute)
		if err != nil {
			return nil, err
		}
		if p != nil {
			h := &heldPost{p: p, quit: make(chan struct{})}
			go h.keep()
			return h, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// heldPost is a post in the sender's hands.
type heldPost struct {
	p    *jet.Post
	quit chan struct{}
	once sync.Once
}

// Post implements slackio.Delivery.
func (h *heldPost) Post() bot.Post { return h.p.Post() }

// keep lasts until Ack or Later. A touch that fails is one of the next: a
// connection that comes back within five seconds has lost nothing.
func (h *heldPost) keep() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-h.quit:
			return
		case <-t.C:
			_ = h.p.Touch()
		}
	}
}

// Ack implements slackio.Delivery.
func (h *heldPost) Ack(ctx context.Context) error {
	defer h.once.Do(func() { close(h.quit) })
	return h.p.Ack(ctx)
}

// Later implements slackio.Delivery.
func (h *heldPost) Later(delay time.Duration) error {
	defer h.once.Do(func() { close(h.quit) })
	return h.p.Later(delay)
}

// storedFiles opens pictures for the sender.
type storedFiles struct{ p *jet.Profiles }

var _ slackio.Files = storedFiles{}

// OpenFile implements slackio.Files.
func (f storedFiles) OpenFile(ctx context.Context, object string) (io.ReadCloser, int64, error) {
	data, err := f.p.File(ctx, object)
	if err != nil {
		return nil, 0, err
	}
	return io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
}
