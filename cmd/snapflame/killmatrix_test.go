package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/capture/fakecf"
)

// The kill matrix ends the real program with SIGKILL, over and over on one data
// folder: at every durable step (seen on the wire of the queue, or in the fakes
// exactly before or after an effect) and at random moments, with faults of Slack
// and Cloudflare mixed in. Afterwards a checker reads what the fakes saw.
//
//	SNAPFLAME_LONG=1 go test ./cmd/snapflame -run TestKillMatrix -v -timeout 2h
//
// runs the long form. SNAPFLAME_KILLS sets the number of kills,
// SNAPFLAME_SEED repeats a run, SNAPFLAME_REPORT names a file for its figures.

func TestKillMatrix(t *testing.T) {
	t.Parallel()
	short := []string{
		"event stored", "case written", "record started", "API runs", "API answered", "profile stored",
		"root, after its effect", "root recorded", "picture completed, before its effect", "random",
	}
	m := newMatrix(t, true)
	m.run(m.plan(short, 210))
}

// TestKillMatrixExternal kills only the service: the queue outlives it.
func TestKillMatrixExternal(t *testing.T) {
	t.Parallel()
	if !long() {
		t.Skip("runs with SNAPFLAME_LONG=1")
	}
	m := newMatrix(t, true, func(w *world) { w.external() })
	m.run(m.plan(nil, 105))
}

// TestKillMatrixWithoutHistory has no way to look whether a message arrived: a
// kill between sending and recording may double it once, and the message says so.
func TestKillMatrixWithoutHistory(t *testing.T) {
	t.Parallel()
	m := newMatrix(t, false)
	m.run(m.plan([]string{"root, after its effect", "report, after its effect"}, 30))
}

func long() bool { return os.Getenv("SNAPFLAME_LONG") != "" }

// What the matrix asks of the service; short, so that a run ends. The quiet
// period outlasts a restart: what comes back afterwards still joins.
const (
	matrixSpacing     = time.Second
	matrixDuration    = time.Second
	matrixQuiet       = 12 * time.Second
	matrixConcurrency = 4
	matrixPerHour     = 3000
	matrixBurst       = 25 // events of one target in a run
	// Slack takes a message a second in a channel: several let a run go faster.
	matrixChannels = 4
)

type matrix struct {
	*world
	seed    uint64
	rnd     *rand.Rand
	history bool
	tap     *nats.Conn

	mu        sync.Mutex
	armed     *killStep
	fired     chan struct{}
	target    *os.Process
	published map[string]int // object → events
	kills     []killed
	faults    map[string]int
	coming    []fakecf.Fault // of Cloudflare, played once each
	bursts    atomic.Int64   // that are not stored yet
	since     time.Time      // of listening to the silence after a kill
	listening int            // the round of that kill

	// What check has counted.
	events, twice   int64
	doubled, stored int
	asked, again    int
	failed          map[string]int
	notes           []string
}

// killed is one kill and what followed.
type killed struct {
	step    string
	reached bool // the step came; else it was killed while waiting for it
	at      time.Time
	ready   time.Duration // from the start to readiness
	spoke   time.Duration // from readiness to the first word to Slack, when one waited; 0: killed before
	resumed time.Duration // from readiness until all that was in hand is handled
	behind  int           // events in hand or waiting at the kill
}

func newMatrix(t *testing.T, history bool, change ...func(*world)) *matrix {
	t.Helper()
	m := &matrix{history: history, seed: uint64(time.Now().UnixNano()), published: map[string]int{}, faults: map[string]int{}, failed: map[string]int{}}
	if s := os.Getenv("SNAPFLAME_SEED"); s != "" {
		m.seed, _ = strconv.ParseUint(s, 10, 64)
	}
	m.rnd = rand.New(rand.NewPCG(m.seed, 1))
	m.world = newWorld(t, append([]func(*world){func(w *world) {
		w.env["SNAPFLAME_CAPTURE_DURATION"], w.env["SNAPFLAME_CAPTURE_SPACING"] = matrixDuration.String(), matrixSpacing.String()
		w.env["SNAPFLAME_INCIDENT_QUIET"], w.env["SNAPFLAME_CAPTURE_PER_HOUR"] = matrixQuiet.String(), strconv.Itoa(matrixPerHour)
		w.env["SNAPFLAME_CAPTURE_CONCURRENCY"] = strconv.Itoa(matrixConcurrency)
		w.env["SNAPFLAME_BASELINE_ENABLED"] = "false"
		w.env["SNAPFLAME_LOG_LEVEL"] = "info"
		w.cf.Speed, w.cf.GlobalLimit = 5, -1
		w.slack.ShareDelay = 300 * time.Millisecond
		var routes []string
		for i := range matrixChannels {
			script := "room-" + strconv.Itoa(i)
			w.cf.AddWorker(fakecf.Worker{Name: script, Versions: []fakecf.Version{{ID: roomVersion, Percent: 100, Created: time.Now().Add(-24 * time.Hour)}}})
			w.cf.AddNamespace(fakecf.Namespace{ID: matrixNamespace(i), Name: script + "_Room", Class: "Room", Script: script})
			w.slack.AddChannel(fakeslack.Channel{ID: matrixChannel(i), Name: script, Member: true, People: []string{fakeslack.Ana}})
			routes = append(routes, "{script: "+script+", channel: "+matrixChannel(i)+"}")
		}
		w.env["SNAPFLAME_SLACK_ROUTES"] = "[" + strings.Join(routes, ", ") + "]"
	}}, change...)...)
	if history {
		m.slack.SetScopes(append(fakeslack.DefaultScopes(), "channels:history")...)
	}
	m.hooks()
	return m
}

