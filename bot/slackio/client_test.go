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
