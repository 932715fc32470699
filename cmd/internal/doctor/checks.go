package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/capture/cloudflare"
	"github.com/snapflame/snapflame/cmd/internal/conf"
	"github.com/snapflame/snapflame/cmd/internal/jet"
)

// Options is how the checks reach what they check.
type Options struct {
	Config     *conf.Config
	NATS       jet.Options
	Cloudflare cloudflare.Options
	// HTTP is how requests to Slack and to our own pages travel; nil is the default.
	HTTP http.RoundTripper
	Now  func() time.Time // nil is time.Now
}

// Checks is every check, in the order of the report.
func Checks(o Options) []Check {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.HTTP == nil {
		o.HTTP = &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: patience}
	}
	s := newSlackChecks(o)
	return []Check{
		{"config", func(context.Context) Finding { return config(o.Config) }},
		{"nats", func(ctx context.Context) Finding { return nats(ctx, o) }},
		{"cloudflare-token", func(ctx context.Context) Finding { return token(ctx, o) }},
		{"cloudflare-permission", func(ctx context.Context) Finding { return permission(ctx, o) }},
		{"slack-token", s.token},
		{"slack-scopes", s.scopes},
		{"slack-transport", s.transport},
		{"slack-channels", s.channels},
		{"clock", func(ctx context.Context) Finding { return clock(ctx, o) }},
		{"public-url", func(ctx context.Context) Finding { return publicURL(ctx, o) }},
		{"ingest", func(context.Context) Finding { return ingest(o.Config) }},
	}
}

func config(c *conf.Config) Finding {
	if missing := c.Missing(); len(missing) > 0 {
		keys := make([]string, len(missing))
		for i, p := range missing {
			keys[i] = p.Key
		}
		return bad("serve does not start without %s; set them in the file or the environment", strings.Join(keys, ", "))
	}
	if len(c.Warnings) > 0 {
		return note("%s", strings.Join(c.Warnings, "; "))
	}
	from := c.File()
	if from == "" {
		from = "the environment"
	}
	return ok("complete, from %s", from)
}

func nats(ctx context.Context, o Options) Finding {
	o.NATS.Settle = 3 * time.Second
	if !o.Config.NATS.External() && !listening(ctx, o.NATS.Listen) {
		return embedded(ctx, o.Config.NATS)
	}
	s, err := jet.Dial(ctx, o.NATS)
	if err != nil {
		return bad("%v", err)
	}
	defer func() { _ = s.Close(ctx) }()
	return ok("connected to %s, stream %s is there", s.Server(), o.Config.NATS.Stream)
}

