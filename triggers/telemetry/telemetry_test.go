package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snapflame/snapflame/capture/fakecf"
	"github.com/snapflame/snapflame/triggers/telemetry"
)

const token = "s3cret-token"

// queue is the events queue: it remembers message ids as JetStream does.
type queue struct {
	ids    map[string]int // id → how often it was published
	script map[string]string
	data   map[string]string
	order  []string
	refuse func(id string) error
}

func (q *queue) PublishEvent(_ context.Context, script string, data []byte, id string) error {
	if q.refuse != nil {
		if err := q.refuse(id); err != nil {
			return err
		}
	}
	if q.ids == nil {
		q.ids, q.script, q.data = map[string]int{}, map[string]string{}, map[string]string{}
	}
	q.ids[id]++
	q.script[id], q.data[id] = script, string(data)
	q.order = append(q.order, id)
	return nil
}

// store is the shared progress.
type store struct {
	mu  sync.Mutex
	p   telemetry.Progress
	rev uint64
}

var errConflict = errors.New("changed by another writer")

func (s *store) Load(context.Context) (telemetry.Progress, uint64, error) { return s.p, s.rev, nil }

func (s *store) Save(_ context.Context, p telemetry.Progress, rev uint64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rev != s.rev {
		return 0, errConflict
	}
	s.p, s.rev = p, s.rev+1
	return s.rev, nil
}

// world is an account with Workers Logs, polled under a false clock.
type world struct {
	t      *testing.T
	cf     *fakecf.Server
	queue  *queue
	store  *store
	passes []telemetry.Pass
	every  time.Duration
}

func newWorld(t *testing.T) *world {
	return &world{t: t, cf: &fakecf.Server{AccountID: "acc", Token: token}, queue: &queue{}, store: &store{}, every: 10 * time.Second}
}

// run polls for a time, as one process.
func (w *world) run(d time.Duration) error {
	w.t.Helper()
	p, err := telemetry.New(w.queue, w.store, telemetry.Options{
		Account: telemetry.Account{ID: "acc", Token: token, BaseURL: "http://cf/client/v4", HTTP: w.cf.Transport()},
		Every:   w.every, Observe: func(p telemetry.Pass) { w.passes = append(w.passes, p) },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), d)
	defer cancel()
	return p.Run(ctx)
}

// log makes an overload that happened ago and can be found after delay.
func (w *world) log(id string, ago, delay time.Duration) {
	w.t.Helper()
	at := time.Now().Add(-ago)
	w.logRaw(record(id, at, "Durable Object is overloaded. Too many requests queued.", "exception"), at.Add(delay))
}

func (w *world) logRaw(e map[string]any, visible time.Time) {
	w.t.Helper()
	b, err := json.Marshal(e)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.cf.Log(b, visible); err != nil {
		w.t.Fatal(err)
	}
}

func record(id string, at time.Time, text, outcome string) map[string]any {
	return map[string]any{
		"timestamp": at.UnixMilli(), "dataset": "cloudflare-workers", "source": map[string]any{"level": "error", "message": text},
		"$metadata": map[string]any{"id": id, "service": "room-api", "type": "cf-worker-event", "error": text, "level": "error"},
		"$workers":  map[string]any{"scriptName": "room-api", "outcome": outcome, "eventType": "fetch", "executionModel": "stateless"},
	}
}

// once checks that these ids, and no others, were published, once each.
func (w *world) once(ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		if w.queue.ids[id] != 1 {
			w.t.Errorf("%s was published %d times, want once", id, w.queue.ids[id])
		}
	}
	if len(w.queue.ids) != len(ids) {
		w.t.Errorf("%d records were published, want %d: %v", len(w.queue.ids), len(ids), w.queue.order)
	}
}

func (w *world) last() telemetry.Pass {
	w.t.Helper()
	if len(w.passes) == 0 {
		w.t.Fatal("nobody polled")
	}
	return w.passes[len(w.passes)-1]
}

func TestTroubleIsPublishedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		now := time.Now()
		w.log("overloaded", time.Second, 0)
		w.logRaw(record("memory", now, "", "exceededMemory"), now)
		w.logRaw(record("cpu", now, "", "exceededCpu"), now)
		w.logRaw(record("account", now, "Your account is generating too much load on Durable Objects. Please back off and try again later.", "exception"), now)
		line := record("line", now, "", "ok")
		line["$metadata"].(map[string]any)["message"] = "caught: Worker exceeded memory limit."
		w.logRaw(line, now)
		w.logRaw(record("healthy", now, "", "ok"), now)
		w.logRaw(record("other", now, "TypeError: x is not a function", "exception"), now)
		w.log("old", 10*time.Minute, 0)
		if err := w.run(175 * time.Second); err != nil {
			t.Fatal(err)
		}
		w.once("overloaded", "memory", "cpu", "account", "line")
		if w.queue.order[0] != "overloaded" {
			t.Errorf("published in the order %v, want the oldest first", w.queue.order)
		}
		if w.queue.script["overloaded"] != "room-api" || !strings.Contains(w.queue.data["overloaded"], `"$metadata"`) {
			t.Errorf("published %q for %q", w.queue.data["overloaded"], w.queue.script["overloaded"])
		}
		if n := len(w.passes); n != 18 {
			t.Errorf("%d polls in three minutes of one every 10 s", n)
		}
	})
}

// TestEveryRecordOnceWhateverHappens polls through hours of late records,
// failures, restarts and clocks that are off, and compares with what was logged.
func TestEveryRecordOnceWhateverHappens(t *testing.T) {
	seeds := uint64(3)
	if os.Getenv("SNAPFLAME_LONG") != "" {
		seeds = 200
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			dice := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) } // one for each goroutine
			rnd, api, queue, traffic := dice(1), dice(2), dice(3), dice(4)
			w := newWorld(t)
			w.cf.Fault = func(fakecf.Request) *fakecf.Fault {
				switch api.IntN(12) {
				case 0:
					return &fakecf.Fault{Any: true, Status: 500}
				case 1:
					return &fakecf.Fault{Any: true, ResetBefore: true}
				case 2:
					return &fakecf.Fault{Any: true, Status: http.StatusTooManyRequests, RetryAfter: "20"}
				}
				return nil
			}
			w.queue.refuse = func(string) error {
				if queue.IntN(40) == 0 {
					return errors.New("no answer")
				}
				return nil
			}
			var ids []string
			stop := make(chan struct{})
			done := make(chan struct{})
			go func() {
				defer close(done)
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					case <-time.After(time.Duration(traffic.IntN(8000)) * time.Millisecond):
					}
					id := fmt.Sprintf("id-%d", n)
					ids = append(ids, id)
					w.log(id, 0, time.Duration(traffic.IntN(120))*time.Second)
				}
			}()
			for range 10 {
				_ = w.run(time.Duration(60+rnd.IntN(600)) * time.Second) // then the process dies
				time.Sleep(time.Duration(rnd.IntN(120)) * time.Second)
			}
			close(stop)
			<-done
			w.cf.Fault, w.queue.refuse = nil, nil
			if err := w.run(10 * time.Minute); err != nil {
				t.Fatal(err)
			}
			w.once(ids...)
		})
	}
}

func TestALateRecordIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		go func() {
			time.Sleep(2 * time.Minute)
			w.log("late", 0, 3*time.Minute)
		}()
		if err := w.run(10 * time.Minute); err != nil {
			t.Fatal(err)
		}
		w.once("late")
		sum := 0
		for _, p := range w.passes {
			sum += p.Late
		}
		if sum != 1 {
			t.Errorf("%d records counted as late, want 1", sum)
		}
	})
}

func TestAnotherReplicaGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.log("first", time.Second, 0)
		if err := w.run(25 * time.Second); err != nil {
			t.Fatal(err)
		}
		w.log("between", 0, 0)
		time.Sleep(4 * time.Minute)
		if err := w.run(time.Minute); err != nil {
			t.Fatal(err)
		}
		w.once("first", "between")
		for _, p := range w.passes {
			if p.Missed != 0 {
				t.Errorf("missed %s", p.Missed)
			}
		}
		time.Sleep(time.Hour)
		w.log("recent", 5*time.Minute, 0)
		w.log("forgotten", 30*time.Minute, 0)
		if err := w.run(time.Second); err != nil {
			t.Fatal(err)
		}
		w.once("first", "between", "recent")
		if m := w.last().Missed; m < 44*time.Minute || m > 46*time.Minute {
			t.Errorf("missed %s are told, want about 45m", m)
		}
	})
}

func TestAStormIsReadByPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var ids []string
		for i := range 4500 {
			ids = append(ids, fmt.Sprintf("s%04d", i))
			w.log(ids[i], time.Duration(i)*10*time.Millisecond, 0)
		}
		if err := w.run(2 * time.Minute); err != nil {
			t.Fatal(err)
		}
		w.once(ids...)
		if c := w.passes[0].Calls; c != 5 {
			t.Errorf("%d calls for 4,500 records, want 5", c)
		}
		offset := 0
		for _, r := range w.cf.Requests() {
			if strings.Contains(r.Body, `"offset":"s`) && strings.Contains(r.Body, `"offsetDirection":"next"`) {
				offset++
			}
		}
		if offset < 4 {
			t.Errorf("%d calls by offset, want 4", offset)
		}
	})
}

