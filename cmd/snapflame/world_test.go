package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/capture/fakecf"
)

// world is what stands around a real `snapflame serve` in a process of its own:
// an account, a workspace, and a folder for its data that outlives the process.
type world struct {
	t     testing.TB
	cf    *fakecf.Server
	slack *fakeslack.Workspace
	env   map[string]string
	dir   string
	http  string // address of the service
	nats  string
	logs  *lockedBuffer

	patience time.Duration // of await; 0: 40 s

	process *exec.Cmd
	exited  chan error
}

// Ids of the account.
const (
	roomObject    = "3fa1c07d5be2498a1d6e0b7c94f2538e6a1b2c3d4e5f60718293a4b5c6d7e8f9"
	roomVersion   = "9f1c2b7e-6d0a-4a55-8e43-0a5f4f0c1d22"
	roomNamespace = "6f3b2a1c0d9e8f7a6b5c4d3e2f1a0b9c"
	callerVersion = "1b0d7a3c-55aa-4d1f-9c0e-7f52c6a1e004"
)

// newWorld has a caller (edge), an owner (room-api) and one object; captures
// run fifty times as fast as asked.
func newWorld(t testing.TB, change ...func(*world)) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), logs: &lockedBuffer{}}
	w.cf = &fakecf.Server{AccountID: "0123456789abcdef0123456789abcdef", Token: "cf-secret-token", Speed: 50}
	old := time.Now().Add(-24 * time.Hour)
	w.cf.AddWorker(fakecf.Worker{Name: "edge", Versions: []fakecf.Version{{ID: callerVersion, Percent: 100, Created: old}}})
	w.cf.AddWorker(fakecf.Worker{Name: "room-api", Versions: []fakecf.Version{{ID: roomVersion, Percent: 100, Created: old}}})
	w.cf.AddNamespace(fakecf.Namespace{ID: roomNamespace, Name: "room-api_Room", Class: "Room", Script: "room-api"})
	w.cf.AddObject(fakecf.Object{ID: roomObject, Namespace: roomNamespace, Version: roomVersion})
	data, err := os.ReadFile("../../report/testdata/profiles/do-schema.cpu.pb.gz")
	if err != nil {
		t.Fatal(err)
	}
	w.cf.SetProfile("", "cpu", data)
	w.slack = &fakeslack.Workspace{ShareDelay: 10 * time.Millisecond}
	base, stop, err := w.cf.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	api, err := w.slack.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.slack.Close() })
	w.http, w.nats = freeAddress(t), freeAddress(t)
	w.env = map[string]string{
		"CLOUDFLARE_ACCOUNT_ID": w.cf.AccountID, "CLOUDFLARE_API_TOKEN": w.cf.Token, "CLOUDFLARE_API_BASE_URL": base,
		"SLACK_BOT_TOKEN": fakeslack.BotToken, "SLACK_APP_TOKEN": fakeslack.AppToken, "SLACK_SIGNING_SECRET": fakeslack.SigningSecret, "SLACK_API_URL": api,
		"SNAPFLAME_SLACK_CHANNEL": fakeslack.Incidents, "SNAPFLAME_LISTEN": w.http, "SNAPFLAME_PUBLIC_URL": "http://" + w.http,
		"SNAPFLAME_NATS_LISTEN": w.nats, "SNAPFLAME_NATS_STORE_DIR": filepath.Join(w.dir, "data"),
		"SNAPFLAME_INGEST_TOKEN": "ingest-secret-token", "SNAPFLAME_API_TOKEN": "api-secret-token", "SNAPFLAME_CAPTURE_SPACING": "1s",
	}
	for _, f := range change {
		f(w)
	}
	t.Cleanup(func() { w.kill() })
	return w
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// serve starts the service and waits until it is ready.
func (w *world) serve() *world {
	w.t.Helper()
	w.start()
	w.await("the service is ready", func() bool { return w.ready() })
	return w
}

// start starts the test binary under the name that makes it the program.
func (w *world) start() {
	w.t.Helper()
	var env []string
	for k, v := range w.env {
		env = append(env, k+"="+v)
	}
	w.process, w.exited = spawn(w.t, w.dir, "snapflame", []string{"serve"}, env, w.logs)
}

// kill ends the service the hard way.
func (w *world) kill() {
	if w.process == nil {
		return
	}
	_ = w.process.Process.Kill()
	<-w.exited
	w.process = nil
}

