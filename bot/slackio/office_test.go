package slackio_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/bot/slackio"
)

type desk struct {
	mu     sync.Mutex
	asked  []bot.Request
	answer func(bot.Request) (bot.Reply, error)
	came   chan struct{}
}

func (d *desk) Handle(_ context.Context, r bot.Request) (bot.Reply, error) {
	d.mu.Lock()
	d.asked = append(d.asked, r)
	f := d.answer
	d.mu.Unlock()
	defer func() { d.came <- struct{}{} }()
	if f == nil {
		return bot.Reply{}, nil
	}
	return f(r)
}

func (d *desk) answers(f func(bot.Request) (bot.Reply, error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer = f
}

func (d *desk) requests() []bot.Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.asked)
}

type office struct {
	*testing.T
	*desk
	w   *fakeslack.Workspace
	r   *slackio.Receiver
	url string
	// host is the workspace's own, where its pages are.
	host string
}

func newOffice(t *testing.T, w *fakeslack.Workspace, socket bool, o slackio.ReceiverOptions) *office {
	t.Helper()
	base, err := w.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &office{T: t, desk: &desk{came: make(chan struct{}, 1000)}, w: w, host: strings.TrimSuffix(strings.TrimPrefix(base, "http://"), "/api/")}
	c := slackio.NewClient(fakeslack.BotToken, slackio.ClientOptions{APIURL: base, AppToken: fakeslack.AppToken})
	o.SigningSecret = fakeslack.SigningSecret
	if socket {
		o.Sockets = 2
	}
	f.r = slackio.NewReceiver(c, f.desk, o)
	mux := http.NewServeMux()
	f.r.Register(mux)
	srv := httptest.NewServer(mux)
	f.url = srv.URL
	if !socket {
		w.RequestURL = srv.URL
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f.r.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
	}()
	t.Cleanup(func() {
		srv.Close()
		cancel()
		<-done
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if v := w.Violations(); len(v) > 0 {
			t.Errorf("violations: %q", v)
		}
	})
	if socket {
		if err := w.WaitSockets(ctx, 2); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func (f *office) shows(channel, words string) fakeslack.Message {
	f.Helper()
	limit := time.After(10 * time.Second)
	for {
		changed := f.w.Changed()
		for _, m := range f.w.Messages(channel) {
			if strings.Contains(m.Plain(), words) {
				return m
			}
		}
		select {
		case <-changed:
		case <-limit:
			f.Fatalf("nothing says %q:\n%s", words, f.w.Transcript())
		}
	}
}

func card(text string) *bot.Card { return &bot.Card{Text: text, Verdict: text} }

func transports() map[string]bool { return map[string]bool{"http": false, "socket": true} }

func (f *office) view(n int) fakeslack.View {
	f.Helper()
	limit := time.After(10 * time.Second)
	for {
		changed := f.w.Changed()
		if v := f.w.Views(); len(v) >= n {
			return v[n-1]
		}
		select {
		case <-changed:
		case <-limit:
			f.Fatal("no modal was opened")
		}
	}
}

func (f *office) home() {
	f.Helper()
	limit := time.After(10 * time.Second)
	for {
		changed := f.w.Changed()
		if v, ok := f.w.Home(fakeslack.Ana); ok && bytes.Contains(v.Body, []byte("Running now")) {
			return
		}
		select {
		case <-changed:
		case <-limit:
			f.Fatal("no Home tab was published")
		}
	}
}