// TestAStormBeyondAllBounds has more records than a window takes and more than
// can be remembered: some are left out and counted, none comes twice, and the
// calls stay within the share.
func TestAStormBeyondAllBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.every = 5 * time.Second
		go func() {
			for i := range 23 {
				for k := range 1000 {
					w.log(fmt.Sprintf("s%d.%d", i, k), time.Duration(k)*time.Millisecond, 0)
				}
				time.Sleep(2 * time.Second)
			}
		}()
		if err := w.run(2 * time.Minute); err != nil {
			t.Fatal(err)
		}
		calls, skipped := 0, 0
		for _, p := range w.passes {
			calls += p.Calls
			skipped += p.Skipped
		}
		for id, n := range w.queue.ids {
			if n != 1 {
				t.Fatalf("%s was published %d times", id, n)
			}
		}
		if calls > 69 {
			t.Errorf("%d calls in two minutes, want at most the 48 of its share and the first 20 at once", calls)
		}
		if len(w.queue.ids) < 10_000 || len(w.queue.ids) < 23_000 && skipped == 0 {
			t.Errorf("%d of 23,000 published and %d said to be left out", len(w.queue.ids), skipped)
		}
		if n := len(w.store.p.Seen); n > 12*20_001 {
			t.Errorf("the progress holds %d bytes of ids", n)
		}
	})
}

func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fault  fakecf.Fault
		change func(*world)
		reason telemetry.Reason
		wait   time.Duration // until the next poll
		text   string
	}{
		{name: "429 in seconds", fault: fakecf.Fault{Status: 429, RetryAfter: "90"}, reason: telemetry.ReasonRateLimited, wait: 90 * time.Second, text: "too many calls"},
		{name: "429 without a time", fault: fakecf.Fault{Status: 429}, reason: telemetry.ReasonRateLimited, wait: 5 * time.Minute, text: "too many calls"},
		{name: "no permission", change: func(w *world) { w.cf.NoLogs = true }, reason: telemetry.ReasonForbidden, wait: time.Second, text: "Workers Observability Read"},
		{name: "wrong token", change: func(w *world) { w.cf.Token = "another" }, reason: telemetry.ReasonForbidden, wait: time.Second, text: "Invalid API Token"},
		{name: "bad request", fault: fakecf.Fault{Status: 400, Message: "filters: " + token}, reason: telemetry.ReasonRefused, wait: time.Second, text: "[token]"},
		{name: "server error", fault: fakecf.Fault{Status: 502, Body: []byte("<html>bad gateway</html>")}, reason: telemetry.ReasonServer, wait: time.Second, text: "status 502"},
		{name: "HTML with 200", fault: fakecf.Fault{Body: []byte("<html>sign in</html>")}, reason: telemetry.ReasonServer, wait: time.Second, text: "not what the API gives"},
		{name: "redirect", fault: fakecf.Fault{Status: 302, Body: []byte("x")}, reason: telemetry.ReasonServer, wait: time.Second, text: "status 302"},
		{name: "still running", fault: fakecf.Fault{Body: []byte(`{"success":true,"result":{"run":{"status":"STARTED"},"events":{"count":0,"events":[]}}}`)}, reason: telemetry.ReasonServer, wait: time.Second, text: "did not end"},
		{name: "reset", fault: fakecf.Fault{ResetBefore: true}, reason: telemetry.ReasonUnreachable, wait: time.Second, text: "reset"},
		{name: "hang", fault: fakecf.Fault{Hang: true}, reason: telemetry.ReasonUnreachable, wait: time.Second, text: "deadline"},
		{name: "queue away", change: func(w *world) {
			n := 0
			w.queue.refuse = func(string) error {
				if n++; n == 1 {
					return errors.New("no answer")
				}
				return nil
			}
		}, reason: telemetry.ReasonQueue, wait: time.Second, text: "no answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.log("one", time.Second, 0)
				if tt.change != nil {
					tt.change(w)
				} else {
					tt.fault.Any = true
					w.cf.NextFaults(tt.fault)
				}
				if err := w.run(10 * time.Minute); err != nil {
					t.Fatal(err)
				}
				p := w.passes[0]
				if p.Reason != tt.reason || p.Wait != tt.wait || !strings.Contains(fmt.Sprint(p.Err), tt.text) {
					t.Errorf("%s, waits %s: %v; want %s, %s, %q", p.Reason, p.Wait, p.Err, tt.reason, tt.wait, tt.text)
				}
				if strings.Contains(fmt.Sprint(p.Err), token) {
					t.Errorf("the token is in %q", p.Err)
				}
				if w.last().Reason == telemetry.ReasonDone {
					w.once("one")
				} else if w.last().Wait < 4*time.Minute {
					t.Errorf("after ten minutes of failures it waits %s only", w.last().Wait)
				}
			})
		})
	}
}

func TestARetryAfterDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.cf.NextFaults(fakecf.Fault{Any: true, Status: 429, RetryAfter: time.Now().Add(2 * time.Minute).UTC().Format(http.TimeFormat)})
		if err := w.run(time.Second); err != nil {
			t.Fatal(err)
		}
		if p := w.last(); p.Wait < 119*time.Second || p.Wait > 2*time.Minute {
			t.Errorf("waits %s, want about 2m", p.Wait)
		}
	})
}

// TestALostLeaseEndsIt lets another replica store its progress meanwhile.
func TestALostLeaseEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		go func() {
			time.Sleep(15 * time.Second)
			w.store.mu.Lock()
			defer w.store.mu.Unlock()
			w.store.rev++
		}()
		err := w.run(time.Minute)
		if !errors.Is(err, errConflict) || w.last().Reason != telemetry.ReasonProgress {
			t.Errorf("ended with %v (%s), want the conflict", err, w.last().Reason)
		}
	})
}

func TestOddRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := time.Now().UnixMilli()
		body := fmt.Sprintf(`{"success":true,"result":{"run":{"status":"COMPLETED"},"events":{"count":5,"events":[
			{"timestamp":%d,"$metadata":{"service":"s"},"source":"no id"},
			{"timestamp":%d,"$metadata":{"id":"a\r\nNats-Expected-Stream: x","service":"s"}},
			{"timestamp":"soon","$metadata":{"id":"no-time"}},
			{
			  "timestamp":%d, "$metadata":{"id":"lines"}
			},
			7]}}}`, at, at, at)
		w.cf.NextFaults(fakecf.Fault{Any: true, Body: []byte(body)})
		w.queue.refuse = func(id string) error {
			if id == "lines" {
				return fmt.Errorf("put: %w", telemetry.ErrTooLarge)
			}
			return nil
		}
		if err := w.run(30 * time.Second); err != nil {
			t.Fatal(err)
		}
		if p := w.passes[0]; p.Published != 4 || p.Skipped != 1 || p.Reason != telemetry.ReasonDone {
			t.Errorf("got %+v", p)
		}
		for id, data := range w.queue.data {
			if strings.ContainsAny(id, "\r\n ") || strings.Contains(data, "\n") {
				t.Errorf("published %q under %q", data, id)
			}
		}
	})
}

func TestNewRefuses(t *testing.T) {
	good := telemetry.Options{Every: time.Minute, Account: telemetry.Account{ID: "a", Token: "t", BaseURL: "https://cf"}}
	for name, change := range map[string]func(*telemetry.Options){
		"cloudflare.poll":           func(o *telemetry.Options) { o.Every = 0 },
		"CLOUDFLARE_API_BASE_URL":   func(o *telemetry.Options) { o.Account.BaseURL = "ftp://cf" },
		"CLOUDFLARE_API_TOKEN":      func(o *telemetry.Options) { o.Account.Token = "" },
		"needs CLOUDFLARE_ACCOUNT_": func(o *telemetry.Options) { o.Account.ID = "" },
	} {
		o := good
		change(&o)
		if _, err := telemetry.New(&queue{}, &store{}, o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error that names %s", err, name)
		}
	}
}

// FuzzAnswer gives the reader whatever a proxy may send.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"success":true,"result":{"events":{"count":1,"events":[{"timestamp":1,"$metadata":{"id":"x"}}]}}}`))
	f.Add([]byte(`{"success":false,"errors":[{"code":1,"message":"no"}]}`))
	f.Add([]byte(`{"result":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			p, err := telemetry.New(w.queue, w.store, telemetry.Options{
				Account: telemetry.Account{ID: "acc", Token: token, BaseURL: "http://cf", HTTP: always(body)}, Every: time.Minute,
				Observe: func(p telemetry.Pass) { w.passes = append(w.passes, p) },
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
			defer cancel()
			if err := p.Run(ctx); err != nil {
				t.Fatal(err)
			}
			for id, n := range w.queue.ids {
				if n != 1 {
					t.Errorf("%q was published %d times", id, n)
				}
			}
		})
	})
}

type always []byte

func (b always) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(b))), Request: r}, nil
}