func listening(ctx context.Context, address string) bool {
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

// embedded is the server that lives in serve, which does not run: it needs an
// address and a folder.
func embedded(ctx context.Context, n conf.NATS) Finding {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", n.Listen)
	if err != nil {
		return bad("nats.listen %s cannot be used: %v; choose an address of this machine", n.Listen, err)
	}
	_ = l.Close()
	if err := writable(n.StoreDir); err != nil {
		return bad("nats.store_dir %s cannot be written: %v; create it or choose another folder", n.StoreDir, err)
	}
	return ok("the embedded server is not running, serve starts it; %s is free and %s can be written", n.Listen, n.StoreDir)
}

// writable tries the folder, or the nearest one above it that exists.
func writable(dir string) error {
	for {
		fi, err := os.Stat(dir)
		if err == nil && !fi.IsDir() {
			return errors.New("it is a file")
		}
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		up := parent(dir)
		if up == dir {
			return err
		}
		dir = up
	}
	f, err := os.CreateTemp(dir, ".snapflame-doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func parent(dir string) string {
	dir = strings.TrimRight(dir, "/")
	i := strings.LastIndexByte(dir, '/')
	switch {
	case i < 0:
		return "."
	case i == 0:
		return "/"
	}
	return dir[:i]
}

func token(ctx context.Context, o Options) Finding {
	cf, err := cloudflare.New(o.Cloudflare)
	if err != nil {
		return bad("%v", err)
	}
	t, err := cf.VerifyToken(ctx)
	switch {
	case err != nil:
		return bad("%s", failure(err))
	case t.Status != "active":
		return bad("the token is %s; create a new one and set CLOUDFLARE_API_TOKEN", t.Status)
	case !t.Expires.IsZero() && t.Expires.Sub(o.Now()) < 14*24*time.Hour:
		return note("active, but it expires on %s; create its successor in time", t.Expires.Format(time.DateOnly))
	}
	return ok("active")
}

// noVersion cannot exist: asking to profile it starts nothing, but a token
// without the permission is refused before the version is looked up.
const noVersion = "00000000-0000-4000-8000-000000000000"

func permission(ctx context.Context, o Options) Finding {
	cf, err := cloudflare.New(o.Cloudflare)
	if err != nil {
		return bad("%v", err)
	}
	workers, err := cf.Workers(ctx)
	if err != nil {
		return bad("the account's Workers cannot be listed: %s", failure(err))
	}
	spaces, err := cf.Namespaces(ctx)
	if err != nil {
		return bad("the Durable Object namespaces cannot be listed, so no object would be found: %s", failure(err))
	}
	if len(workers) == 0 {
		return note("the account has no Worker; is CLOUDFLARE_ACCOUNT_ID the right one?")
	}
	_, err = cf.Profile(ctx, capture.Request{
		Type: capture.CPU, Duration: capture.MinDuration,
		Target: capture.Target{Kind: capture.Worker, Script: workers[0].Name, VersionID: noVersion},
	})
	seen := fmt.Sprintf("sees %d Workers and %d Durable Object namespaces", len(workers), len(spaces))
	if f, isFailure := errors.AsType[*capture.Failure](err); isFailure {
		switch f.Kind {
		case capture.FailNotFound, capture.FailNoExecutions, capture.FailNoIsolate, capture.FailBadRequest:
			return ok("may profile, %s", seen)
		case capture.FailForbidden, capture.FailUnauthorized:
			return bad("may not profile: %s", failure(f))
		default:
			return note("%s; whether it may profile could not be told: %s", seen, failure(f))
		}
	}
	return note("%s; whether it may profile could not be told", seen)
}

// failure is what went wrong, what Cloudflare said, and what to do.
func failure(err error) string {
	f, isFailure := errors.AsType[*capture.Failure](err)
	if !isFailure {
		return err.Error()
	}
	if f.Message == "" || strings.Contains(f.Explain(), f.Message) {
		return f.Explain()
	}
	return fmt.Sprintf("%s (answer: %s)", strings.TrimSuffix(f.Explain(), "."), f.Message)
}

// clock compares our time with the Date of an answer, which is whole seconds.
func clock(ctx context.Context, o Options) Finding {
	var last error
	for _, base := range []string{o.Config.Slack.APIURL, o.Config.Cloudflare.BaseURL} {
		before := o.Now()
		res, err := o.get(ctx, base)
		if err != nil {
			last = err
			continue
		}
		_ = res.Body.Close()
		theirs, err := http.ParseTime(res.Header.Get("Date"))
		if err != nil {
			last = fmt.Errorf("%s sends no Date", base)
			continue
		}
		ours := before.Add(o.Now().Sub(before) / 2)
		off := ours.Sub(theirs).Round(time.Second)
		if off.Abs() > 30*time.Second {
			return bad("the clock is off by %s; Slack's signatures are refused beyond 5 minutes: let NTP set it", off)
		}
		return ok("right to a few seconds")
	}
	return note("could not be compared with anyone's: %v", last)
}

func (o Options) get(ctx context.Context, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	res, err := (&http.Client{Transport: o.HTTP, Timeout: patience / 2}).Do(req)
	if ue, isURL := errors.AsType[*url.Error](err); isURL {
		return nil, fmt.Errorf("%s does not answer: %w", address, ue.Err)
	}
	return res, err
}

func publicURL(ctx context.Context, o Options) Finding {
	base := o.Config.PublicURL
	if base == "" {
		return note("not set: threads have pictures but no links to the pages; set public_url")
	}
	res, err := o.get(ctx, base+"/healthz")
	if err != nil {
		return bad("%v; start serve, or set public_url to where a proxy reaches listen (%s)", err, o.Config.Listen)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return bad("%s/healthz answers %s; let the proxy pass all paths to listen (%s)", base, res.Status, o.Config.Listen)
	}
	if strings.HasPrefix(base, "http://") && !local(base) {
		return note("answers, but without TLS the signed links can be read on the way; use https")
	}
	return ok("answers")
}

func local(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || (ip != nil && (ip.IsLoopback() || ip.IsPrivate()))
}

func ingest(c *conf.Config) Finding {
	switch {
	case !c.Ingest.Token.IsSet() && !c.NATS.External():
		return note("ingest.token is not set: events can only come through NATS on %s; set it for a Tail Worker, Logpush or OTLP", c.NATS.Listen)
	case !c.Ingest.Token.IsSet():
		return note("ingest.token is not set: events can only come through NATS")
	}
	return ok("open with its token")
}
