package main

import (
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// account is a NATS server that runs deploy/nats/snapflame.conf, with keys of
// its own and a wiretap in the account.
type account struct {
	url          string
	seed, events string // files with seeds

	mu       sync.Mutex
	subjects map[string]bool // what anybody in the account has published
	denied   []string
}

func newAccount(t *testing.T, edit func(conf string) string) *account {
	t.Helper()
	a := &account{subjects: map[string]bool{}}
	for variable, file := range map[string]*string{"SNAPFLAME_NATS_USER": &a.seed, "EVENTS_NATS_USER": &a.events} {
		pair, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		public, err := pair.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		seed, err := pair.Seed()
		if err != nil {
			t.Fatal(err)
		}
		*file = filepath.Join(t.TempDir(), "seed")
		if err := os.WriteFile(*file, seed, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv(variable, public)
	}
	t.Setenv("NATS_SERVER_NAME", "alone")
	text, err := os.ReadFile(filepath.Join(top, "deploy/nats/snapflame.conf"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "snapflame.conf")
	// One server: the routes of the cluster lead nowhere here.
	conf := strings.Replace(string(text), "include cluster.conf", "", 1)
	if edit != nil {
		conf = edit(conf)
	}
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	o.Host, o.Port, o.HTTPPort, o.StoreDir, o.NoSigs = "127.0.0.1", server.RANDOM_PORT, 0, t.TempDir(), true
	for _, acc := range o.Accounts {
		if acc.Name == "SNAPFLAME" {
			o.Users = append(o.Users, &server.User{Username: "tap", Password: "tap", Account: acc})
		}
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.SetLogger(a, false, false)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server is not ready")
	}
	a.url = s.ClientURL()
	u, err := url.Parse(a.url)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("tap", "tap")
	nc, err := nats.Connect(u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if _, err := nc.Subscribe(">", func(m *nats.Msg) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.subjects[m.Subject] = true
	}); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return a
}

// The server's log, of which violations are kept.

func (a *account) Noticef(string, ...any) {}
func (a *account) Warnf(string, ...any)   {}
func (a *account) Fatalf(string, ...any)  {}
func (a *account) Debugf(string, ...any)  {}
func (a *account) Tracef(string, ...any)  {}
func (a *account) Errorf(format string, args ...any) {
	if !strings.Contains(format, "iolation") {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var b strings.Builder
	b.WriteString(format)
	for _, arg := range args {
		if s, ok := arg.(string); ok {
			b.WriteString(" " + s)
		}
	}
	a.denied = append(a.denied, b.String())
}

func (a *account) seen(pattern string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for s := range a.subjects {
		if subjectMatches(pattern, s) {
			return true
		}
	}
	return false
}

// kinds are the subjects seen, cut to their first words.
func (a *account) kinds() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	kinds := map[string]bool{}
	for s := range a.subjects {
		if words := strings.Split(s, "."); words[0] != "_INBOX" {
			kinds[strings.Join(words[:min(len(words), 6)], ".")] = true
		}
	}
	return slices.Sorted(maps.Keys(kinds))
}

func (a *account) violations() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.denied)
}

func subjectMatches(pattern, subject string) bool {
	ps, ss := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i, p := range ps {
		if p == ">" {
			return len(ss) > i
		}
		if i >= len(ss) || p != "*" && p != ss[i] {
			return false
		}
	}
	return len(ps) == len(ss)
}

// The whole of an incident, with the permissions of deploy/nats/snapflame.conf
// and no others: nothing is refused, and nothing is allowed that is not used.
func TestNATSPermissions(t *testing.T) {
	a := newAccount(t, nil)
	w := newWorld(t, func(w *world) {
		w.env["NATS_URL"], w.env["SNAPFLAME_NATS_NKEY"] = a.url, a.seed
		w.env["SNAPFLAME_NATS_MAX_AGE"] = "1m"
	}).serve()
	publisher, err := nats.NkeyOptionFromSeed(a.events)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(a.url, publisher)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	// The second user may publish events and nothing else.
	for _, m := range [][]byte{own(roomObject, time.Now()), []byte("{")} {
		if _, err := js.Publish("workers.events.room-api", m); err != nil {
			t.Fatal(err)
		}
	}
	w.await("the flamegraph is in its thread", func() bool { return len(w.pictures()) == 1 })
	w.await("the bad event is in the dead letters", func() bool { return a.seen("snapflame.dead.>") })
	w.post(own(roomObject, time.Now()))
	text, err := os.ReadFile(filepath.Join(top, "deploy/nats/snapflame.conf"))
	if err != nil {
		t.Fatal(err)
	}
	allowed := publishAllowed(t, string(text))
	unused := func() []string {
		return slices.DeleteFunc(slices.Clone(allowed), func(p string) bool { return occasional[p] || a.seen(p) })
	}
	for range 200 {
		if len(unused()) == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if u := unused(); len(u) > 0 {
		t.Errorf("allowed and not used: %s\nused are:\n%s", strings.Join(u, " "), strings.Join(a.kinds(), "\n"))
	}
	for p := range occasional {
		if !slices.Contains(allowed, p) {
			t.Errorf("%s is expected to be allowed", p)
		}
	}
	if v := a.violations(); len(v) > 0 {
		t.Errorf("refused:\n%s", strings.Join(v, "\n"))
	}
	if err := w.stop(); err != nil {
		t.Errorf("stopped with %v", err)
	}
	if v := a.violations(); len(v) > 0 {
		t.Errorf("refused while stopping:\n%s", strings.Join(v, "\n"))
	}
}

// occasional permissions are used when a message was given up, the stream
// needs room, or nats.replicas changes; one incident shows none of that.
var occasional = map[string]bool{
	"$JS.API.STREAM.PURGE.*": true, "$JS.API.STREAM.UPDATE.*": true, "$JS.API.STREAM.MSG.DELETE.*": true, "$JS.API.CONSUMER.DELETE.>": true,
	"$JS.API.CONSUMER.INFO.*.*": true, // after a crash, and for figures
}

// A permission that is missing is said, where a person looks.
func TestNATSPermissionMissing(t *testing.T) {
	a := newAccount(t, func(conf string) string { return strings.Replace(conf, `"$JS.API.STREAM.CREATE.*"`, "", 1) })
	w := newWorld(t, func(w *world) { w.env["NATS_URL"], w.env["SNAPFLAME_NATS_NKEY"] = a.url, a.seed })
	w.start()
	// It may be given while the service waits: it goes on by itself then.
	w.await("the log names what is missing and the fix", func() bool {
		return strings.Contains(w.logs.String(), "STREAM.CREATE.WORKERS_EVENTS") && strings.Contains(w.logs.String(), "give the account's user that permission")
	})
	w.await("it is not ready", func() bool { status, _ := w.readyz(); return status == http.StatusServiceUnavailable })
}

var quotedSubject = regexp.MustCompile(`"([^"\s]+)"`)

// publishAllowed are the subjects of the first user's publish block.
func publishAllowed(t *testing.T, conf string) []string {
	t.Helper()
	_, rest, _ := strings.Cut(conf, "nkey: $SNAPFLAME_NATS_USER")
	_, rest, _ = strings.Cut(rest, "publish {")
	block, _, found := strings.Cut(rest, "}")
	var out []string
	for _, m := range quotedSubject.FindAllStringSubmatch(block, -1) {
		out = append(out, m[1])
	}
	if !found || len(out) < 10 {
		t.Fatal("the permissions were not found in " + strconv.Quote(block))
	}
	return out
}
