package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeCommandsRun types every command of README.md as it stands there, and
// those of deploy/README.md that need nothing else, in a folder that looks like a
// clone, beside a service that runs. The first two, the demo and the tests, are
// run by .ci/run; scripts, containers and the inspector have tests of their own.
func TestReadmeCommandsRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	heap, err := os.ReadFile("../../report/testdata/profiles/heap-metrics.pb.gz")
	if err != nil {
		t.Fatal(err)
	}
	w.cf.SetProfile("", "heap", heap)
	w.serve()
	clone := t.TempDir()
	for _, name := range []string{"report", "triggers", "deploy"} {
		from, err := filepath.Abs(filepath.Join(top, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(from, filepath.Join(clone, name)); err != nil {
			t.Fatal(err)
		}
	}
	var env []string
	for k, v := range w.env {
		env = append(env, k+"="+v)
	}
	ran := 0
	docs := prose(t)
	readme := shellLines(docs[filepath.Join(top, "README.md")])
	for i, line := range append(readme, shellLines(docs[filepath.Join(top, "deploy", "README.md")])...) {
		words := strings.Fields(line)
		switch {
		case words[0] == "export", line == "snapflame serve": // it runs
			continue
		case line == "go run ./cmd/snapflame demo", line == "go test ./...":
			continue
		case line == "go install ./cmd/snapflame":
			install(t, clone)
			continue
		case words[0] != "snapflame" && i < len(readme):
			t.Errorf("nobody runs %q", line)
			continue
		case words[0] == "mkdir", words[0] == "openssl", strings.Contains(line, "/ingest/events"), strings.HasSuffix(line, "/metrics"):
			w.shell(clone, line)
			continue
		case words[0] != "snapflame", strings.Contains(line, "--inspector"):
			continue
		}
		ran++
		var out lockedBuffer
		args := words[1:]
		if words[1] == "replay" {
			args = append(args, "--speed", "0") // not in its own time
		}
		_, exited := spawn(t, clone, "snapflame", args, env, &out)
		if err := <-exited; err != nil || out.String() == "" {
			t.Errorf("%s: %v\n%s", line, err, out.String())
		}
	}
	for _, name := range []string{"flame.png", "flame.html", "heap.pb.gz"} {
		if s, err := os.Stat(filepath.Join(clone, name)); err != nil || s.Size() < 1000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if ran < 7 {
		t.Errorf("only %d commands were run", ran)
	}
}

// shell runs a line of the guide with the service's own address, and its token
// once the guide has made one.
func (w *world) shell(dir, line string) {
	w.t.Helper()
	if tool := strings.Fields(line)[0]; tool != "mkdir" {
		if _, err := exec.LookPath(tool); err != nil {
			w.t.Logf("not run, there is no %s: %s", tool, line)
			return
		}
	}
	for _, host := range []string{"https://snapflame.example.com", "http://127.0.0.1:8080"} {
		line = strings.ReplaceAll(line, host, "http://"+w.http)
	}
	c := exec.Command("sh", "-c", line)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil || strings.Contains(line, "/ingest/events") && !strings.HasPrefix(string(out), "accepted") {
		w.t.Errorf("%s: %v\n%s", line, err, out)
	}
	if !strings.HasSuffix(line, "secrets/ingest-token") {
		return
	}
	if made, err := os.ReadFile(filepath.Join(dir, "secrets", "ingest-token")); err != nil || len(made) < 60 {
		w.t.Errorf("%s: made %q, %v", line, made, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secrets", "ingest-token"), []byte(w.env["SNAPFLAME_INGEST_TOKEN"]), 0o600); err != nil {
		w.t.Error(err)
	}
}

func install(t *testing.T, dir string) {
	t.Helper()
	c := exec.Command("go", "install", "./cmd/snapflame")
	c.Dir, c.Env = top, append(os.Environ(), "GOBIN="+filepath.Join(dir, "bin"))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go install: %v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(dir, "bin", "snapflame"), "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "snapflame") {
		t.Errorf("the installed program: %v\n%s", err, out)
	}
}
