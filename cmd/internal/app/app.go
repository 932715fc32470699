package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/access"
	"github.com/snapflame/snapflame/bot/pages"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/capture/cloudflare"
	"github.com/snapflame/snapflame/cmd/internal/conf"
	"github.com/snapflame/snapflame/cmd/internal/jet"
	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/triggers"
)

// Options of an App.
type Options struct {
	Config  *conf.Config
	Version string
	Log     zerolog.Logger
	// Level is changed by a reload; nil: the log level stays.
	Level func(zerolog.Level)
	// Reload reads the configuration again; nil: there is nothing to reload.
	Reload func() (*conf.Config, error)
	// Listener is the HTTP port, when it is open already; nil opens Config.Listen.
	Listener net.Listener
	// Consider is how often a baseline is considered; 0: every minute.
	Consider time.Duration
}

// App is the running service.
type App struct {
	log      zerolog.Logger
	version  string
	conf     atomic.Pointer[conf.Config]
	reread   func() (*conf.Config, error)
	consider time.Duration
	level    func(zerolog.Level)

	jet      *jet.Jet
	cf       *cloudflare.Client
	metrics  *metrics
	gate     *access.Gate
	key      chan struct{} // closed once the gate has its key
	reader   *reader
	analyst  *analyst
	desk     *bot.Desk
	writer   bot.Writer
	silences *bot.Silences
	pauses   *bot.Switch
	runner   *capture.Runner
	trigger  *trigger
	polling  *polling // nil: Workers Logs are not polled
	slack    *slackSide
	person   *person
	layers   layers

	server   *http.Server
	listener net.Listener
	started  time.Time
}

// Bounds of what is kept in memory.
const (
	catalogRows   = 20_000
	keptReports   = 12
	keptSplits    = 64
	shutdownHTTP  = 5 * time.Second
	readHeader    = 10 * time.Second
	maxHeaderSize = 64 << 10
)

// New opens everything the configuration names and wires it up. Nothing runs
// yet. On an error all that was opened is closed again.
func New(ctx context.Context, o Options) (a *App, err error) {
	a = &App{key: make(chan struct{}), log: o.Log, version: o.Version, reread: o.Reload, level: o.Level, started: time.Now(), metrics: newMetrics(o.Version), listener: o.Listener, consider: cmp.Or(o.Consider, considerEvery)}
	a.conf.Store(o.Config)
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close(context.WithoutCancel(ctx)))
		}
	}()
	if err := a.open(ctx); err != nil {
		return a, err
	}
	// The pprof driver refuses to start without a place for settings, and would
	// write there for all users alike: give it one that holds nothing.
	// That is after open, which looks there for a NATS context.
	if os.Getenv("XDG_CONFIG_HOME") == "" {
		if err := os.Setenv("XDG_CONFIG_HOME", os.DevNull); err != nil {
			return a, fmt.Errorf("set XDG_CONFIG_HOME: %w", err)
		}
	}
	for _, wire := range []func(context.Context) error{a.wireReports, a.wireDesk, a.wireTriggers, a.wireCaptures, a.wireSlack, a.wireWeb} {
		if err := wire(ctx); err != nil {
			return a, err
		}
	}
	return a, nil
}

// open opens what is outside: the engine, Cloudflare's API, the HTTP port.
func (a *App) open(ctx context.Context) error {
	c := a.config()
	a.layers.log = a.log
	var err error
	if a.listener == nil {
		a.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	}
	if err != nil {
		return fmt.Errorf("listen %q cannot be opened: %w; choose another address with SNAPFLAME_LISTEN", c.Listen, err)
	}
	a.jet, err = jet.Open(ctx, jetOptions(c, a.log))
	if err != nil {
		return err
	}
	a.cf, err = cloudflare.New(cloudflare.Options{
		AccountID: c.Cloudflare.AccountID, Token: c.Cloudflare.APIToken.Reveal(), BaseURL: c.Cloudflare.BaseURL,
	})
	return err
}

func jetOptions(c *conf.Config, log zerolog.Logger) jet.Options {
	n := c.NATS
	o := jet.Options{
		URL: n.URL.Reveal(), Context: n.Context, Creds: n.Creds, NKey: n.NKey, Token: n.Token.Reveal(),
		CA: n.TLSCA, Cert: n.TLSCert, Key: n.TLSKey, Listen: n.Listen, StoreDir: n.StoreDir,
		Stream: n.Stream, Subjects: n.Subjects, Replicas: n.Replicas, MaxBytes: int64(n.MaxBytes), MaxAge: time.Duration(n.MaxAge), Logger: log,
	}
	if o.URL != "" || o.Context != "" {
		o.Listen = ""
	}
	return o
}

func (a *App) config() *conf.Config { return a.conf.Load() }

func (a *App) wireReports(context.Context) error {
	a.analyst = &analyst{
		records: a.jet.Records(), files: a.jet.Profiles(), cap: a.config().Report.SampleCap, log: a.log,
		reports: newLRU[reportKey, *report.Report](keptReports), measured: a.metrics.measured,
	}
	if a.config().Report.SourceMaps {
		a.analyst.maps = newVersionMaps(a.cf, a.log)
	}
	a.reader = &reader{
		catalog: bot.NewCatalog(catalogRows), cases: a.jet.Cases(), records: a.jet.Records(), profiles: a.jet.Profiles(),
		sent: a.jet.SentLedger(), dead: a.jet.Dead(), analyst: a.analyst, cf: a.cf, splits: newLRU[string, []pages.Deployment](keptSplits),
		loaded: make(chan struct{}),
	}
	a.layers.add(2, "catalog", forever(a.log, "catalog", a.reader.watch))
	return nil
}

// Addr is the HTTP address, with the real port.
func (a *App) Addr() string { return a.listener.Addr().String() }

// NATSURL is where events can be published; empty when nobody outside can.
func (a *App) NATSURL() string { return a.jet.URL() }

// Run serves until ctx ends, then stops in order: what takes events in first,
// then captures (those that run are finished), then Slack, then the engine.
func (a *App) Run(ctx context.Context) error {
	a.log.Info().Str("listen", a.Addr()).Str("nats", a.jet.URL()).Bool("embedded", a.jet.Embedded()).Str("version", a.version).Msg("serving")
	return errors.Join(a.layers.run(ctx), a.Close(context.WithoutCancel(ctx)))
}

// Close closes what New opened. Run does it, too.
func (a *App) Close(ctx context.Context) error {
	var errs []error
	if a.server == nil && a.listener != nil {
		errs = append(errs, a.listener.Close())
	}
	if a.jet != nil {
		errs = append(errs, a.jet.Close(ctx))
	}
	return errors.Join(errs...)
}

// forever runs a part again when it returns for a reason that can pass: a
// watch that ended because the server went away is no reason to stop serving.
func forever(log zerolog.Logger, name string, run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
			began := time.Now()
			err := run(ctx)
			if ctx.Err() != nil {
				return nil //nolint:nilerr // it was told to stop
			}
			log.Warn().Err(err).Str("part", name).Msg("starting again")
			if time.Since(began) > time.Minute {
				wait = 100 * time.Millisecond
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(wait):
			}
		}
	}
}

// classLabel bounds what a metric is labelled with, whatever a class holds.
func classLabel(c triggers.Class) string {
	switch c {
	case triggers.ClassOverloaded, triggers.ClassExceededMemory, triggers.ClassExceededCPU, triggers.ClassAccountOverloaded:
		return string(c)
	default:
		return string(triggers.ClassNone)
	}
}
