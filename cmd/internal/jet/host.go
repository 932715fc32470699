package jet

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
)

// lockName is beside the server's own folder. The server does not lock its
// store: two processes on one folder corrupt it without an error.
const lockName = "snapflame.lock"

// host is the embedded server. It can be started anew under a living client
// connection, which then reconnects to the new one.
type host struct {
	opts Options
	log  zerolog.Logger
	lock *flock.Flock

	mu   sync.Mutex
	srv  *server.Server
	said *serverLog // of srv
	addr string     // what a restart listens on again
}

func startHost(o Options) (*host, error) {
	if err := os.MkdirAll(o.StoreDir, 0o750); err != nil {
		return nil, fmt.Errorf("nats.store_dir: %w", err)
	}
	h := &host{opts: o, log: o.Logger, addr: o.Listen}
	if err := h.take(); err != nil {
		return nil, err
	}
	if err := h.start(); err != nil {
		_ = h.lock.Unlock()
		return nil, err
	}
	return h, nil
}

func (h *host) take() error {
	path := filepath.Join(h.opts.StoreDir, lockName)
	h.lock = flock.New(path)
	ok, err := h.lock.TryLock()
	if err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		who := "another process"
		if b, err := os.ReadFile(path); err == nil && len(b) > 0 {
			who = strings.TrimSpace(string(b))
		}
		return fmt.Errorf("%w: nats.store_dir %s is open in %s: stop it, or choose another folder", ErrLocked, h.opts.StoreDir, who)
	}
	line := "process " + strconv.Itoa(os.Getpid()) + " since " + time.Now().UTC().Format(time.RFC3339) + "\n"
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		_ = h.lock.Unlock()
		return fmt.Errorf("lock %s: %w", path, err)
	}
	return nil
}

// options of the server. Every stream of ours has MaxBytes, so the server's own
// quota is out of reach on purpose: hitting it would stop all streams at once.
func (h *host) options() (*server.Options, error) {
	so := &server.Options{
		ServerName: "snapflame",
		JetStream:  true,
		StoreDir:   h.opts.StoreDir,
		// Nothing of ours is in memory; the limit is for what others create.
		JetStreamMaxMemory: 64 << 20,
		JetStreamMaxStore:  1 << 44,
		SyncInterval:       time.Second, // default two minutes; one second costs nothing visible
		NoSigs:             true,
		NoLog:              true,
		Authorization:      h.opts.Token,
	}
	if h.addr == "" {
		so.DontListen = true
		return so, nil
	}
	name, p, err := net.SplitHostPort(h.addr)
	if err != nil {
		return nil, fmt.Errorf("nats.listen %q: %w", h.addr, err)
	}
	if so.Port, err = strconv.Atoi(p); err != nil {
		return nil, fmt.Errorf("nats.listen %q: the port is not a number", h.addr)
	}
	so.Host = name
	if so.Port == 0 {
		so.Port = server.RANDOM_PORT
		return so, nil
	}
	// The server only logs that it cannot listen; ask first.
	l, err := net.Listen("tcp", h.addr) //nolint:noctx // it is closed at once, there is nothing to cancel
	if err != nil {
		return nil, fmt.Errorf("nats.listen %s: %w: stop what listens there, set nats.listen to another port, or NATS_URL to use that server", h.addr, err)
	}
	return so, l.Close()
}

func (h *host) start() error {
	so, err := h.options()
	if err != nil {
		return err
	}
	srv, err := server.NewServer(so)
	if err != nil {
		return fmt.Errorf("start the embedded NATS server: %w", err)
	}
	l := &serverLog{log: h.log}
	srv.SetLogger(l, false, false)
	srv.Start()
	// Recovery of 0.9 million messages took 0.7 s; a large folder on a slow disk may take longer.
	if !srv.ReadyForConnections(time.Minute) || !srv.JetStreamEnabled() {
		srv.Shutdown()
		srv.WaitForShutdown()
		return fmt.Errorf("start the embedded NATS server in %s: not ready: %s", h.opts.StoreDir, l.last())
	}
	h.mu.Lock()
	h.srv, h.said = srv, l
	if h.addr != "" {
		h.addr = srv.Addr().String()
	}
	h.mu.Unlock()
	return nil
}

// InProcessConn makes the host what nats.InProcessServer wants: the connection
// is always to the server that runs now.
func (h *host) InProcessConn() (net.Conn, error) {
	h.mu.Lock()
	srv := h.srv
	h.mu.Unlock()
	if srv == nil {
		return nil, errors.New("the embedded server is being restarted")
	}
	c, err := srv.InProcessConn()
	if err != nil {
		return nil, fmt.Errorf("embedded server: %w", err)
	}
	return c, nil
}

// unwritten is the server's word that a stream could not be written since it
// started; empty when it did not say so. Such a stream takes nothing more, even
// after there is room again, and nothing else tells of it: others may be well.
func (h *host) unwritten() string {
	h.mu.Lock()
	l := h.said
	h.mu.Unlock()
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unwritten
}

// restart is the way out of a store that no longer answers, which a full disk
// leaves behind even after space is freed.
func (h *host) restart() error {
	h.stop()
	return h.start()
}

func (h *host) stop() {
	h.mu.Lock()
	srv := h.srv
	h.srv = nil
	h.mu.Unlock()
	if srv != nil {
		srv.Shutdown()
		srv.WaitForShutdown()
	}
}

func (h *host) close() error {
	h.stop()
	if err := h.lock.Unlock(); err != nil {
		return fmt.Errorf("unlock %s: %w", h.opts.StoreDir, err)
	}
	return nil
}

// serverLog brings the server's warnings into our log, keeps the last one to
// explain a failed start, and the first that tells of a stream that cannot be
// written any more.
type serverLog struct {
	log       zerolog.Logger
	mu        sync.Mutex
	txt       string
	unwritten string
}

// unwrittenSigns are how nats-server v2.15 begins what it says then (stream.go,
// filestore.go).
var unwrittenSigns = []string{"JetStream failed to store a msg", "Critical write error", "JetStream out of resources"}

func (l *serverLog) keep(format string, v ...any) string {
	s := fmt.Sprintf(format, v...)
	l.mu.Lock()
	l.txt = s
	l.mu.Unlock()
	return s
}

func (l *serverLog) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.txt == "" {
		return "it gave no reason"
	}
	return l.txt
}

// Noticef drops the server's chatter, as do Debugf and Tracef.
func (l *serverLog) Noticef(string, ...any) {}

// Debugf implements server.Logger.
func (l *serverLog) Debugf(string, ...any) {}

// Tracef implements server.Logger.
func (l *serverLog) Tracef(string, ...any) {}

// Warnf implements server.Logger.
func (l *serverLog) Warnf(format string, v ...any) {
	l.log.Warn().Str("from", "nats-server").Msg(l.keep(format, v...))
}

// Errorf implements server.Logger.
func (l *serverLog) Errorf(format string, v ...any) {
	s := l.keep(format, v...)
	for _, sign := range unwrittenSigns {
		if strings.Contains(s, sign) {
			l.mu.Lock()
			l.unwritten = cmp.Or(l.unwritten, s)
			l.mu.Unlock()
		}
	}
	l.log.Error().Str("from", "nats-server").Msg(s)
}

// Fatalf implements server.Logger; the server goes on to fail, we do not exit.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.log.Error().Str("from", "nats-server").Msg(l.keep(format, v...))
}
