package main

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/capture/fakecf"
)

// No secret comes out anywhere: not in the log at its most talkative, in
// metrics, pages, the API, Slack, a dead letter, nor in what the commands print
// when services refuse the secret.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world) {
		w.env["SNAPFLAME_LOG_LEVEL"] = "debug"
		w.env["SNAPFLAME_NATS_TOKEN"] = "nats-secret-token"
	})
	w.nats = "nats-secret-token@" + w.nats // for the test's own client
	w.cf.NextFaults(
		fakecf.Fault{Status: http.StatusForbidden, Code: 10000, Message: "Authentication error for Bearer " + w.cf.Token},
		fakecf.Fault{Body: []byte("<html>Authorization: Bearer " + w.cf.Token), ContentType: "text/html"},
	)
	w.serve()
	w.publish(own(roomObject, time.Now()), []byte("{"))
	w.post(own(roomObject, time.Now()))
	w.await("the incident has ended in a report or a reason", func() bool {
		return w.metric("snapflame_captures_total") > 0 && w.metric("snapflame_dead_letters_total") > 0 && len(w.roots()) == 1
	})
	w.slack.SetScopes() // every post is refused from here on
	if _, err := w.slack.Slash(t.Context(), fakeslack.Ana, fakeslack.Incidents, "/profile status"); err != nil {
		t.Log(err)
	}
	shown := map[string]string{}
	for _, p := range []string{
		"/metrics", "/readyz", "/", "/incidents", "/objects", "/api/v1/incidents", "/api/v1/captures", "/api/v1/objects", "/api/v1/decisions",
		"/api/v1/dead-letters", "/nowhere",
	} {
		shown[p] = w.get(p)
	}
	shown["Slack"] = w.slack.Transcript()
	for _, args := range [][]string{{"doctor"}, {"config", "show"}, {"config", "check"}, {"capture", "room-api", "-o", t.TempDir() + "/x"}} {
		for _, spoilt := range []bool{false, true} {
			var out bytes.Buffer
			run(t.Context(), args, strings.NewReader(""), &out, &out, func(k string) string {
				if spoilt && strings.HasSuffix(k, "_TOKEN") && w.env[k] != "" {
					return w.env[k] + "-spoilt"
				}
				return w.env[k]
			})
			shown[strings.Join(args, " ")] += out.String()
		}
	}
	if err := w.stop(); err != nil {
		t.Errorf("stopped with %v", err)
	}
	shown["the log"] = w.logs.String()
	secrets := []string{
		w.env["CLOUDFLARE_API_TOKEN"], w.env["SLACK_BOT_TOKEN"], w.env["SLACK_APP_TOKEN"], w.env["SLACK_SIGNING_SECRET"],
		w.env["SNAPFLAME_INGEST_TOKEN"], w.env["SNAPFLAME_API_TOKEN"], w.env["SNAPFLAME_NATS_TOKEN"],
	}
	for where, text := range shown {
		if len(text) == 0 {
			t.Errorf("%s shows nothing at all", where)
		}
		for _, s := range secrets {
			if i := strings.Index(text, s); i >= 0 {
				t.Errorf("%s shows a secret: …%s…", where, text[max(0, i-120):min(len(text), i+len(s)+20)])
			}
		}
	}
}
