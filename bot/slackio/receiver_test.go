package slackio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/bot/slackio"
)

// desk is a Handler that keeps what it was asked.
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

// office is a receiver between a fake workspace and a desk.
type office struct {
	*testing.T
	*desk
	w   *fakeslack.Workspace
	r   *slackio.Receiver
	url string
}

func newOffice(t *testing.T, w *fakeslack.Workspace, socket bool, o slackio.ReceiverOptions) *office {
	t.Helper()
	base, err := w.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &office{T: t, desk: &desk{came: make(chan struct{}, 1000)}, w: w}
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

// shows waits until a message with the words is there and returns it.
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

func both(t *testing.T, f func(*testing.T, bool)) {
	t.Helper()
	t.Run("http", func(t *testing.T) { f(t, false) })
	t.Run("socket", func(t *testing.T) { f(t, true) })
}

func TestEveryKindOfRequest(t *testing.T) {
	both(t, func(t *testing.T, socket bool) {
		f := newOffice(t, &fakeslack.Workspace{}, socket, slackio.ReceiverOptions{Command: "/profile"})
		ctx := t.Context()
		must := func(a fakeslack.Ack, err error) fakeslack.Ack {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		last := func() bot.Request { <-f.came; rs := f.requests(); return rs[len(rs)-1] }

		f.answers(func(bot.Request) (bot.Reply, error) { return bot.Reply{Card: card("no such Worker `x`")}, nil })
		must(f.w.Slash(ctx, fakeslack.Ana, fakeslack.Incidents, "/profile  cpu x "))
		if r := last(); r.Kind != bot.RequestCommand || r.Text != "cpu x" || r.UserID != fakeslack.Ana || r.ChannelID != fakeslack.Incidents || r.ID == "" || r.UserName != "ana" {
			t.Errorf("command: %+v", r)
		}
		if m := f.shows(fakeslack.Incidents, "no such Worker"); m.Only != fakeslack.Ana {
			t.Error("everybody sees the answer to a command")
		}

		f.answers(func(bot.Request) (bot.Reply, error) {
			c := card("a thread")
			c.Buttons = []bot.Button{{Action: "pf.again", Label: "Again", Value: "c1"}, {Action: "pf.pick", Label: "A", Value: "i:0"}, {Action: "pf.pick", Label: "B", Value: "i:1"},
				{Action: "pf.silence", Label: "Silence", Options: []bot.Option{{Label: "1 h", Value: "i.1h"}}}}
			return bot.Reply{Card: c, Public: true}, nil
		})
		must(f.w.Mention(ctx, fakeslack.Ana, fakeslack.Incidents, "", "cpu a<b & <https> "))
		r := last()
		if r.Kind != bot.RequestMention || r.Text != "cpu a<b & <https>" || r.ThreadTS != "" || r.MessageTS == "" {
			t.Errorf("mention: %+v", r)
		}
		said := f.shows(fakeslack.Incidents, "a thread")
		if said.ThreadTS != r.MessageTS || said.Only != "" {
			t.Errorf("the answer to a mention stands at %q, want in the thread of %q", said.ThreadTS, r.MessageTS)
		}

		f.answers(nil)
		must(f.w.Click(ctx, fakeslack.Ana, said, "pf.pick#1", ""))
		if r := last(); r.Kind != bot.RequestClick || r.ActionID != "pf.pick" || r.Value != "i:1" || r.MessageTS != said.TS || r.ThreadTS != said.ThreadTS {
			t.Errorf("click: %+v", r)
		}
		must(f.w.Click(ctx, fakeslack.Ana, said, "pf.silence", "v1:i.1h"))
		if r := last(); r.ActionID != "pf.silence" || r.Value != "i.1h" {
			t.Errorf("select: %+v", r)
		}

		f.answers(func(bot.Request) (bot.Reply, error) {
			return bot.Reply{Form: &bot.Form{Title: "Capture", Submit: "Go", State: "st", Inputs: []bot.Input{{ID: "worker", Label: "Worker", Kind: "suggest"}, {ID: "for", Label: "For", Kind: "text"}}}}, nil
		})
		must(f.w.Shortcut(ctx, fakeslack.Ana, "profile_thread", said))
		if r := last(); r.Kind != bot.RequestShortcut || r.ActionID != "profile_thread" || r.MessageTS != said.TS || r.ThreadTS != said.ThreadTS {
			t.Errorf("shortcut: %+v", r)
		}
		view := f.view(1)

		f.answers(func(r bot.Request) (bot.Reply, error) {
			var os []bot.Option
			for i := range 100 {
				os = append(os, bot.Option{Label: fmt.Sprintf("%s-%d %s", r.Query, i, strings.Repeat("é", 70)), Value: fmt.Sprintf("w%d", i)})
			}
			return bot.Reply{Options: os}, nil
		})
		if a := must(f.w.Suggest(ctx, fakeslack.Ana, view, "worker", "che")); !bytes.Contains(a.Payload, []byte("che-0")) || len(a.Payload) >= 20<<10 {
			t.Errorf("suggest: %d bytes", len(a.Payload))
		}
		if r := last(); r.Kind != bot.RequestSuggest || r.ActionID != "worker" || r.Query != "che" || r.Value != "st" {
			t.Errorf("suggest: %+v", r)
		}

		f.answers(func(bot.Request) (bot.Reply, error) {
			return bot.Reply{Errors: map[string]string{"worker": "no such Worker"}}, nil
		})
		if a := must(f.w.Submit(ctx, fakeslack.Ana, view, map[string]string{"worker": "x", "for": "10s"})); !bytes.Contains(a.Payload, []byte(`"response_action":"errors"`)) {
			t.Errorf("submit: %s", a.Payload)
		}
		if r := last(); r.Kind != bot.RequestSubmit || r.Values["worker"] != "x" || r.Values["for"] != "10s" || r.Value != "st" {
			t.Errorf("submit: %+v", r)
		}
		f.answers(func(bot.Request) (bot.Reply, error) { return bot.Reply{Card: card("capture begun")}, nil })
		must(f.w.Submit(ctx, fakeslack.Ana, view, map[string]string{"worker": "checkout"}))
		<-f.came
		f.shows("D0ANA000001", "capture begun") // a form has no channel of its own

		f.answers(func(bot.Request) (bot.Reply, error) {
			return bot.Reply{Home: &bot.Home{Cards: []bot.Card{{Title: "Running now", Verdict: "nothing"}}}}, nil
		})
		must(f.w.OpenHome(ctx, fakeslack.Ana))
		if r := last(); r.Kind != bot.RequestHome || r.UserID != fakeslack.Ana {
			t.Errorf("home: %+v", r)
		}
		f.home()
	})
}

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

func TestForgedAndOldRequests(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	f := newOffice(t, &fakeslack.Workspace{}, false, slackio.ReceiverOptions{Now: func() time.Time { return now }})
	body := []byte(url.Values{"command": {"/profile"}, "text": {"help"}, "trigger_id": {"t1"}, "user_id": {fakeslack.Ana}}.Encode())
	send := func(body []byte, change func(http.Header)) int {
		ts, sig := fakeslack.Sign(fakeslack.SigningSecret, now, body)
		req := httptest.NewRequest(http.MethodPost, f.url+"/slack/commands", bytes.NewReader(body))
		req.RequestURI = ""
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("X-Slack-Request-Timestamp", ts)
		req.Header.Set("X-Slack-Signature", sig)
		change(req.Header)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode
	}
	at := func(d time.Duration, secret string) func(http.Header) {
		return func(h http.Header) {
			ts, sig := fakeslack.Sign(secret, now.Add(d), body)
			h.Set("X-Slack-Request-Timestamp", ts)
			h.Set("X-Slack-Signature", sig)
		}
	}
	cases := map[string]struct {
		change func(http.Header)
		want   int
	}{
		"genuine":         {func(http.Header) {}, 200},
		"no signature":    {func(h http.Header) { h.Del("X-Slack-Signature") }, 401},
		"no time":         {func(h http.Header) { h.Del("X-Slack-Request-Timestamp") }, 401},
		"time is a word":  {func(h http.Header) { h.Set("X-Slack-Request-Timestamp", "now") }, 401},
		"empty signature": {func(h http.Header) { h.Set("X-Slack-Signature", "v0=") }, 401},
		"another secret":  {at(0, "guess"), 401},
		"empty secret":    {at(0, ""), 401},
		"6 minutes old":   {at(-6*time.Minute, fakeslack.SigningSecret), 401},
		"6 minutes ahead": {at(6*time.Minute, fakeslack.SigningSecret), 401},
		"4 minutes old":   {at(-4*time.Minute, fakeslack.SigningSecret), 200},
	}
	for name, c := range cases {
		if got := send(body, c.change); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
	ts, sig := fakeslack.Sign(fakeslack.SigningSecret, now, body)
	if got := send(append(slices.Clone(body), "&text=cpu"...), func(h http.Header) { h.Set("X-Slack-Request-Timestamp", ts); h.Set("X-Slack-Signature", sig) }); got != 401 {
		t.Errorf("a changed body: got %d, want 401", got)
	}
	if got := send(bytes.Repeat([]byte("x"), 2<<20), func(http.Header) {}); got != 413 {
		t.Errorf("2 MiB: got %d, want 413", got)
	}
	for _, junk := range []string{"", "payload=", "%zz", "command="} {
		if got := send([]byte(junk), func(http.Header) {}); got != 400 {
			t.Errorf("%q: got %d, want 400", junk, got)
		}
	}
	<-f.came
	if n := len(f.requests()); n != 1 {
		t.Errorf("handled %d times, want once: the other genuine one is a replay", n)
	}
}

func TestChallengeIsAnsweredInPlainText(t *testing.T) {
	f := newOffice(t, &fakeslack.Workspace{}, false, slackio.ReceiverOptions{})
	body := []byte(`{"type":"url_verification","challenge":"abc<b>"}`)
	ts, sig := fakeslack.Sign(fakeslack.SigningSecret, time.Now(), body)
	req := httptest.NewRequest(http.MethodPost, f.url+"/slack/events", bytes.NewReader(body))
	req.RequestURI = ""
	req.Header.Set("X-Slack-Request-Timestamp", ts)
	req.Header.Set("X-Slack-Signature", sig)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, _ := io.ReadAll(res.Body)
	if string(got) != "abc<b>" || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("got %q as %s", got, res.Header.Get("Content-Type"))
	}
}

func TestDuplicates(t *testing.T) {
	both(t, func(t *testing.T, socket bool) {
		f := newOffice(t, &fakeslack.Workspace{AckWithin: 500 * time.Millisecond}, socket, slackio.ReceiverOptions{})
		ctx := t.Context()
		f.answers(func(r bot.Request) (bot.Reply, error) {
			c := card("button")
			c.Buttons = []bot.Button{{Action: "pf.again", Label: "Again", Value: "c1"}}
			return bot.Reply{Card: c, Public: true}, nil
		})
		a, err := f.w.Mention(ctx, fakeslack.Ana, fakeslack.Incidents, "", "status")
		if err != nil {
			t.Fatal(err)
		}
		<-f.came
		for range 3 { // Slack's retries, the last an hour late
			if a, err = f.w.Repeat(ctx, a); err != nil {
				t.Fatal(err)
			}
		}
		late := a.Act
		late.Retry = 2
		late.Payload["event_id"] = "Ev-sent-while-we-were-away"
		if _, err := f.w.Deliver(ctx, late); err != nil {
			t.Fatal(err)
		}
		<-f.came
		if n := len(f.requests()); n != 2 {
			t.Errorf("%d requests, want the first delivery and the retry of one that never came", n)
		}
		m := f.shows(fakeslack.Incidents, "button")
		f.answers(func(bot.Request) (bot.Reply, error) { return bot.Reply{Card: card("begun")}, nil })
		for range 3 {
			if _, err := f.w.Click(ctx, fakeslack.Ana, m, "pf.again", ""); err != nil {
				t.Fatal(err)
			}
		}
		<-f.came
		f.shows(fakeslack.Incidents, "within the last minute")
		w := fakeslack.User{ID: "U0BOB000001", Name: "bob"}
		f.w.AddUser(w)
		if _, err := f.w.Click(ctx, w.ID, m, "pf.again", ""); err != nil {
			t.Fatal(err)
		}
		<-f.came
		if n := len(f.requests()); n != 4 {
			t.Errorf("%d requests, want one more for three clicks, and one of somebody else", n)
		}
		if socket {
			f.w.DropAcks(1)
			if _, err := f.w.Slash(ctx, fakeslack.Ana, fakeslack.Incidents, "/profile status"); err != nil {
				t.Fatal(err)
			}
			<-f.came
			if n := len(f.requests()); n != 5 {
				t.Errorf("%d requests, want one more although it was delivered twice", n)
			}
		}
	})
}

func TestAcknowledgedWhileCapturesRun(t *testing.T) {
	both(t, func(t *testing.T, socket bool) {
		f := newOffice(t, &fakeslack.Workspace{}, socket, slackio.ReceiverOptions{Workers: 2, Waiting: 3})
		release := make(chan struct{})
		f.answers(func(bot.Request) (bot.Reply, error) { <-release; return bot.Reply{}, nil })
		begun := make(chan struct{}, 10)
		f.answers(func(r bot.Request) (bot.Reply, error) {
			begun <- struct{}{}
			<-release
			return bot.Reply{Card: card("done " + r.Text)}, nil
		})
		for i := range 5 {
			if _, err := f.w.Slash(t.Context(), fakeslack.Ana, fakeslack.Incidents, fmt.Sprintf("/profile cpu w%d", i)); err != nil {
				t.Fatalf("command %d: %v", i, err)
			}
			if i < 2 {
				<-begun
			}
		}
		// Two at work, three waiting: the next is told so, not dropped.
		if _, err := f.w.Slash(t.Context(), fakeslack.Ana, fakeslack.Incidents, "/profile cpu w5"); err != nil {
			t.Fatal(err)
		}
		f.shows(fakeslack.Incidents, "Too much is asked at once")
		if !socket {
			if _, err := f.w.Mention(t.Context(), fakeslack.Ana, fakeslack.Incidents, "", "status"); err == nil {
				t.Error("an event was taken that nobody has room for; Slack would not send it again")
			}
		}
		close(release)
		for i := range 5 {
			f.shows(fakeslack.Incidents, fmt.Sprintf("done cpu w%d", i))
		}
	})
}

func TestFaultsOfTheHandler(t *testing.T) {
	f := newOffice(t, &fakeslack.Workspace{}, false, slackio.ReceiverOptions{})
	f.answers(func(bot.Request) (bot.Reply, error) { return bot.Reply{}, errors.New("secret detail") })
	if _, err := f.w.Slash(t.Context(), fakeslack.Ana, fakeslack.Incidents, "/profile status"); err != nil {
		t.Fatal(err)
	}
	if m := f.shows(fakeslack.Incidents, "quote e-"); strings.Contains(m.Plain(), "secret") {
		t.Errorf("the error itself is shown: %s", m.Plain())
	}
	f.answers(func(bot.Request) (bot.Reply, error) { panic("boom") })
	for range 20 {
		if _, err := f.w.Slash(t.Context(), fakeslack.Ana, fakeslack.Incidents, "/profile status"); err != nil {
			t.Fatal(err)
		}
	}
	f.answers(func(bot.Request) (bot.Reply, error) { return bot.Reply{Card: card("alive")}, nil })
	if _, err := f.w.Slash(t.Context(), fakeslack.Ana, fakeslack.Incidents, "/profile status"); err != nil {
		t.Fatal(err)
	}
	f.shows(fakeslack.Incidents, "alive")
}

func TestAnswersFindAWay(t *testing.T) {
	f := newOffice(t, &fakeslack.Workspace{}, false, slackio.ReceiverOptions{Command: "/profile"})
	ctx := t.Context()
	f.answers(func(r bot.Request) (bot.Reply, error) { return bot.Reply{Card: card("answer " + r.Text)}, nil })
	slash := func(user, text string) {
		t.Helper()
		if _, err := f.w.Slash(ctx, user, fakeslack.Incidents, text); err != nil {
			t.Fatal(err)
		}
	}
	f.w.Fail("response_url", 1, fakeslack.Fault{Status: 404})
	slash(fakeslack.Ana, "/profile one")
	f.shows(fakeslack.Incidents, "answer one")
	f.w.Fail("response_url", 1, fakeslack.Fault{Status: 400})
	slash(fakeslack.Ana, "/profile two")
	f.shows(fakeslack.Incidents, "answer two")
	f.w.Fail("response_url", 1, fakeslack.Fault{Status: 429, RetryAfter: time.Second})
	slash(fakeslack.Ana, "/profile three")
	f.shows(fakeslack.Incidents, "answer three")
	// Not in the channel: neither the response URL nor an ephemeral message works.
	f.w.AddUser(fakeslack.User{ID: "U0BOB000001", Name: "bob"})
	f.w.Fail("response_url", 4, fakeslack.Fault{Status: 404})
	slash("U0BOB000001", "/profile four")
	f.shows("D0BOB000001", "answer four")
	slash(fakeslack.Ana, "/other help")
	f.shows(fakeslack.Incidents, "This bot answers to /profile")
}

func TestButtonsOfAnotherVersion(t *testing.T) {
	f := newOffice(t, &fakeslack.Workspace{}, false, slackio.ReceiverOptions{})
	blocks := `[{"type":"actions","elements":[{"type":"button","action_id":"pf.again","value":"v9:c1","text":{"type":"plain_text","text":"x"}}]}]`
	m := fakeslack.Message{Channel: fakeslack.Incidents, TS: "1700000000.000001", Blocks: []byte(blocks)}
	if _, err := f.w.Click(t.Context(), fakeslack.Ana, m, "pf.again", ""); err != nil {
		t.Fatal(err)
	}
	f.shows(fakeslack.Incidents, "another version")
	if n := len(f.requests()); n != 0 {
		t.Errorf("handled %d times", n)
	}
}

func TestSocketsAreRenewed(t *testing.T) {
	f := newOffice(t, &fakeslack.Workspace{AckWithin: 500 * time.Millisecond}, true, slackio.ReceiverOptions{})
	ctx := t.Context()
	ask := func(what string) {
		t.Helper()
		if _, err := f.w.Slash(ctx, fakeslack.Ana, fakeslack.Incidents, "/profile status"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		<-f.came
	}
	for range 3 {
		if err := f.w.Refresh("warning"); err != nil {
			t.Fatal(err)
		}
		ask("while one connection is renewed")
		if err := f.w.WaitSockets(ctx, 2); err != nil {
			t.Fatal(err)
		}
	}
	f.w.CutSockets()
	if err := f.w.WaitSockets(ctx, 2); err != nil {
		t.Fatal(err)
	}
	ask("after both were cut")
	if err := f.r.Health(); err != nil {
		t.Errorf("health: %v", err)
	}
	// An event that the library does not know is acknowledged, not sent for ever.
	odd := fakeslack.Act{Kind: fakeslack.Event, Payload: map[string]any{"type": "event_callback", "event_id": "Ev1", "event": map[string]any{"type": "something_new_2030", "user": fakeslack.Ana}}}
	if a, err := f.w.Deliver(ctx, odd); err != nil || a.Tries != 1 {
		t.Errorf("an unknown event: %+v, %v", a, err)
	}
	own := fakeslack.Act{Kind: fakeslack.Event, Payload: map[string]any{"type": "event_callback", "event_id": "Ev2", "event": map[string]any{"type": "message", "channel_type": "im", "bot_id": "B1", "user": fakeslack.Bot, "text": "x"}}}
	if _, err := f.w.Deliver(ctx, own); err != nil {
		t.Error(err)
	}
	if n := len(f.requests()); n != 4 {
		t.Errorf("%d requests, want 4: the bot must not talk to itself", n)
	}
}

func TestSocketWithARefusedToken(t *testing.T) {
	w := &fakeslack.Workspace{}
	base, err := w.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r := slackio.NewReceiver(slackio.NewClient(fakeslack.BotToken, slackio.ClientOptions{APIURL: base, AppToken: "xapp-wrong"}), &desk{}, slackio.ReceiverOptions{Sockets: 1})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = r.Run(ctx) }()
	defer func() { cancel(); <-done }()
	limit := time.After(10 * time.Second)
	for {
		if err := r.Health(); err != nil && strings.Contains(err.Error(), "Slack refuses") || err != nil && strings.Contains(err.Error(), "SLACK_APP_TOKEN") {
			return
		}
		select {
		case <-limit:
			t.Fatalf("health: %v", r.Health())
		case <-time.After(10 * time.Millisecond):
		}
	}
}
