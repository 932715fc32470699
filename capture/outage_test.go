package capture_test

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/capture/cloudflare"
	"github.com/snapflame/snapflame/capture/fakecf"
)

// unresolved is a network without names for a while.
type unresolved struct {
	next  http.RoundTripper
	until time.Time
	calls *int
}

func (u unresolved) RoundTrip(r *http.Request) (*http.Response, error) {
	if time.Now().Before(u.until) {
		*u.calls++
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: r.URL.Host, IsNotFound: true}}
	}
	return u.next.RoundTrip(r)
}

// TestCloudflareAwayForAnHour lets the real client meet an hour of each way to
// be away, and a clock that jumps in the middle of it. What surely has not been
// profiled is captured afterwards; what may have been is not asked for ever, and
// says so. Meanwhile Cloudflare is asked now and then, not all the time.
func TestCloudflareAwayForAnHour(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fault  *fakecf.Fault
		dns    bool
		stored bool // all are, in the end
	}{
		{"500 of the API", &fakecf.Fault{Status: 500, Code: 10001, Message: "internal error", Any: true}, false, false},
		{"502 of a proxy", &fakecf.Fault{Status: 502, Body: []byte("<html>bad gateway</html>"), ContentType: "text/html", Any: true}, false, true},
		{"503 on profiles", &fakecf.Fault{Status: 503, Body: []byte("upstream"), ContentType: "text/plain"}, false, true},
		{"429 with a time", &fakecf.Fault{Status: 429, Code: 10429, Message: "Too many", RetryAfter: "45"}, false, true},
		{"429 without", &fakecf.Fault{Status: 429, Code: 10429, Message: "Too many"}, false, true},
		{"hang", &fakecf.Fault{Hang: true}, false, false},
		{"hang of everything", &fakecf.Fault{Hang: true, Any: true}, false, true},
		{"reset", &fakecf.Fault{ResetBefore: true}, false, true},
		{"no names", nil, true, true},
	} {
		for _, jump := range []time.Duration{0, 3 * time.Hour, -3 * time.Hour} {
			t.Run(fmt.Sprintf("%s, clock %+v", tt.name, jump), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					end := time.Now().Add(time.Hour)
					now := func() time.Time {
						if time.Until(end) < 30*time.Minute {
							return time.Now().Add(jump)
						}
						return time.Now()
					}
					calls := 0
					cf := &fakecf.Server{AccountID: "acc"}
					cf.AddWorker(fakecf.Worker{Name: "api", Versions: []fakecf.Version{{ID: v1, Percent: 100}}})
					cf.Fault = func(r fakecf.Request) *fakecf.Fault {
						if time.Now().Before(end) && tt.fault != nil && (tt.fault.Any || r.Profile()) {
							calls++
							return tt.fault
						}
						return nil
					}
					data := sample(t)
					cf.Bytes = func(fakecf.Capture) []byte { return data }
					until := end
					if !tt.dns {
						until = time.Time{}
					}
					api, err := cloudflare.New(cloudflare.Options{
						AccountID: "acc", Token: "x", BaseURL: "http://cf", Now: now,
						HTTP: unresolved{cf.Transport(), until, &calls},
					})
					if err != nil {
						t.Fatal(err)
					}
					w := newWorld()
					w.now = now
					for i := range 3 {
						w.submit(capture.Job{
							ID: strconv.Itoa(i), Target: capture.Target{Kind: capture.Worker, Script: "api"}, Type: capture.CPU,
							Duration: 10 * time.Second, Cause: capture.CauseIncident, QueuedAt: now(),
						})
					}
					run(t, w, w.parts(api, api), capture.Options{Now: now, MaxWait: 12 * time.Hour}, 9*time.Hour)
					if w.left() > 0 {
						t.Fatalf("%d captures have no end", w.left())
					}
					for id, r := range w.records {
						if !r.Final() || tt.stored && r.State != capture.Stored || r.State == capture.Failed && r.Failure == nil {
							t.Errorf("capture %s is %s for %v: %v", id, r.State, r.WaitFor, r.Failure)
						}
					}
					if calls > 300 {
						t.Errorf("%d requests in the hour", calls)
					}
					if r := w.budget.Running; len(r) > 0 {
						t.Errorf("still reserved: %v", r)
					}
				})
			})
		}
	}
}
