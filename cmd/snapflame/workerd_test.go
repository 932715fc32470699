package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

const tailworker = top + "/deploy/tailworker"

// workerd is the real runtime with a stateless Worker (edge), the owner of its
// Durable Objects (meter) and the Tail Worker behind both.
type workerd struct {
	t     testing.TB
	app   string // address of the edge
	debug string // address of the inspector
	logs  *lockedBuffer
}

// bundled finds a program that npm has put under node_modules.
func bundled(t testing.TB, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(tailworker, "node_modules", pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Skipf("there is no deploy/tailworker/node_modules/%s: run npm ci --prefix deploy/tailworker", pattern)
	}
	name, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// newWorkerd builds the Workers and starts the runtime; env is what the Tail
// Workers are configured with.
func newWorkerd(t testing.TB, env ...string) *workerd {
	t.Helper()
	runtime, esbuild := bundled(t, "@cloudflare/workerd-*/bin/workerd"), bundled(t, "@esbuild/*/bin/esbuild")
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), esbuild, "tail=src/index.ts", "app=test/app.ts", "--bundle", "--format=esm", "--target=es2022",
		"--conditions=workerd,worker,browser", "--external:cloudflare:workers", "--outdir="+dir, "--log-level=warning")
	build.Dir = tailworker
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("esbuild: %v\n%s", err, out)
	}
	config, err := os.ReadFile(filepath.Join(tailworker, "test", "world.capnp"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "world.capnp"), config, 0o600)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "objects"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	d := &workerd{t: t, logs: &lockedBuffer{}}
	c := exec.Command(runtime, "serve", filepath.Join(dir, "world.capnp"), "--experimental", "--verbose", "--control-fd=3",
		"--socket-addr=http=127.0.0.1:0", "--inspector-addr=127.0.0.1:0", "--directory-path=objects="+filepath.Join(dir, "objects"))
	c.ExtraFiles, c.Env, c.Stdout, c.Stderr = []*os.File{w}, env, d.logs, d.logs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
		r.Close()
	})
	lines := bufio.NewScanner(r)
	for (d.app == "" || d.debug == "") && lines.Scan() {
		var e struct {
			Event string
			Port  int
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		switch e.Event {
		case "listen":
			d.app = fmt.Sprintf("http://127.0.0.1:%d", e.Port)
		case "listen-inspector":
			d.debug = fmt.Sprintf("http://127.0.0.1:%d", e.Port)
		}
	}
	if d.app == "" || d.debug == "" {
		t.Fatalf("workerd told no ports\n%s", d.logs.tail())
	}
	return d
}

// get asks the edge.
func (d *workerd) get(path string) (int, string) {
	d.t.Helper()
	resp, err := http.Get(d.app + path)
	if err != nil {
		d.t.Fatalf("%v\n%s", err, d.logs.tail())
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// load asks for a path, two at a time, until it is stopped.
func (d *workerd) load(path string) (stop func()) {
	ctx, cancel := context.WithCancel(d.t.Context())
	var wg sync.WaitGroup
	c := &http.Client{Timeout: 20 * time.Second}
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.app+path, nil)
				if err != nil {
					return
				}
				if resp, err := c.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}
