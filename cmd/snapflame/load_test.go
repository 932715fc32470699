package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/snapflame/snapflame/capture/fakecf"
)

// TestLoad puts the real service under events for a while: first its ceiling is
// measured beside a bare JetStream consumer of the same stream, then half of it
// is kept up while incidents open, captures run and people read pages, then a
// burst comes. Nothing may be lost and nothing may grow; the speeds are figures
// for the report, not conditions, for the machine is not known.
//
//	SNAPFLAME_LONG=1 go test ./cmd/snapflame -run TestLoad -v -timeout 1h
//
// keeps it up for ten minutes and bursts a million events.
func TestLoad(t *testing.T) {
	l := newLoad(t)
	l.ceiling()
	l.sustain()
	l.burstOf()
	l.print()
}

type loaded struct {
	*matrix
	js      jetstream.JetStream
	sent    atomic.Int64 // events published
	rate    float64      // the service's ceiling, events/s
	opened  map[string]time.Time
	samples []reading
}

// reading is what the process has at one moment.
type reading struct {
	rss, files int64 // MiB
	goroutines float64
}

func newLoad(t *testing.T) *loaded {
	t.Helper()
	l := &loaded{matrix: newMatrix(t, true, func(w *world) {
		w.patience = 10 * time.Minute
		w.cf.Speed = 20
	}), opened: map[string]time.Time{}}
	l.env["SNAPFLAME_CAPTURE_CONCURRENCY"] = "64"
	l.env["SNAPFLAME_INCIDENT_QUIET"] = "10m"
	l.env["SNAPFLAME_LOG_LEVEL"] = "warn"
	l.serve()
	js, done := l.client()
	t.Cleanup(done)
	l.js = js
	return l
}

// healthy is a record of the size that Cloudflare sends, of no interest.
func healthy(at time.Time) []byte {
	headers := map[string]any{}
	for i := range 12 {
		headers["x-header-"+strconv.Itoa(i)] = strings.Repeat("v", 40)
	}
	return event(map[string]any{
		"scriptName": "room-0", "scriptVersion": map[string]any{"id": roomVersion}, "executionModel": "stateless", "outcome": "ok", "eventTimestamp": at.UnixMilli(),
		"event": map[string]any{"request": map[string]any{"method": "POST", "url": "https://api.example.com/v1/rooms/REDACTED/msg", "headers": headers}, "response": map[string]any{"status": 200}},
		"logs":  []any{map[string]any{"timestamp": at.UnixMilli(), "level": "log", "message": []any{"request done", 200}}},
	})
}

// put publishes n events at a rate (0: as fast as they are taken) and returns
// when all are stored.
func (l *loaded) put(ctx context.Context, n int, rate float64, data func(i int) []byte) {
	l.t.Helper()
	js, done := l.client()
	defer done()
	began := time.Now()
	window := make(chan struct{}, 4096)
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		if due := began.Add(time.Duration(float64(i) / max(rate, 1) * float64(time.Second))); rate > 0 && i%64 == 0 {
			time.Sleep(time.Until(due))
		}
		l.store(js, window, "workers.events.room-0", data(i))
	}
	for range cap(window) {
		window <- struct{}{}
	}
}

// store publishes one event in the window; a full or busy stream is tried again.
func (l *loaded) store(js jetstream.JetStream, window chan struct{}, subject string, data []byte) {
	window <- struct{}{}
	f, err := js.PublishAsync(subject, data)
	if err != nil {
		<-window
		l.t.Fatal(err)
	}
	go func() {
		defer func() { <-window }()
		select {
		case <-f.Ok():
			l.sent.Add(1)
		case err := <-f.Err():
			l.t.Errorf("publish: %v", err)
		case <-time.After(time.Minute):
			l.t.Error("a publish was not acknowledged within a minute")
		}
	}()
}

