package inspector_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/capture/inspector"
)

// startWorkerd runs the real thing on ports that the kernel picks.
func startWorkerd(t *testing.T) (worker, debug string) {
	t.Helper()
	bin := os.Getenv("SNAPFLAME_TEST_WORKERD")
	if bin == "" {
		t.Skip("SNAPFLAME_TEST_WORKERD is not set: name a workerd binary (npm install workerd; node_modules/@cloudflare/workerd-linux-64/bin/workerd)")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bin, "serve", "testdata/config.capnp", "--control-fd=3", "--socket-addr=http=127.0.0.1:0", "--inspector-addr=127.0.0.1:0")
	cmd.ExtraFiles = []*os.File{w}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); r.Close() })
	lines := bufio.NewScanner(r)
	for (worker == "" || debug == "") && lines.Scan() {
		var e struct {
			Event string
			Port  int
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		switch e.Event {
		case "listen":
			worker = fmt.Sprintf("http://127.0.0.1:%d", e.Port)
		case "listen-inspector":
			debug = fmt.Sprintf("http://127.0.0.1:%d", e.Port)
		}
	}
	if worker == "" || debug == "" {
		t.Fatalf("workerd told no ports: %v", lines.Err())
	}
	return worker, debug
}

// load asks for the path until the test's capture is over.
func load(ctx context.Context, url string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c := &http.Client{Timeout: 10 * time.Second}
		for ctx.Err() == nil {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return
			}
			if res, err := c.Do(r); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		}
	}()
	return func() { cancel(); <-done }
}

func TestRealWorkerd(t *testing.T) {
	t.Parallel()
	worker, debug := startWorkerd(t)
	c, err := inspector.New(inspector.Options{URL: debug})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		typ            capture.Type
		path, function string
	}{{capture.CPU, "/spin", "spinTheWheel"}, {capture.Heap, "/fill", "fillTheCart"}} {
		stop := load(t.Context(), worker+k.path)
		data, err := c.Profile(t.Context(), capture.Request{Type: k.typ, Duration: 2 * time.Second, Target: capture.Target{Script: "shop"}})
		stop()
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.ParseData(data)
		if err != nil {
			t.Fatal(err)
		}
		var with, all int64
		for _, s := range p.Sample {
			all += s.Value[0]
			for _, l := range s.Location {
				if fn := l.Line[0].Function; fn.Name == k.function && strings.HasSuffix(fn.Filename, "worker.js") {
					with += s.Value[0]
					break
				}
			}
		}
		t.Logf("%s: %d samples, %d through %s, %d bytes", k.typ, all, with, k.function, len(data))
		// Idle and native samples grow with the load of the machine, so not a
		// majority is wanted, but that the function is plainly there.
		if all < 20 || with*10 < all {
			t.Errorf("%s: %d of %d samples through %s, want a tenth of them at least", k.typ, with, all, k.function)
		}
	}
	if _, err := c.Profile(t.Context(), capture.Request{Type: capture.CPU, Duration: time.Second, Target: capture.Target{Script: "none"}}); err == nil || !strings.Contains(err.Error(), "shop") {
		t.Errorf("got %v, want the names of the targets", err)
	}
}