// plan is the steps of a run: the given ones in the short form, in the long form
// all of them in turn, n kills with a third at random moments.
func (m *matrix) plan(short []string, n int) []killStep {
	all := killSteps()
	byName := map[string]killStep{}
	for _, s := range all {
		byName[s.name] = s
	}
	if s := os.Getenv("SNAPFLAME_KILLS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	var out []killStep
	if !long() {
		for _, name := range short {
			s, ok := byName[name]
			if !ok {
				m.t.Fatalf("no step %q", name)
			}
			out = append(out, s)
		}
		return out
	}
	for i := 0; len(out) < n; i++ {
		if i%3 == 2 {
			out = append(out, byName["random"])
			continue
		}
		out = append(out, all[(i-i/3)%len(all)])
	}
	return out
}

func (m *matrix) run(steps []killStep) {
	m.t.Logf("seed %d, %d kills", m.seed, len(steps))
	m.begin()
	for i, s := range steps {
		m.round(i, s)
	}
	m.heal()
	settled := m.settle()
	m.check()
	m.report(settled)
}

// begin starts the service and taps its queue.
func (m *matrix) begin() time.Duration {
	began := time.Now()
	m.serve()
	took := time.Since(began)
	nc, err := nats.Connect("nats://"+m.nats, nats.Timeout(5*time.Second), nats.MaxReconnects(0))
	if err != nil {
		m.t.Fatal(err)
	}
	m.tap = nc
	for _, subject := range []string{"workers.events.>", "snapflame.>", "$KV.snapflame_incidents.>", "$KV.snapflame_records.>", "$KV.snapflame_state.>", "$O.snapflame_captures.M.>", "$JS.ACK.>"} {
		if _, err := nc.Subscribe(subject, func(msg *nats.Msg) { m.saw(msg.Subject, msg.Data) }); err != nil {
			m.t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		m.t.Fatal(err)
	}
	return took
}

// round opens a new incident under faults, kills at the step, starts again and
// measures how soon work goes on.
func (m *matrix) round(i int, s killStep) {
	m.t.Helper()
	object := matrixObject(i)
	m.cf.AddObject(fakecf.Object{ID: object, Namespace: matrixNamespace(i % matrixChannels), Version: roomVersion})
	m.fault(s)
	fired := m.arm(s)
	m.burst("room-"+strconv.Itoa(i%matrixChannels), object, matrixBurst)
	reached := true
	select {
	case <-fired:
	case <-time.After(25 * time.Second):
		reached = false
		m.strike("")
	}
	<-m.exited
	at := time.Now()
	m.process = nil
	m.tap.Close()
	k := killed{step: s.name, reached: reached, at: at}
	k.ready = m.begin()
	m.listen(i)
	k.behind, k.resumed = m.resumed()
	m.mu.Lock()
	m.kills = append(m.kills, k)
	m.mu.Unlock()
}

func matrixObject(i int) string    { return fmt.Sprintf("%08x%056x", 0xabc00000+i, i) }
func matrixNamespace(i int) string { return fmt.Sprintf("%032x", 0xface00+i) }
func matrixChannel(i int) string   { return "C0ROOM00" + strconv.Itoa(i) }

// listen measures how long Slack hears nothing although something is to be said.
func (m *matrix) listen(round int) {
	js, done := m.client()
	defer done()
	ctx, cancel := timeout(m.t, 2*time.Second)
	defer cancel()
	if s, err := js.Stream(ctx, "SNAPFLAME_OUTBOX"); err != nil || s.CachedInfo().State.Msgs == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.since, m.listening = time.Now(), round
}

// burst publishes events of one object, and others that mean nothing, until all
// are acknowledged or the service is dead: then the rest waits for the next one.
func (m *matrix) burst(script, object string, n int) {
	m.t.Helper()
	m.mu.Lock()
	m.published[object] += n
	m.mu.Unlock()
	js, done := m.client()
	at := time.Now()
	m.bursts.Add(1)
	go func() {
		defer m.bursts.Add(-1)
		defer done()
		for i := range n {
			id := object + strconv.Itoa(i)
			e := ownOf(script, object, at)
			for tries := 0; ; {
				ctx, cancel := timeout(m.t, time.Second)
				_, err := js.Publish(ctx, "workers.events."+script, e, msgID(id))
				cancel()
				if err == nil {
					break
				}
				if m.t.Context().Err() != nil {
					return
				}
				if tries++; tries%5 == 0 { // it may be cut off
					_ = js.Conn().ForceReconnect()
				}
				time.Sleep(50 * time.Millisecond)
			}
		}
	}()
}
