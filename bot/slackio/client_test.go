package slackio_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/bot/slackio"
)

func TestAPIBase(t *testing.T) {
	cases := map[string]string{
		"":                         "https://slack.com/api/",
		"https://slack.com":        "https://slack.com/api/",
		"https://slack.com/":       "https://slack.com/api/",
		"https://slack.com/api":    "https://slack.com/api/",
		"https://slack.com/api/":   "https://slack.com/api/",
		"http://127.0.0.1:99/api/": "http://127.0.0.1:99/api/",
		"http://proxy/slack":       "http://proxy/slack/api/",
		"http://proxy/slack/api//": "http://proxy/slack/api/",
		"slack.com/api/":           "",
		"ftp://slack.com":          "",
		"https://u:p@slack.com":    "",
		"https://slack.com/?a=b":   "",
	}
	for in, want := range cases {
		got, err := slackio.APIBase(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", in, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "u:p") {
			t.Errorf("the error repeats a password: %v", err)
		}
	}
}

func fakeClient(w *fakeslack.Workspace, token string) *slackio.Client {
	return slackio.NewClient(token, slackio.ClientOptions{APIURL: "http://slack.test/api/", AppToken: fakeslack.AppToken, HTTP: &http.Client{Transport: w.Transport(), Timeout: 5 * time.Second}})
}

func TestDoctor(t *testing.T) {
	const other, private, old = "C0OTHER0000", "G0PRIVATE00", "C0ARCHIVED0"
	all := slackio.CheckOptions{Channels: []string{fakeslack.Incidents, "#incidents", other, private, old}, Command: "/profile", Socket: true, Groups: true}
	w := &fakeslack.Workspace{}
	w.AddChannel(fakeslack.Channel{ID: other, Name: "other"})
	w.AddChannel(fakeslack.Channel{ID: private, Name: "private", Private: true})
	w.AddChannel(fakeslack.Channel{ID: old, Name: "old", Member: true, Archived: true})
	var got []string
	for _, f := range fakeClient(w, fakeslack.BotToken).Check(t.Context(), all) {
		mark := "ok   "
		if !f.OK {
			mark = "FAIL "
		}
		got = append(got, mark+f.Name+": "+f.Detail+" | "+f.Fix)
	}
	golden(t, "doctor.txt", strings.Join(got, "\n")+"\n")

	w.SetScopes("chat:write")
	for _, f := range fakeClient(w, fakeslack.BotToken).Check(t.Context(), all) {
		if f.Name == "slack scopes" && (f.OK || !strings.Contains(f.Detail, "files:write (flamegraphs in threads)")) {
			t.Errorf("scopes: %+v", f)
		}
	}
	bad := fakeClient(w, "xoxb-secret").Check(t.Context(), all)
	if len(bad) != 1 || bad[0].OK || !strings.Contains(bad[0].Fix, "SLACK_BOT_TOKEN") || strings.Contains(bad[0].Fix+bad[0].Detail, "xoxb-secret") {
		t.Errorf("a wrong token: %+v", bad)
	}
	w.Outage(true)
	if down := fakeClient(w, fakeslack.BotToken).Check(t.Context(), all); len(down) != 1 || !strings.Contains(down[0].Fix, "cannot be reached") {
		t.Errorf("Slack is down: %+v", down)
	}
}

func TestInGroup(t *testing.T) {
	w := &fakeslack.Workspace{}
	w.AddUser(fakeslack.User{ID: "U0BOB000001", Name: "bob", Groups: []string{"S0ONCALL001"}})
	c := fakeClient(w, fakeslack.BotToken)
	for user, want := range map[string]bool{"U0BOB000001": true, fakeslack.Ana: false} {
		if got, err := c.InGroup(t.Context(), user, "S0ONCALL001"); got != want || err != nil {
			t.Errorf("%s: got %v, %v", user, got, err)
		}
	}
	if n := len(w.Log()); n != 1 {
		t.Errorf("%d calls for two questions, want one", n)
	}
	if _, err := c.InGroup(t.Context(), fakeslack.Ana, "S0UNKNOWN01"); err == nil {
		t.Error("an unknown group is no error")
	}
}

func TestPermalink(t *testing.T) {
	if got := slackio.Permalink("https://x.slack.com/", "C1", "1700000000.000123"); got != "https://x.slack.com/archives/C1/p1700000000000123" {
		t.Errorf("got %s", got)
	}
}

func TestValidChannel(t *testing.T) {
	for in, ok := range map[string]bool{"C0INCIDENTS": true, "G0PRIVATE00": true, "#incidents": false, "incidents": false, "": false, "c0incidents": false, "U0ANA000001": false} {
		if err := slackio.ValidChannel(in); (err == nil) != ok {
			t.Errorf("%q: %v", in, err)
		}
	}
	for in, ok := range map[string]bool{"/profile": true, "profile": false, "/Profile": false, "/": false, "/" + strings.Repeat("a", 32): false} {
		if err := slackio.ValidCommand(in); (err == nil) != ok {
			t.Errorf("%q: %v", in, err)
		}
	}
}
