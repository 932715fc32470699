package jet

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// Options says where the engine is and how much it may keep. The zero value is
// an embedded server that listens nowhere and keeps its files in ./data.
type Options struct {
	// URL of external servers, comma-separated. Empty: the embedded server.
	URL string
	// Context is a NATS context, by name or as a path: where the nats tool keeps
	// address and credentials. What is set here beside it wins.
	Context string
	Creds   string // file with a JWT and its seed
	NKey    string // file with an nkey seed
	Token   string // also what the embedded server demands, when set
	CA      string // PEM files
	Cert    string
	Key     string

	// Listen is the embedded server's address; empty: only this process can
	// connect. Beyond loopback it demands a Token.
	Listen   string
	StoreDir string // default ./data

	Stream   string   // default WORKERS_EVENTS
	Subjects []string // default workers.events.>
	Replicas int      // of everything we create; default 1, embedded always 1

	// MaxBytes is what all our streams and buckets may hold together; default
	// 10 GiB, less on a small disk. Each gets a fixed share when it is created.
	MaxBytes int64
	// MaxAge of events, handled or not; default 72 h.
	MaxAge time.Duration
	// MinFree is the free disk space in bytes under which the embedded server
	// takes no more events; default 256 MiB. A full disk would wedge it.
	MinFree int64
	// KeepHandled is how much of the event stream, handled already, stays for
	// looking back, in bytes; default a quarter of the stream.
	KeepHandled int64

	// Settle is how long Open waits for an external server; default 5 s. It goes
	// on in the background afterwards, and Health says what is wrong.
	Settle time.Duration

	Logger zerolog.Logger
}

// Bounds and defaults.
const (
	ackWait     = 5 * time.Second // with InProgress every second; work resumes this long after a crash
	dedupWindow = 30 * time.Second
	sendBudget  = 15 * time.Second // a leader's death stalls publishing for up to 7 s
	maxReplicas = 5                // of nats-server
	stepTimeout = 5 * time.Second  // of one API call
	keyMaxBytes = 300              // an encoded key; subjects should stay short
	closeBudget = 10 * time.Second
)

func (o *Options) fill() error {
	def := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	def(&o.StoreDir, "./data")
	def(&o.Stream, "WORKERS_EVENTS")
	if len(o.Subjects) == 0 {
		o.Subjects = []string{"workers.events.>"}
	}
	if o.Replicas == 0 || o.embedded() {
		o.Replicas = 1
	}
	if o.MaxAge == 0 {
		o.MaxAge = 72 * time.Hour
	}
	if o.MinFree == 0 {
		o.MinFree = 256 << 20
	}
	if o.Settle == 0 {
		o.Settle = 5 * time.Second
	}
	return o.check()
}

func (o *Options) check() error {
	if o.Replicas < 1 || o.Replicas > maxReplicas {
		return fmt.Errorf("nats.replicas is %d: JetStream keeps 1 to %d copies", o.Replicas, maxReplicas)
	}
	if strings.ContainsAny(o.Stream, ".*> \t/\\") {
		return fmt.Errorf("nats.stream %q: a stream name has no dots, wildcards, slashes or blanks", o.Stream)
	}
	for _, s := range o.Subjects {
		if !subjectValid(s) {
			return fmt.Errorf("nats.subjects %q is not a subject: words of no blanks joined by dots, * for one, > at the end for the rest", s)
		}
		if w, _, _ := strings.Cut(s, "."); w == "snapflame" || w == ">" || w == "*" || strings.HasPrefix(w, "$") {
			return fmt.Errorf("nats.subjects %q takes in the program's own or the server's subjects: choose a narrower one", s)
		}
	}
	if (o.Cert == "") != (o.Key == "") {
		return errors.New("a client certificate and its key go together: set both or none")
	}
	for _, f := range []struct{ what, path string }{
		{"nats.creds", o.Creds}, {"nats.nkey", o.NKey}, {"nats.tls_ca", o.CA}, {"nats.tls_cert", o.Cert}, {"nats.tls_key", o.Key},
	} {
		if f.path == "" {
			continue
		}
		if _, err := os.Stat(f.path); err != nil {
			return fmt.Errorf("%s: %w", f.what, err)
		}
	}
	if o.embedded() && o.Listen != "" {
		host, _, err := net.SplitHostPort(o.Listen)
		if err != nil {
			return fmt.Errorf("nats.listen %q: want host:port: %w", o.Listen, err)
		}
		if o.Token == "" && !loopback(host) {
			return fmt.Errorf("nats.listen %q is reachable from other machines: set nats.token, or listen on 127.0.0.1", o.Listen)
		}
	}
	return nil
}

func (o *Options) embedded() bool { return o.URL == "" && o.Context == "" }

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// subjectValid reports whether s can be subscribed to.
func subjectValid(s string) bool {
	if s == "" || len(s) > keyMaxBytes {
		return false
	}
	words := strings.Split(s, ".")
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\r\n\x00") || (w == ">" && i != len(words)-1) {
			return false
		}
	}
	return true
}

// covers reports whether every subject that s can stand for matches pattern.
func covers(pattern, s string) bool {
	ps, ss := strings.Split(pattern, "."), strings.Split(s, ".")
	for i, p := range ps {
		if p == ">" {
			return len(ss) > i
		}
		if i >= len(ss) || ss[i] == ">" || (p != "*" && p != ss[i]) {
			return false
		}
	}
	return len(ps) == len(ss)
}

// overlaps are the subjects that both lists take in, none of which takes in
// another: a consumer may not name one twice.
func overlaps(wants, haves []string) []string {
	var out []string
	for _, want := range wants {
		for _, have := range haves {
			both, ok := overlap(want, have)
			if !ok || slices.ContainsFunc(out, func(o string) bool { return covers(o, both) }) {
				continue
			}
			out = append(slices.DeleteFunc(out, func(o string) bool { return covers(both, o) }), both)
		}
	}
	return out
}

// overlap is the pattern of the subjects that match both a and b.
func overlap(a, b string) (string, bool) {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	var out []string
	for i := 0; i < len(as) && i < len(bs); i++ {
		switch {
		case as[i] == ">":
			return strings.Join(append(out, bs[i:]...), "."), true
		case bs[i] == ">":
			return strings.Join(append(out, as[i:]...), "."), true
		case as[i] == "*", as[i] == bs[i]:
			out = append(out, bs[i])
		case bs[i] == "*":
			out = append(out, as[i])
		default:
			return "", false
		}
	}
	return strings.Join(out, "."), len(as) == len(bs)
}
