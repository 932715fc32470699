package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/capture/fakecf"
)

// killStep is a moment at which the service is killed: the first time that one
// of its tests says so after it was armed.
type killStep struct {
	name string
	// tap tests what is published to the queue's server, about when it is stored.
	tap func(subject, data string) bool
	// api is a point in a request for a profile.
	api string
	// slack tests a call; when says on which side of its effect the kill is, and
	// flight for how long the request is still on its way after the kill.
	slack  func(c fakeslack.Call) bool
	when   fakeslack.Moment
	flight time.Duration
	random bool
}

// killSteps is every durable step on the path of an event, in its order.
func killSteps() []killStep {
	on := func(prefix string, words ...string) func(string, string) bool {
		return func(subject, data string) bool {
			if !strings.HasPrefix(subject, prefix) {
				return false
			}
			for _, w := range words {
				if not, ok := strings.CutPrefix(w, "!"); ok == strings.Contains(subject+" "+data, strings.TrimPrefix(not, "!")) {
					return false
				}
			}
			return true
		}
	}
	steps := []killStep{
		{name: "event stored", tap: on("workers.events.")},
		{name: "case written", tap: on("$KV.snapflame_incidents.open.")},
		{name: "job queued", tap: on("snapflame.jobs.")},
		{name: "root in the outbox", tap: on("snapflame.outbox.", ".root")},
		{name: "event acknowledged", tap: on("$JS.ACK.WORKERS_EVENTS.")},
		{name: "place reserved", tap: on("$KV.snapflame_state.", `"running":{"`)},
		{name: "record started", tap: on("$KV.snapflame_records.", `"state":"started"`)},
		{name: "API asked, before its effect", api: "asked"},
		{name: "API hangs", api: "hangs"},
		{name: "API runs", api: "runs"},
		{name: "API answers, before a byte", api: "answers"},
		{name: "API answered", api: "answered"},
		{name: "profile stored", tap: on("$O.snapflame_captures.M.")},
		{name: "record stored", tap: on("$KV.snapflame_records.", `"state":"stored"`)},
		{name: "report in the outbox", tap: on("snapflame.outbox.", ".report.")},
		{name: "picture in the outbox", tap: on("snapflame.outbox.", ".png.")},
		{name: "job done", tap: on("$JS.ACK.SNAPFLAME_JOBS.")},
		{name: "root claimed", tap: on("$KV.snapflame_state.sent.", ".root", `!"ts":"`)},
		{name: "root recorded", tap: on("$KV.snapflame_state.sent.", ".root", `"ts":"`)},
		{name: "post acknowledged", tap: on("$JS.ACK.SNAPFLAME_OUTBOX.")},
		{name: "file id recorded", tap: on("$KV.snapflame_state.sent.", ".png.", `"file_id":"`)},
		{name: "closing notice in the outbox", tap: on("snapflame.outbox.", ".closed")},
		{name: "case archived", tap: on("$KV.snapflame_incidents.closed.")},
		{name: "random", random: true},
	}
	for _, c := range []struct{ name, method, key string }{
		{"root", "chat.postMessage", ".root"},
		{"evidence", "chat.postMessage", ".evidence"},
		{"report", "chat.postMessage", ".report."},
		{"closing notice", "chat.postMessage", ".closed"},
		{"root's update", "chat.update", ""},
		{"picture announced", "files.getUploadURLExternal", ""},
		{"picture transferred", "upload", ""},
		{"picture completed", "files.completeUploadExternal", ""},
	} {
		match := func(call fakeslack.Call) bool { return call.Method == c.method && strings.Contains(call.Key, c.key) }
		steps = append(steps,
			killStep{name: c.name + ", before its effect", slack: match, when: fakeslack.Before},
			killStep{name: c.name + ", after its effect", slack: match, when: fakeslack.After},
			killStep{name: c.name + ", on its way", slack: match, when: fakeslack.After, flight: 700 * time.Millisecond})
	}
	return steps
}

// arm makes the step the next at which the service dies. The channel is closed
// when it has.
func (m *matrix) arm(s killStep) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.armed, m.fired, m.target = &s, make(chan struct{}), m.process.Process
	if s.random {
		wait := time.Duration(m.rnd.Int64N(int64(4 * time.Second)))
		time.AfterFunc(wait, func() { m.strike(s.name) })
	}
	return m.fired
}

// take disarms the step when it is the one that test accepts.
func (m *matrix) take(test func(s *killStep) bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.armed == nil || !test(m.armed) {
		return false
	}
	m.armed = nil
	return true
}

// strike kills the service and returns when it is dead. An empty name kills
// whatever is armed.
func (m *matrix) strike(name string) {
	if m.take(func(s *killStep) bool { return name == "" || s.name == name }) {
		m.dead()
	}
}

func (m *matrix) dead() {
	p, fired := m.target, m.fired
	_ = p.Kill()
	for !errors.Is(p.Signal(signalZero), os.ErrProcessDone) {
		time.Sleep(time.Millisecond)
	}
	close(fired)
}