// ceiling measures how fast the service and a bare consumer take what is stored.
func (l *loaded) ceiling() {
	l.t.Helper()
	n := 30_000
	if long() {
		n = 200_000
	}
	at := healthy(time.Now())
	began := time.Now()
	l.put(l.t.Context(), n, 0, func(int) []byte { return at })
	l.handled()
	l.rate = float64(n) / time.Since(began).Seconds()
	l.note("published and handled in one go: %d events of %d bytes, %.0f/s", n, len(at), l.rate)
	ctx, cancel := context.WithTimeout(l.t.Context(), 5*time.Minute)
	defer cancel()
	c, err := l.js.CreateConsumer(ctx, "WORKERS_EVENTS", jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 20_000})
	if err != nil {
		l.t.Fatal(err)
	}
	var took atomic.Int64
	all := make(chan struct{})
	began = time.Now()
	run, err := c.Consume(func(m jetstream.Msg) {
		_ = m.Ack()
		if took.Add(1) == int64(n) {
			close(all)
		}
	}, jetstream.PullMaxMessages(5000))
	if err != nil {
		l.t.Fatal(err)
	}
	defer run.Stop()
	select {
	case <-all:
		l.note("a bare consumer of the same stream, acknowledging each: %.0f/s", float64(n)/time.Since(began).Seconds())
	case <-ctx.Done():
		l.t.Errorf("a bare consumer took %d of %d", took.Load(), n)
	}
}

// handled waits until every event published so far has been.
func (l *loaded) handled() {
	l.t.Helper()
	l.await("all events are handled", func() bool { return l.metric("snapflame_events_total") >= float64(l.sent.Load()) })
}

// sustain keeps up half of the ceiling, opens an incident now and then, and
// reads pages all the while.
func (l *loaded) sustain() {
	l.t.Helper()
	length, every := 10*time.Second, 500*time.Millisecond
	if long() {
		length, every = 10*time.Minute, 2*time.Second
	}
	ctx, stop := context.WithTimeout(l.t.Context(), length)
	defer stop()
	var wg sync.WaitGroup
	rate := l.rate / 2
	before := l.sent.Load()
	wg.Go(func() { l.put(ctx, int(rate*length.Seconds()), rate, func(int) []byte { return healthy(time.Now()) }) })
	wg.Go(func() { l.open(ctx, every) })
	wg.Go(func() { l.read(ctx) })
	wg.Go(func() { l.watch(ctx, length/30) })
	wg.Wait()
	l.handled()
	l.await("every capture is asked for", func() bool { return len(l.taken()) >= len(l.opened) })
	var wait []float64
	for _, c := range l.taken() {
		if at, ok := l.opened[c.Actor]; ok {
			wait = append(wait, c.Asked.Sub(at).Seconds()*1000)
			delete(l.opened, c.Actor)
		}
	}
	if len(l.opened) > 0 || len(wait) == 0 {
		l.t.Errorf("%d incidents have no capture, %d have", len(l.opened), len(wait))
		return
	}
	slices.Sort(wait)
	l.note("half of that for %s, %d events in it: event to capture request median %.1f ms, p99 %.1f ms, of %d",
		length, l.sent.Load()-before, median(wait), wait[len(wait)*99/100], len(wait))
	l.flat()
}

// open opens an incident of an object of its own, over and over.
func (l *loaded) open(ctx context.Context, every time.Duration) {
	for i := 0; ctx.Err() == nil; i++ {
		object := matrixObject(i)
		l.cf.AddObject(fakecf.Object{ID: object, Namespace: matrixNamespace(i % matrixChannels), Version: roomVersion})
		script := "room-" + strconv.Itoa(i%matrixChannels)
		if _, err := l.js.Publish(ctx, "workers.events."+script, ownOf(script, object, time.Now())); err == nil {
			l.opened[object] = time.Now()
			l.sent.Add(1)
		}
		rest(ctx, every)
	}
}

