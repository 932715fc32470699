package jet_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/cmd/internal/jet"
)

const patience = time.Minute

// open starts an embedded engine in a folder.
func open(tb testing.TB, dir string, change ...func(*jet.Options)) *jet.Jet {
	tb.Helper()
	o := jet.Options{StoreDir: dir, MaxBytes: 1 << 30, Logger: logger(tb)}
	for _, c := range change {
		c(&o)
	}
	j, err := jet.Open(tb.Context(), o)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() { shut(tb, j) })
	return j
}

func shut(tb testing.TB, j *jet.Jet) {
	tb.Helper()
	if err := j.Close(context.Background()); err != nil {
		tb.Errorf("close: %v", err)
	}
}

func logger(tb testing.TB) zerolog.Logger {
	tb.Helper()
	if !testing.Verbose() {
		return zerolog.Nop()
	}
	return zerolog.New(zerolog.NewTestWriter(tb))
}

// until waits for a condition.
func until(tb testing.TB, what string, f func() bool) {
	tb.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !f() {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<16)
			tb.Fatalf("%s: not within %s\n%s", what, patience, buf[:runtime.Stack(buf, false)])
		}
		<-tick.C
	}
}

func within(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	tb.Cleanup(cancel)
	return ctx
}

func TestOptionsAreRefusedWithTheKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    jet.Options
		want string
	}{
		"beyond loopback":      {jet.Options{Listen: "0.0.0.0:0"}, "nats.token"},
		"no port":              {jet.Options{Listen: "127.0.0.1"}, "nats.listen"},
		"replicas":             {jet.Options{URL: "nats://x", Replicas: 7}, "nats.replicas"},
		"stream name":          {jet.Options{Stream: "a.b"}, "nats.stream"},
		"our own subjects":     {jet.Options{Subjects: []string{"snapflame.jobs.>"}}, "nats.subjects"},
		"everything":           {jet.Options{Subjects: []string{">"}}, "nats.subjects"},
		"not a subject":        {jet.Options{Subjects: []string{"a..b"}}, "nats.subjects"},
		"missing creds":        {jet.Options{URL: "nats://x", Creds: "/does/not/exist"}, "nats.creds"},
		"half a certificate":   {jet.Options{URL: "nats://x", Cert: "/etc/hosts"}, "certificate"},
		"unknown context":      {jet.Options{Context: "/does/not/exist.json"}, "NATS context"},
		"context is no file":   {jet.Options{Context: "/etc/hosts"}, "not a context file"},
		"port is not a number": {jet.Options{Listen: "127.0.0.1:x"}, "nats.listen"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.o.StoreDir = t.TempDir()
			j, err := jet.Open(t.Context(), c.o)
			if err == nil {
				shut(t, j)
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want it to name %q", err, c.want)
			}
		})
	}
}

func TestPortInUseIsSaid(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir(), func(o *jet.Options) { o.Listen = "127.0.0.1:0" })
	addr := strings.TrimPrefix(j.URL(), "nats://")
	_, err := jet.Open(t.Context(), jet.Options{StoreDir: t.TempDir(), Listen: addr})
	if err == nil || !strings.Contains(err.Error(), addr) || !strings.Contains(err.Error(), "NATS_URL") {
		t.Errorf("got %v, want the address and the way out", err)
	}
}

func TestOneFolderOneProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open(t, dir)
	_, err := jet.Open(t.Context(), jet.Options{StoreDir: dir})
	if !errors.Is(err, jet.ErrLocked) {
		t.Fatalf("got %v, want ErrLocked", err)
	}
	if want := fmt.Sprintf("process %d", pid()); !strings.Contains(err.Error(), want) {
		t.Errorf("got %q, want it to name %q", err, want)
	}
}

func TestCloseLeavesNoGoroutines(t *testing.T) { //nolint:paralleltest // counts goroutines of the process
	before := runtime.NumGoroutine()
	for range 3 {
		o := jet.Options{StoreDir: t.TempDir(), MaxBytes: 256 << 20}
		j, err := jet.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		ctx := within(t)
		if err := j.Publish(ctx, "workers.events.a", []byte("{}"), "1"); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Jobs().Next(ctx, time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if err := j.Health(ctx); err != nil {
			t.Fatalf("health: %v", err)
		}
		shut(t, j)
	}
	until(t, "goroutines ended", func() bool { return runtime.NumGoroutine() <= before+1 })
}

func TestUseAfterClose(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir())
	shut(t, j)
	ctx := within(t)
	if err := j.Publish(ctx, "workers.events.a", nil, ""); !errors.Is(err, jet.ErrClosed) {
		t.Errorf("publish: got %v, want ErrClosed", err)
	}
	if _, _, err := j.Records().Record(ctx, "x"); !errors.Is(err, jet.ErrClosed) {
		t.Errorf("record: got %v, want ErrClosed", err)
	}
	if err := j.Health(ctx); !errors.Is(err, jet.ErrClosed) {
		t.Errorf("health: got %v, want ErrClosed", err)
	}
	if err := j.Jobs().Submit(ctx, capture.Job{ID: "1"}); !errors.Is(err, jet.ErrClosed) {
		t.Errorf("submit: got %v, want ErrClosed", err)
	}
}
