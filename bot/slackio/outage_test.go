package slackio_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/bot/slackio"
)

// TestSlackAwayForAnHour: each way to be away, for an hour, and a restart with
// another clock in the middle of it. Everything arrives afterwards, each message once.
func TestSlackAwayForAnHour(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault fakeslack.Fault
	}{
		{"429", fakeslack.Fault{Status: http.StatusTooManyRequests, RetryAfter: 30 * time.Second}},
		{"500", fakeslack.Fault{Status: http.StatusInternalServerError}},
		{"503", fakeslack.Fault{Status: http.StatusServiceUnavailable}},
		{"internal_error", fakeslack.Fault{Error: "internal_error"}},
		{"hang", fakeslack.Fault{Delay: time.Minute, Status: http.StatusServiceUnavailable}},
		{"reset", fakeslack.Fault{Reset: fakeslack.Before}},
		{"reset after the effect", fakeslack.Fault{Reset: fakeslack.After}},
	} {
		for _, jump := range []time.Duration{0, 3 * time.Hour, -3 * time.Hour} {
			t.Run(fmt.Sprintf("%s, clock %+v", tt.name, jump), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					end := time.Now().Add(time.Hour)
					b := newBench(t, &fakeslack.Workspace{Scopes: append(fakeslack.DefaultScopes(), "channels:history")})
					b.w.Hook = func(fakeslack.Call) *fakeslack.Fault {
						if time.Now().Before(end) {
							return &tt.fault
						}
						return nil
					}
					_, stop := b.start(slackio.SenderOptions{})
					for i := range 6 {
						if i == 3 {
							// Within a process the monotonic clock goes on; what was
							// written down is what a jump makes wrong.
							stop()
							_, stop = b.start(slackio.SenderOptions{Now: func() time.Time { return time.Now().Add(jump) }})
						}
						key := fmt.Sprintf("k%d", i)
						b.put(root(key, "first"))
						time.Sleep(10 * time.Minute)
						b.put(reply(key, "report"), root(key, "last"))
					}
					if calls := len(b.w.Log()); calls > 700 {
						t.Errorf("%d calls in the hour", calls)
					}
					b.drain(20 * time.Minute)
					stop()
					seen := map[string]int{}
					for _, m := range b.w.Messages(fakeslack.Incidents) {
						seen[m.Key()]++
						if strings.HasSuffix(m.Key(), ".root") && m.Text != "last" {
							t.Errorf("%s says %q, want the newest", m.Key(), m.Text)
						}
					}
					for i := range 6 {
						for _, kind := range []string{"root", "report"} {
							// By a clock that is hours from Slack's, a message whose answer was
							// lost is looked for at the wrong time and sent once more.
							most := 1
							if jump != 0 && tt.fault.Reset == fakeslack.After {
								most = 2
							}
							if key := fmt.Sprintf("k%d.%s", i, kind); seen[key] < 1 || seen[key] > most {
								t.Errorf("%s stands %d times in the channel, want once", key, seen[key])
							}
						}
					}
				})
			})
		}
	}
}