// hooks let the fakes kill exactly at a step.
func (m *matrix) hooks() {
	m.slack.Hook = func(c fakeslack.Call) *fakeslack.Fault {
		if strings.HasPrefix(c.Method, "chat.") || strings.HasPrefix(c.Method, "files.") || strings.HasPrefix(c.Method, "conversations.") {
			m.heard()
		}
		var s killStep
		if !m.take(func(a *killStep) bool { s = *a; return a.slack != nil && a.slack(c) }) {
			return nil
		}
		m.dead()
		return &fakeslack.Fault{Reset: s.when, Delay: s.flight}
	}
	atAPI := func(point string) bool { return m.take(func(s *killStep) bool { return s.api == point }) }
	m.cf.Fault = func(r fakecf.Request) *fakecf.Fault {
		switch {
		case !r.Profile():
		case atAPI("asked"):
			m.dead()
			return &fakecf.Fault{ResetBefore: true}
		case atAPI("hangs"):
			time.AfterFunc(300*time.Millisecond, m.dead)
			return &fakecf.Fault{Hang: true}
		}
		return m.next(r)
	}
	m.cf.OnCapture = func(fakecf.Capture) {
		if atAPI("runs") {
			m.dead()
		}
	}
	m.cf.Bytes = func(fakecf.Capture) []byte {
		switch {
		case atAPI("answers"):
			m.dead()
		case atAPI("answered"):
			time.AfterFunc(m.jitter(5*time.Millisecond), m.dead)
		}
		return nil
	}
}

// heard notes the first word to Slack after a kill.
func (m *matrix) heard() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.since.IsZero() || m.listening >= len(m.kills) {
		return
	}
	m.kills[m.listening].spoke, m.since = time.Since(m.since), time.Time{}
}

func (m *matrix) jitter(most time.Duration) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Duration(m.rnd.Int64N(int64(most)))
}

// saw is the tap.
func (m *matrix) saw(subject string, data []byte) {
	if m.take(func(s *killStep) bool { return s.tap != nil && s.tap(subject, string(data)) }) {
		// Sometimes before the server has stored it, sometimes after.
		time.Sleep(m.jitter(2 * time.Millisecond))
		m.dead()
	}
}

// fault arms at most one fault of each service for the coming round.
func (m *matrix) fault(s killStep) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.rnd.IntN(3); n == 0 && s.api == "" {
		list := []struct {
			name string
			f    fakecf.Fault
		}{
			{"429", fakecf.Fault{Status: http.StatusTooManyRequests, Code: 10429, Message: "Too many profile captures.", RetryAfter: "1"}},
			{"500 of the API", fakecf.Fault{Status: http.StatusInternalServerError, Code: 10397, Message: "The Worker runtime could not start profiling. Please try again."}},
			{"502 of a proxy", fakecf.Fault{Status: http.StatusBadGateway, Body: []byte("<html>Bad gateway</html>"), ContentType: "text/html"}},
			{"503 on a lookup", fakecf.Fault{Status: http.StatusServiceUnavailable, Any: true}},
			{"reset before", fakecf.Fault{ResetBefore: true}},
			{"reset after", fakecf.Fault{ResetAfter: true}},
			{"empty answer", fakecf.Fault{Empty: true}},
			{"truncated answer", fakecf.Fault{Truncate: true}},
			{"cut answer", fakecf.Fault{Cut: true}},
		}
		pick := list[m.rnd.IntN(len(list))]
		m.faults["Cloudflare: "+pick.name]++
		m.coming = append(m.coming, pick.f)
	}
	if n := m.rnd.IntN(3); n == 0 {
		list := []struct {
			name string
			f    fakeslack.Fault
		}{
			{"429", fakeslack.Fault{Status: http.StatusTooManyRequests, RetryAfter: time.Second}},
			{"503", fakeslack.Fault{Status: http.StatusServiceUnavailable}},
			{"500", fakeslack.Fault{Status: http.StatusInternalServerError}},
			{"internal_error", fakeslack.Fault{Error: "internal_error"}},
			{"reset before", fakeslack.Fault{Reset: fakeslack.Before}},
			{"reset after", fakeslack.Fault{Reset: fakeslack.After}},
			{"hang", fakeslack.Fault{Delay: 20 * time.Second}}, // longer than a call may take
		}
		if !long() {
			list = list[:len(list)-1]
		}
		methods := []string{"chat.postMessage", "chat.update", "files.getUploadURLExternal", "upload", "files.completeUploadExternal"}
		pick, method := list[m.rnd.IntN(len(list))], methods[m.rnd.IntN(len(methods))]
		m.faults["Slack: "+pick.name]++
		m.slack.Fail(method, 1, pick.f)
	}
}

// next is the fault of a request to Cloudflare: each is played once.
func (m *matrix) next(r fakecf.Request) *fakecf.Fault {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, f := range m.coming {
		if f.Any || r.Profile() {
			m.coming = slices.Delete(m.coming, i, i+1)
			return &f
		}
	}
	return nil
}

// heal ends all faults.
func (m *matrix) heal() {
	m.slack.Heal()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.coming = nil
}

func timeout(t testing.TB, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

func msgID(id string) jetstream.PublishOpt { return jetstream.WithMsgID(id) }

// client connects to the queue for as long as the test runs, through restarts,
// and to a service that is being killed right now.
func (w *world) client() (jetstream.JetStream, func()) {
	w.t.Helper()
	nc, err := nats.Connect("nats://"+w.nats, nats.Timeout(5*time.Second), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		w.t.Fatal(err)
	}
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(20_000))
	if err != nil {
		w.t.Fatal(err)
	}
	return js, nc.Close
}
