package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/capture/fakecf"
	"github.com/snapflame/snapflame/cmd/internal/app"
	"github.com/snapflame/snapflame/cmd/internal/conf"
)

// Options of Run.
type Options struct {
	Dir     string // where threads and flamegraphs are written
	Once    bool   // end when the last report is posted
	Out     io.Writer
	Log     zerolog.Logger
	Version string
}

// deadline is how long the reports may take; they take a few seconds.
const deadline = 25 * time.Second

// Secrets of a service that only this process and this machine can reach.
const (
	ingestToken = "demo-ingest-token" //nolint:gosec // as said
	apiToken    = "demo-api-token"    //nolint:gosec // as said
)

// Run plays the demo and returns when it is over: with Once when the last
// report is posted, else when ctx ends.
func Run(ctx context.Context, o Options) error {
	s, err := start(ctx, o)
	if err != nil {
		return err
	}
	err = s.play(ctx)
	return errors.Join(err, s.stop())
}

// stage is everything that runs.
type stage struct {
	Options
	slack      *fakeslack.Workspace
	slackURL   string
	cloudflare *fakecf.Server
	app        *app.App
	served     chan error
	end        context.CancelFunc
	cleanup    []func()
}

func start(ctx context.Context, o Options) (s *stage, err error) {
	s = &stage{Options: o, slack: &fakeslack.Workspace{ShareDelay: 200 * time.Millisecond}, served: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	data, err := os.MkdirTemp("", "snapflame-demo-")
	if err != nil {
		return s, fmt.Errorf("make a folder for the demo's data: %w", err)
	}
	s.cleanup = append(s.cleanup, func() { _ = os.RemoveAll(data) })
	api, err := s.slack.Start(ctx, "127.0.0.1:0")
	if err != nil {
		return s, fmt.Errorf("start the simulated Slack: %w", err)
	}
	s.slackURL = strings.TrimSuffix(strings.TrimSuffix(api, "/"), "/api")
	s.cleanup = append(s.cleanup, func() { _ = s.slack.Close() })
	cf, err := cloudflare(time.Now)
	if err != nil {
		return s, err
	}
	s.cloudflare = cf
	base, stopCF, err := cf.Start(ctx)
	if err != nil {
		return s, fmt.Errorf("start the simulated Cloudflare: %w", err)
	}
	s.cleanup = append(s.cleanup, stopCF)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return s, fmt.Errorf("find a free port: %w", err)
	}
	c, err := configuration(listener.Addr().String(), data, api, base)
	if err != nil {
		return s, err
	}
	s.app, err = app.New(ctx, app.Options{Config: c, Version: o.Version, Log: o.Log, Listener: listener, Consider: considerEvery})
	if err != nil {
		return s, err
	}
	run, cancel := context.WithCancel(ctx)
	s.end = cancel
	go func() { s.served <- s.app.Run(run) }()
	return s, s.slack.WaitSockets(ctx, 1)
}

// configuration goes through the same door as a user's: environment variables.
func configuration(addr, data, slackAPI, cloudflareAPI string) (*conf.Config, error) {
	env := map[string]string{
		"SNAPFLAME_LISTEN": addr, "SNAPFLAME_PUBLIC_URL": "http://" + addr,
		"SNAPFLAME_NATS_LISTEN": "127.0.0.1:0", "SNAPFLAME_NATS_STORE_DIR": data,
		"CLOUDFLARE_ACCOUNT_ID": account, "CLOUDFLARE_API_TOKEN": token, "CLOUDFLARE_API_BASE_URL": cloudflareAPI,
		"SLACK_BOT_TOKEN": fakeslack.BotToken, "SLACK_APP_TOKEN": fakeslack.AppToken, "SLACK_SIGNING_SECRET": fakeslack.SigningSecret, "SLACK_API_URL": slackAPI,
		"SNAPFLAME_SLACK_CHANNEL": fakeslack.Incidents, "SNAPFLAME_INGEST_TOKEN": ingestToken, "SNAPFLAME_API_TOKEN": apiToken,
		"SNAPFLAME_CAPTURE_SPACING": "1s", "SNAPFLAME_BASELINE_OBJECTS": "room-api-production/*",
	}
	return conf.Load(conf.Source{Getenv: func(k string) string { return env[k] }})
}

