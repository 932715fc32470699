package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// natsServer is the nats-server command: the test binary runs as it, so that a
// server can be killed like any process. It knows the flags that tests need.
func natsServer() {
	fs := flag.NewFlagSet("nats-server", flag.ExitOnError)
	o, err := server.ConfigureOptions(fs, os.Args[1:], server.PrintServerAndExit, fs.Usage, server.PrintTLSHelpAndDie)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s, err := server.NewServer(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.ConfigureLogger()
	if err := server.Run(s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.WaitForShutdown()
}

// node is a nats-server in a process of its own.
type node struct {
	t    testing.TB
	dir  string
	args []string
	addr string
	logs *lockedBuffer

	process *exec.Cmd
	exited  chan error
}

// newNode prepares a server with a folder of its own; text is more of its
// configuration.
func newNode(t testing.TB, name, addr, text string) *node {
	t.Helper()
	n := &node{t: t, dir: t.TempDir(), addr: addr, logs: &lockedBuffer{}}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(n.dir, "nats.conf")
	text = fmt.Sprintf("server_name: %s\nhost: 127.0.0.1\nport: %s\njetstream { store_dir: %q, max_file_store: 40GB }\n%s", name, port, filepath.Join(n.dir, "data"), text)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n.args = []string{"-c", conf}
	t.Cleanup(n.kill)
	return n
}

func (n *node) start() {
	n.t.Helper()
	n.process, n.exited = spawn(n.t, n.dir, "nats-server", n.args, nil, n.logs)
}

// ready waits until the server answers.
func (n *node) ready(o ...nats.Option) {
	n.t.Helper()
	for deadline := time.Now().Add(40 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		nc, err := nats.Connect("nats://"+n.addr, o...)
		if err == nil {
			nc.Close()
			return
		}
		if time.Now().After(deadline) {
			n.t.Fatalf("the server at %s does not answer: %v\n%s", n.addr, err, n.logs.tail())
		}
	}
}

func (n *node) kill() {
	if n.process == nil {
		return
	}
	_ = n.process.Process.Kill()
	<-n.exited
	n.process = nil
}

// signal stops the server and lets it go on, as a machine does that is short of
// something.
func (n *node) signal(s syscall.Signal) {
	if err := n.process.Process.Signal(s); err != nil {
		n.t.Errorf("%s: %v", s, err)
	}
}

// spawn starts the test binary under the name of one of its programs.
func spawn(t testing.TB, dir, name string, args, env []string, logs *lockedBuffer) (*exec.Cmd, chan error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, name)
	if _, err := os.Lstat(link); err != nil {
		if err := os.Symlink(self, link); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(link, args...)
	c.Dir, c.Stdout, c.Stderr = dir, logs, logs
	c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, env...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- c.Wait() }()
	return c, exited
}

// external puts the world's queue on a server of its own.
func (w *world) external() {
	w.t.Helper()
	n := newNode(w.t, "alone", w.nats, "")
	n.start()
	n.ready()
	w.env["NATS_URL"] = "nats://" + w.nats
}
