package slackio_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/bot/slackio"
)

// desk is a Handler that keeps what it was asked.
// office is a receiver between a fake workspace and a desk.
// shows waits until a message with the words is there and returns it.
// transports are the ways in which Slack reaches us.
func TestEveryKindOfRequest(t *testing.T) {
	for name, socket := range transports() {
		t.Run(name, func(t *testing.T) {
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
				c.Buttons = []bot.Button{
					{Action: "pf.again", Label: "Again", Value: "c1"},
					{Action: "pf.pick", Label: "A", Value: "i:0"},
					{Action: "pf.pick", Label: "B", Value: "i:1"},
					{Action: "pf.silence", Label: "Silence", Options: []bot.Option{{Label: "1 h", Value: "i.1h"}}},
				}
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
	for name, socket := range transports() {
		t.Run(name, func(t *testing.T) {
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
}

func TestAcknowledgedWhileCapturesRun(t *testing.T) {
	for name, socket := range transports() {
		t.Run(name, func(t *testing.T) {
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
}