// read is a few people with the pages open.
func (l *loaded) read(ctx context.Context) {
	for ctx.Err() == nil {
		for _, path := range []string{"/incidents", "/objects", "/api/v1/incidents?limit=20", "/api/v1/captures?limit=20"} {
			if status := l.statusOf(path); status != 200 {
				l.t.Errorf("%s answers %d under load", path, status)
			}
			rest(ctx, 100*time.Millisecond)
		}
	}
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// watch samples the process.
func (l *loaded) watch(ctx context.Context, every time.Duration) {
	for ctx.Err() == nil {
		l.samples = append(l.samples, l.look())
		rest(ctx, every)
	}
}

func (l *loaded) look() reading {
	var s reading
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.process.Process.Pid))
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			_, _ = fmt.Sscan(kb, &s.rss)
			s.rss >>= 10
		}
	}
	_ = filepath.WalkDir(filepath.Join(l.dir, "data"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				s.files += info.Size()
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
	s.files >>= 20
	for line := range strings.Lines(l.get("/metrics")) {
		if v, ok := strings.CutPrefix(line, "go_goroutines "); ok {
			_, _ = fmt.Sscan(v, &s.goroutines)
		}
	}
	return s
}

// flat compares the end with the middle: what still grows then, leaks.
func (l *loaded) flat() {
	l.t.Helper()
	n := len(l.samples)
	mid, end := l.samples[n/2], l.samples[n-1]
	l.note("memory %d, %d, %d MiB at the start, middle and end; goroutines %.0f, %.0f, %.0f; files %d, %d, %d MiB",
		l.samples[0].rss, mid.rss, end.rss, l.samples[0].goroutines, mid.goroutines, end.goroutines, l.samples[0].files, mid.files, end.files)
	if end.goroutines > 2*mid.goroutines+100 {
		l.t.Errorf("goroutines grow: %.0f, then %.0f", mid.goroutines, end.goroutines)
	}
	if end.rss > mid.rss*3/2+128 {
		l.t.Errorf("memory grows: %d MiB, then %d MiB", mid.rss, end.rss)
	}
}

// burstOf puts many events about a hundred objects at once.
func (l *loaded) burstOf() {
	l.t.Helper()
	n := 30_000
	if long() {
		n = 1_000_000
	}
	const objects, first = 100, 5000
	list := make([][]byte, objects)
	for i := range list {
		l.cf.AddObject(fakecf.Object{ID: matrixObject(first + i), Namespace: matrixNamespace(0), Version: roomVersion})
		list[i] = ownOf("room-0", matrixObject(first+i), time.Now())
	}
	began := time.Now()
	l.put(l.t.Context(), n, 0, func(i int) []byte { return list[i%objects] })
	stored := time.Since(began)
	l.handled()
	drained := time.Since(began)
	l.samples = append(l.samples, l.look())
	counted, incidents := map[string]int64{}, map[string]int{}
	var sum int64
	for _, c := range l.cases() {
		counted[c.Target.ObjectID] += c.Count
		incidents[c.Target.ObjectID]++
	}
	for i := range list {
		o := matrixObject(first + i)
		if incidents[o] != 1 || counted[o] < int64(n/objects) {
			l.t.Errorf("object %s has %d incidents and %d events, want 1 and %d", short(o), incidents[o], counted[o], n/objects)
		}
		sum += counted[o]
	}
	l.await("each object is captured", func() bool {
		got := map[string]int{}
		for _, c := range l.taken() {
			got[c.Actor]++
		}
		for i := range list {
			if got[matrixObject(first+i)] == 0 {
				return false
			}
		}
		return true
	})
	end := l.samples[len(l.samples)-1]
	l.note("a burst of %d events about %d objects: stored after %.1f s, handled after %.1f s (%.0f/s), %d incidents, %d counted twice; memory %d MiB, goroutines %.0f",
		n, objects, stored.Seconds(), drained.Seconds(), float64(n)/drained.Seconds(), objects, sum-int64(n), end.rss, end.goroutines)
}

// statusOf is status with the token of the API.
func (w *world) statusOf(path string) int {
	r, _ := http.NewRequest(http.MethodGet, "http://"+w.http+path, nil)
	r.Header.Set("Authorization", "Bearer api-secret-token")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}
