package doctor_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/capture/cloudflare"
	"github.com/snapflame/snapflame/capture/fakecf"
	"github.com/snapflame/snapflame/cmd/internal/conf"
	"github.com/snapflame/snapflame/cmd/internal/doctor"
	"github.com/snapflame/snapflame/cmd/internal/jet"
)

const accountID = "0123456789abcdef0123456789abcdef"

// world is everything that a healthy installation depends on, in this process.
type world struct {
	env     map[string]string
	account *fakecf.Server
	slack   *fakeslack.Workspace
	now     func() time.Time
	ours    http.Handler // what answers at public_url
}

func healthy(t *testing.T) *world {
	t.Helper()
	w := &world{
		env: map[string]string{
			"CLOUDFLARE_ACCOUNT_ID": accountID, "CLOUDFLARE_API_TOKEN": "cf-token", "CLOUDFLARE_API_BASE_URL": "http://cloudflare.test/client/v4",
			"SLACK_API_URL": "http://slack.test/api/", "SLACK_BOT_TOKEN": fakeslack.BotToken, "SLACK_APP_TOKEN": fakeslack.AppToken,
			"SNAPFLAME_SLACK_CHANNEL": fakeslack.Incidents, "SNAPFLAME_NATS_STORE_DIR": filepath.Join(t.TempDir(), "data"),
			"SNAPFLAME_NATS_LISTEN": "127.0.0.1:0", "SNAPFLAME_PUBLIC_URL": "https://snapflame.test",
			"SNAPFLAME_INGEST_TOKEN": "0123456789abcdef",
		},
		account: &fakecf.Server{AccountID: accountID, Token: "cf-token", Speed: 1000},
		slack:   &fakeslack.Workspace{},
		now:     time.Now,
		ours:    http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
	}
	w.account.AddWorker(fakecf.Worker{Name: "room-api", Versions: []fakecf.Version{{ID: "41ab9259-0637-4c82-826c-a65266b28984", Percent: 100}}})
	return w
}

// RoundTrip is the network: nothing leaves the process. As any HTTP server does,
// it says what time it is.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := w.route(r)
	if err == nil {
		res.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	}
	return res, err
}

func (w *world) route(r *http.Request) (*http.Response, error) {
	switch r.URL.Host {
	case "slack.test":
		return w.slack.Transport().RoundTrip(r)
	case "cloudflare.test":
		return w.account.Transport().RoundTrip(r)
	case "snapflame.test":
		return answer(w.ours, r), nil
	}
	return nil, os.ErrDeadlineExceeded
}

func answer(h http.Handler, r *http.Request) *http.Response {
	rec := &recorder{header: http.Header{}, status: http.StatusOK}
	h.ServeHTTP(rec, r)
	return &http.Response{
		StatusCode: rec.status, Status: http.StatusText(rec.status), Header: rec.header,
		Body: http.NoBody, Request: r,
	}
}

type recorder struct {
	header http.Header
	status int
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(b []byte) (int, error) { return len(b), nil }
func (r *recorder) WriteHeader(s int)           { r.status = s }

func (w *world) run(t *testing.T) (out string, failed int) {
	t.Helper()
	c, err := conf.Load(conf.Source{Getenv: func(k string) string { return w.env[k] }})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	failed = doctor.Run(t.Context(), &b, doctor.Checks(doctor.Options{
		Config: c, HTTP: w, Now: w.now,
		NATS: jet.Options{Listen: c.NATS.Listen, URL: c.NATS.URL.Reveal(), StoreDir: c.NATS.StoreDir, Stream: c.NATS.Stream, Logger: zerolog.Nop()},
		Cloudflare: cloudflare.Options{
			AccountID: c.Cloudflare.AccountID, Token: c.Cloudflare.APIToken.Reveal(), BaseURL: c.Cloudflare.BaseURL, HTTP: w,
		},
	}))
	for _, secret := range []string{"cf-token", fakeslack.BotToken, fakeslack.AppToken, "0123456789abcdef "} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("a secret is printed: %s", b.String())
		}
	}
	return b.String(), failed
}

func TestHealthy(t *testing.T) {
	w := healthy(t)
	out, failed := w.run(t)
	if failed != 0 {
		t.Errorf("%d checks are bad:\n%s", failed, out)
	}
	if n := strings.Count(out, "\n"); n != 11 || strings.Count(out, "ok    ") != 11 {
		t.Errorf("%d lines, want 11 that are ok:\n%s", n, out)
	}
	if got := w.account.Captures(); len(got) > 1 {
		t.Errorf("%d captures were asked for, want the one that cannot start: %+v", len(got), got)
	}
	if got := w.slack.Messages(fakeslack.Incidents); len(got) != 0 {
		t.Errorf("doctor posted %d messages", len(got))
	}
}

func TestWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		spoil func(w *world)
		want  string // regular expression over one line
	}{
		{"nothing set", func(w *world) { w.env["SLACK_BOT_TOKEN"] = "" }, `^bad +slack-token +slack.bot_token is not set; set SLACK_BOT_TOKEN$`},
		{"slack token", func(w *world) { w.env["SLACK_BOT_TOKEN"] = "xoxb-other" }, `^bad +slack-token +Slack does not know the token; .*\(invalid_auth\)$`},
		{"scope", func(w *world) {
			w.slack.SetScopes("chat:write", "commands", "app_mentions:read", "channels:read", "im:history")
		}, `^bad +slack-scopes +lacks files:write \(flamegraphs cannot be uploaded\); add it under OAuth`},
		{"optional scope", func(w *world) {
			w.slack.SetScopes("chat:write", "commands", "app_mentions:read", "files:write", "channels:read", "im:history")
		}, `^note +slack-scopes +works without channels:join`},
		{"not in channel", func(w *world) { w.slack.AddChannel(fakeslack.Channel{ID: fakeslack.Incidents, Name: "ops"}) }, `^bad +slack-channels +the bot is not in #ops \(C0INCIDENTS\); type /invite @snapflame there$`},
		{"archived", func(w *world) { w.slack.Archive(fakeslack.Incidents) }, `^bad +slack-channels +#incidents \(C0INCIDENTS\) is archived`},
		{"channel of a route", func(w *world) { w.env["SNAPFLAME_SLACK_ROUTES"] = "[{class: overloaded, channel: C0GONE}]" }, `^bad +slack-channels +C0GONE: there is no such channel`},
		{"app token", func(w *world) { w.env["SLACK_APP_TOKEN"] = "xapp-other" }, `^bad +slack-transport +Socket Mode cannot be opened: Slack does not know the token`},
		{"http without secret", func(w *world) { w.env["SLACK_APP_TOKEN"] = "" }, `^bad +slack-transport +http mode without slack.signing_secret`},
		{"cloudflare token", func(w *world) { w.env["CLOUDFLARE_API_TOKEN"] = "other" }, `^bad +cloudflare-token +Cloudflare refuses the API token`},
		{"may not profile", func(w *world) { w.account.NoProfiling = true }, `^bad +cloudflare-permission +may not profile: The API token may not profile. It needs the permission Workers Scripts Read`},
		{"clock", func(w *world) { w.now = func() time.Time { return time.Now().Add(7 * time.Minute) } }, `^bad +clock +the clock is off by 7m[01]s; .*let NTP set it$`},
		{"public url", func(w *world) { w.env["SNAPFLAME_PUBLIC_URL"] = "https://nowhere.test" }, `^bad +public-url +https://nowhere.test/healthz does not answer: .*; start serve, or set public_url`},
		{"proxy", func(w *world) { w.ours = http.NotFoundHandler() }, `^bad +public-url +https://snapflame.test/healthz answers Not Found; let the proxy pass all paths`},
		{"no public url", func(w *world) { w.env["SNAPFLAME_PUBLIC_URL"] = "" }, `^note +public-url +not set: threads have pictures but no links`},
		{"no ingest token", func(w *world) { w.env["SNAPFLAME_INGEST_TOKEN"] = "" }, `^note +ingest +ingest.token is not set`},
		{"store is a file", func(w *world) {
			w.env["SNAPFLAME_NATS_STORE_DIR"] = "doctor_test.go"
		}, `^bad +nats +nats.store_dir doctor_test.go cannot be written: it is a file`},
		{"external nats", func(w *world) { w.env["NATS_URL"] = "nats://u:hunter2@127.0.0.1:1" }, `^bad +nats +JetStream does not answer: NATS at nats://127.0.0.1:1: not connected.*: start the server, or correct NATS_URL$`},
		{"incomplete", func(w *world) { w.env["SNAPFLAME_SLACK_CHANNEL"] = "" }, `^bad +config +serve does not start without slack.channel; set`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := healthy(t)
			tc.spoil(w)
			out, failed := w.run(t)
			re := regexp.MustCompile(`(?m)` + tc.want)
			if !re.MatchString(out) {
				t.Errorf("no line matches %s:\n%s", tc.want, out)
			}
			if strings.HasPrefix(tc.want, "^bad") != (failed > 0) {
				t.Errorf("%d checks are bad:\n%s", failed, out)
			}
		})
	}
}

func TestRunningService(t *testing.T) {
	w := healthy(t)
	j, err := jet.Open(t.Context(), jet.Options{Listen: "127.0.0.1:0", StoreDir: t.TempDir(), Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := j.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	w.env["SNAPFLAME_NATS_LISTEN"] = strings.TrimPrefix(j.URL(), "nats://")
	if out, failed := w.run(t); failed != 0 || !strings.Contains(out, "stream WORKERS_EVENTS is there") {
		t.Errorf("beside a running service:\n%s", out)
	}
}

func TestForeignTextCannotBreakTheLine(t *testing.T) {
	var b bytes.Buffer
	doctor.Run(t.Context(), &b, []doctor.Check{{Name: "x", Run: func(context.Context) doctor.Finding {
		return doctor.Finding{Level: doctor.Bad, Text: "a\nb\x1b[31m\u202e" + strings.Repeat("y", 1000)}
	}}})
	if got := b.String(); strings.Count(got, "\n") != 1 || strings.ContainsAny(got, "\x1b\u202e") || len(got) > 500 {
		t.Errorf("printed %q", got)
	}
}

// The manifest is the measure: what was granted beyond it is named, and
// reading the history, which some want, is no surplus.
func TestScopesBeyondTheManifest(t *testing.T) {
	t.Parallel()
	w := healthy(t)
	w.slack.SetScopes(append(fakeslack.DefaultScopes(), "channels:history", "admin")...)
	out, failed := w.run(t)
	if want := regexp.MustCompile(`(?m)^ok +slack-scopes +all 10 of the manifest granted; nothing here uses .*admin$`); failed != 0 || !want.MatchString(out) || strings.Contains(out, "channels:history") {
		t.Errorf("%d bad, want a line %s:\n%s", failed, want, out)
	}
}
