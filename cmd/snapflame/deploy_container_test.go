package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// containerUser is the user of the image.
const containerUser = 65532

// buildLine is how the Dockerfile compiles; the test compiles in the same way.
var buildLine = regexp.MustCompile(`go build -buildvcs=false -ldflags="([^"]*)" -o /out/snapflame (\./\S+)`)

func TestDockerfile(t *testing.T) {
	text := deployed(t)["container/Dockerfile"]
	stages := strings.Split(text, "\nFROM ")
	last := stages[len(stages)-1]
	if !strings.HasPrefix(last, "scratch\n") {
		t.Error("the image is not built from scratch")
	}
	for _, want := range []string{"USER 65532:65532", "EXPOSE 8080", "SNAPFLAME_LISTEN=0.0.0.0:8080", `ENTRYPOINT ["/snapflame"]`, `CMD ["serve"]`, "STOPSIGNAL SIGTERM"} {
		if !strings.Contains(last, want) {
			t.Errorf("the image has no %s", want)
		}
	}
	for _, want := range []string{"CGO_ENABLED=0", "GOFLAGS=-trimpath", "${TARGETARCH}", "--platform=$BUILDPLATFORM", "SOURCE_DATE_EPOCH"} {
		if !strings.Contains(stages[1]+stages[2], want) && !strings.Contains(text, want) {
			t.Errorf("the build has no %s", want)
		}
	}
	if !buildLine.MatchString(text) {
		t.Fatal("the build is not `go build …`")
	}
	// What the build copies must be let through by .dockerignore: every folder
	// of the module that the program imports.
	ignore, err := os.ReadFile(filepath.Join(top, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("go", "list", "-deps", "-f", "{{if and .Module .Module.Main}}{{.ImportPath}} {{.EmbedFiles}}{{end}}", ".")
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		pkg := strings.TrimPrefix(strings.Fields(line)[0], "github.com/snapflame/snapflame/")
		through := false
		for rule := range strings.Lines(string(ignore)) {
			folder, ok := strings.CutPrefix(strings.TrimSpace(rule), "!")
			through = through || ok && (pkg == folder || strings.HasPrefix(pkg, folder+"/"))
		}
		if !through || strings.Contains(line, "testdata") {
			t.Errorf("%s is kept out of the build by .dockerignore", strings.TrimSpace(line))
		}
	}
}

// The program as it is in the image: static, nothing else in the root folder,
// an unprivileged user that can write to /data and /tmp alone.
func TestRunsInAnEmptyReadOnlyRoot(t *testing.T) {
	if os.Geteuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("only root can change the root folder of a process")
	}
	if os.Getenv("SNAPFLAME_LONG") == "" { // two minutes of compiling on a fresh machine
		t.Skip("runs with SNAPFLAME_LONG=1")
	}
	w := newWorld(t)
	root := filepath.Join(w.dir, "root")
	for _, d := range []string{"", "data", "tmp", "etc/ssl/certs"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m := buildLine.FindStringSubmatch(deployed(t)["container/Dockerfile"])
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags="+strings.ReplaceAll(m[1], "${VERSION}", "v9.9.9-test"), "-o", filepath.Join(root, "snapflame"), m[2])
	build.Dir = top
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Chown(filepath.Join(root, "data"), containerUser, containerUser); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "tmp"), 0o1777); err != nil {
		t.Fatal(err)
	}
	for p := w.dir; len(p) > len(os.TempDir()); p = filepath.Dir(p) { // the test's folders are the owner's alone
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.env["SNAPFLAME_NATS_STORE_DIR"] = "/data"
	c := exec.Command("/snapflame", "serve")
	c.Path = "/snapflame"
	c.Dir, c.Stdout, c.Stderr = "/data", w.logs, w.logs
	for k, v := range w.env {
		c.Env = append(c.Env, k+"="+v)
	}
	c.SysProcAttr = &syscall.SysProcAttr{
		Chroot: root, Credential: &syscall.Credential{Uid: containerUser, Gid: containerUser, NoSetGroups: false}, Pdeathsig: syscall.SIGKILL,
	}
	runtime.LockOSThread() // Pdeathsig is bound to the thread
	defer runtime.UnlockOSThread()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	w.process, w.exited = c, make(chan error, 1)
	exited := w.exited
	go func() { exited <- c.Wait() }()
	w.await("the service is ready", func() bool { return w.ready() })
	w.publish(own(roomObject, time.Now()))
	w.await("the flamegraph is in its thread", func() bool { return len(w.pictures()) == 1 })
	if !strings.Contains(w.logs.String(), "v9.9.9-test") {
		t.Error("the version was not built in")
	}
	if err := w.stop(); err != nil {
		t.Errorf("stopped with %v", err)
	}
	written := map[string]bool{}
	_ = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if fi, err := d.Info(); err == nil && fi.Sys().(*syscall.Stat_t).Uid == containerUser {
			rel, _ := filepath.Rel(root, path)
			top, _, _ := strings.Cut(rel, "/")
			written[top] = true
		}
		return nil
	})
	delete(written, "tmp")
	if len(written) != 1 || !written["data"] {
		t.Errorf("wrote to %v", written)
	}
}

// The port of the image is the one that the program would choose by itself,
// since proxies and policies are written for it.
func TestPortsAgree(t *testing.T) {
	_, port, err := net.SplitHostPort("127.0.0.1:8080")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range deployed(t) {
		for _, m := range regexp.MustCompile(`(?:SNAPFLAME_LISTEN[=:] ?"?|prometheus\.io/port: "|containerPort: |EXPOSE )(?:0\.0\.0\.0:)?(\d+)`).FindAllStringSubmatch(text, -1) {
			if m[1] != port {
				t.Errorf("deploy/%s speaks of port %s, all others of %s", name, m[1], port)
			}
		}
	}
}