// stop ends the service as systemd does and returns how it exited.
func (w *world) stop() error {
	w.t.Helper()
	_ = w.process.Process.Signal(syscall.SIGTERM)
	defer func() { w.process = nil }()
	select {
	case err := <-w.exited:
		return err
	case <-time.After(20 * time.Second):
		_ = w.process.Process.Kill()
		<-w.exited
		return errors.New("still running 20 s after SIGTERM")
	}
}

// await waits for a condition; its deadline is generous, for loaded machines.
func (w *world) await(what string, ok func() bool) {
	w.t.Helper()
	patience := 40 * time.Second
	if w.patience > 0 {
		patience = w.patience
	}
	deadline := time.Now().Add(patience)
	for !ok() {
		select {
		case err := <-w.exited:
			w.exited <- err
			w.t.Fatalf("waiting until %s: the service ended: %v\n%s", what, err, w.logs.tail())
		case <-w.slack.Changed():
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("waited in vain until %s\n%s\n%s", what, w.slack.Transcript(), w.logs.tail())
		}
	}
}

func (w *world) ready() bool {
	resp, err := http.Get("http://" + w.http + "/readyz")
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode == http.StatusOK
}

// get reads with the token of the API.
func (w *world) get(path string) string {
	w.t.Helper()
	r, _ := http.NewRequest(http.MethodGet, "http://"+w.http+path, nil)
	r.Header.Set("Authorization", "Bearer api-secret-token")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}

// store sends a body with the token of the API and returns the status.
func (w *world) store(path, body string) int {
	w.t.Helper()
	r, _ := http.NewRequest(http.MethodPost, "http://"+w.http+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer api-secret-token")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// queue connects to the events stream as anybody would.
func (w *world) queue() (jetstream.JetStream, func()) {
	w.t.Helper()
	nc, err := nats.Connect("nats://"+w.nats, nats.Timeout(5*time.Second))
	if err != nil {
		w.t.Fatal(err)
	}
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(20_000))
	if err != nil {
		w.t.Fatal(err)
	}
	return js, nc.Close
}

// publish puts events into the queue and returns once they are stored.
func (w *world) publish(events ...[]byte) {
	w.t.Helper()
	js, done := w.queue()
	defer done()
	for _, e := range events {
		if _, err := js.PublishAsync("workers.events.edge", e); err != nil {
			w.t.Fatal(err)
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-time.After(30 * time.Second):
		w.t.Fatal("the queue does not acknowledge")
	}
}

// roots are the threads of the channel.
func (w *world) roots() []fakeslack.Message {
	var out []fakeslack.Message
	for _, m := range w.slack.Messages(fakeslack.Incidents) {
		if m.ThreadTS == "" || m.ThreadTS == m.TS {
			out = append(out, m)
		}
	}
	return out
}

// pictures are the messages with a file.
func (w *world) pictures() []fakeslack.Message {
	var out []fakeslack.Message
	for _, m := range w.slack.Messages(fakeslack.Incidents) {
		if len(m.Files) > 0 {
			out = append(out, m)
		}
	}
	return out
}

// taken are the captures that gave a profile.
func (w *world) taken() []fakecf.Capture {
	var out []fakecf.Capture
	for _, c := range w.cf.Captures() {
		if c.Outcome != "refused" {
			out = append(out, c)
		}
	}
	return out
}

// own is an overload in the object's own record.
func own(object string, at time.Time) []byte { return ownOf("room-api", object, at) }

func ownOf(script, object string, at time.Time) []byte {
	return event(map[string]any{
		"scriptName": script, "scriptVersion": map[string]any{"id": roomVersion}, "entrypoint": "Room", "durableObjectId": object,
		"executionModel": "durableObject", "outcome": "exception", "eventTimestamp": at.UnixMilli(), "event": map[string]any{"rpcMethod": "put"},
		"exceptions": []any{map[string]any{"name": "Error", "message": "Durable Object is overloaded. Too many requests queued.", "timestamp": at.UnixMilli()}},
	})
}

func event(fields map[string]any) []byte {
	for k, v := range map[string]any{"cpuTime": 3, "wallTime": 9, "truncated": false, "logs": []any{}, "exceptions": []any{}, "diagnosticsChannelEvents": []any{}} {
		if _, ok := fields[k]; !ok {
			fields[k] = v
		}
	}
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return b
}

// lockedBuffer keeps what a process writes.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lockedBuffer) tail() string {
	s := l.String()
	return s[max(0, len(s)-4000):]
}

// hangup asks for the configuration to be read again.
func (w *world) hangup() { _ = w.process.Process.Signal(syscall.SIGHUP) }
