package slackio_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/bot/slackio"
)

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
