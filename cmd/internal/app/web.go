package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/pprof/profile"

	"github.com/snapflame/snapflame/bot/access"
	"github.com/snapflame/snapflame/bot/api"
	"github.com/snapflame/snapflame/bot/pages"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/report/pprofui"
	"github.com/snapflame/snapflame/triggers/ingest"
)

// wireWeb puts every handler behind the one port: the ingest door and Slack
// have their own keys, pages and API stand behind the gate, health is open.
func (a *App) wireWeb(context.Context) error {
	c := a.config()
	mux := http.NewServeMux()
	door := ingest.New(a.jet.Events(), ingest.Options{Token: c.Ingest.Token.Reveal(), Observe: a.metrics.ingested, Dropped: a.metrics.tailDropped})
	for _, p := range []string{"/ingest/", "/v1/logs", "/v1/traces"} {
		mux.Handle(p, door)
	}
	a.slack.routes(mux)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", a.ready)
	mux.Handle("GET /metrics", a.metrics.handler())
	mux.Handle("/api/", a.gate.API(api.New(api.Options{
		Cases: a.reader, Captures: a.reader, Objects: a.trigger, Decisions: a.trigger, Starter: a.person, DeadLetters: a.reader, Audit: a.audit,
	})))
	shown, err := a.pages()
	if err != nil {
		return err
	}
	mux.Handle("/", a.gate.Pages(shown))
	a.server = &http.Server{Handler: mux, ReadHeaderTimeout: readHeader, MaxHeaderBytes: maxHeaderSize, IdleTimeout: 2 * time.Minute}
	a.layers.add(0, "http", a.serveHTTP)
	return nil
}

func (a *App) pages() (http.Handler, error) {
	ui := pprofui.New(pprofui.Options{
		Load: func(ctx context.Context, id string) (*profile.Profile, error) {
			rep, err := a.analyst.Report(ctx, id, "")
			if err != nil {
				return nil, err
			}
			return pprofui.Profile(rep), nil
		},
		Fail: func(w http.ResponseWriter, _ *http.Request, err error) {
			if errors.Is(err, capture.ErrNotFound) {
				http.Error(w, "there is no such capture", http.StatusNotFound)
				return
			}
			a.log.Error().Err(err).Msg("profile cannot be mounted")
			http.Error(w, "the profile cannot be read now; try again", http.StatusServiceUnavailable)
		},
		Download: func(id string) string { return "/api/v1/captures/" + id + "/profile" },
	})
	return pages.New(pages.Options{
		Cases: a.reader, Captures: a.reader, Objects: a.trigger, Deployments: a.reader, Threads: a.reader, PProf: ui, Log: a.log,
		Acting: func(r *http.Request) bool { return a.gate.Of(r) == access.Act }, Audit: a.audit,
	})
}

// serveHTTP serves until ctx ends, then lets requests that run finish.
func (a *App) serveHTTP(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- a.server.Serve(a.listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownHTTP)
	defer cancel()
	if err := a.server.Shutdown(last); err != nil {
		_ = a.server.Close() // a page that is still read loses its connection
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ready answers 200 when events are taken and handled. What Slack or
// Cloudflare lack is said and does not fail it: the service keeps ingesting,
// and a restart would help nobody.
func (a *App) ready(w http.ResponseWriter, r *http.Request) {
	err := a.jet.Health(r.Context())
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, "nats: "+err.Error())
	} else {
		fmt.Fprintln(w, "nats: ok")
	}
	fmt.Fprintln(w, "slack: "+a.slack.health())
	fmt.Fprintln(w, "cloudflare: "+a.person.health())
	if a.polling != nil {
		fmt.Fprintln(w, "polling: "+a.polling.health())
	}
}

// audit notes who read or started what, by where the request came from.
func (a *App) audit(r *http.Request, action, id string) {
	a.log.Info().Str("audit", action).Str("id", id).Str("remote", r.RemoteAddr).Str("path", r.URL.Path).Msg("audit")
}