func (s *stage) stop() error {
	var err error
	if s.end != nil {
		s.end()
		err = <-s.served
	}
	for _, f := range slices.Backward(s.cleanup) {
		f()
	}
	return err
}

func (s *stage) play(ctx context.Context) error {
	if err := s.quiet(ctx); err != nil {
		return err
	}
	began := time.Now()
	fmt.Fprintln(s.Out, "A storm begins: one room is overloaded, one tenant runs out of memory, and some errors only read like it.")
	events := 0
	for _, round := range storm(time.Now()) {
		body, err := marshal(round)
		if err != nil {
			return err
		}
		if err := s.post(ctx, body); err != nil {
			return err
		}
		events += len(round)
	}
	fmt.Fprintf(s.Out, "%d events sent in %s. Waiting for the reports.\n\n", events, time.Since(began).Round(time.Millisecond))
	wait, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	if err := s.reported(wait); err != nil {
		if ctx.Err() != nil {
			return nil // somebody pressed Ctrl-C
		}
		return err
	}
	fmt.Fprintln(s.Out, s.slack.Transcript())
	written, err := s.write(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "Threads and %s are in %s.\n", plural(written, "flamegraph"), s.Dir)
	if s.Once {
		return nil
	}
	fmt.Fprintf(s.Out, "\nThe incident pages:  %s\nThe Slack channel:   %s/\nCtrl-C ends the demo.\n", s.app.Link("/incidents"), s.slackURL)
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.served:
		s.served <- err
		return err
	}
}

// considerEvery is how often the demo's service looks for a quiet moment.
const considerEvery = time.Second

// quiet is the time before: rooms do their work, the service takes a baseline
// of the busiest one, and then new code goes live that does too much.
func (s *stage) quiet(ctx context.Context) error {
	fmt.Fprintln(s.Out, "It is quiet. The service takes a baseline of the busiest room.")
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	body, err := marshal(load(time.Now()))
	if err != nil {
		return err
	}
	if err := s.post(ctx, body); err != nil {
		return err
	}
	for {
		list, err := s.captures(ctx)
		if err != nil {
			return err
		}
		if len(list) > 0 && list[0].State == "stored" {
			return release(s.cloudflare)
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return fmt.Errorf("no baseline was taken: %w", ctx.Err())
		}
	}
}

// post sends events the way a Tail Worker does.
func (s *stage) post(ctx context.Context, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.app.Addr()+"/ingest/events", strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+ingestToken)
	r.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
	if resp.StatusCode != http.StatusAccepted {
		return fmt.Errorf("events were not taken: %s: %s", resp.Status, text)
	}
	return nil
}

var client = &http.Client{Timeout: 30 * time.Second}

// lookAgain is how often the channel is looked at when nobody says that it changed.
const lookAgain = 200 * time.Millisecond

// expected is how many threads end with a picture.
const expected = 2

// reported waits until every thread that should have a picture has it.
func (s *stage) reported(ctx context.Context) error {
	for {
		changed := s.slack.Changed()
		pictures := map[string]bool{}
		for _, m := range s.slack.Messages(fakeslack.Incidents) {
			if len(m.Files) > 0 {
				pictures[m.ThreadTS] = true
			}
		}
		if len(pictures) >= expected {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(lookAgain): // an upload appears by itself, a moment after it was completed
		case err := <-s.served:
			s.served <- err
			return fmt.Errorf("the service ended early: %w", err)
		case <-ctx.Done():
			fmt.Fprintln(s.Out, s.slack.Transcript())
			return fmt.Errorf("only %d of %d reports came within %s", len(pictures), expected, deadline)
		}
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
