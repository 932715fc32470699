package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeCommandsRun types every command of README.md as it stands there, in
// a folder that looks like a clone, beside a service that runs. The first two,
// the demo and the tests, are run by .ci/run.
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
	for _, line := range shellLines(prose(t)[filepath.Join(top, "README.md")]) {
		words := strings.Fields(line)
		switch {
		case words[0] == "export", line == "snapflame serve": // it runs
			continue
		case line == "go run ./cmd/snapflame demo", line == "go test ./...":
			continue
		case line == "go install ./cmd/snapflame":
			install(t, clone)
			continue
		case words[0] != "snapflame":
			t.Errorf("nobody runs %q", line)
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
