package fakecf

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of the real API, as documented on 2026-10-08 ("Profiling in
// production") and in the fundamentals' "API rate limits".
const (
	minDuration  = 1000
	maxDuration  = 50000
	minPrefix    = 8
	globalLimit  = 1200
	globalWindow = 5 * time.Minute
)

// Server is one simulated account. The exported fields are set before the first
// request; everything else changes through methods, at any time.
type Server struct {
	// AccountID is the only account there is; empty accepts any.
	AccountID string
	// Token is the only token that is let in; empty accepts any but none.
	Token string
	// NoProfiling is a token without Workers Scripts Read: 403 on captures.
	NoProfiling bool
	// NoLogs is a token without Workers Observability Read: 403 on queries.
	NoLogs bool
	// Speed is how many seconds of capture pass in one real second; 0 is 1.
	Speed float64
	// Now is the clock of windows and time stamps; nil is time.Now.
	Now func() time.Time
	// Bytes gives the profile of a capture; nil or a nil result falls back to
	// SetProfile, then to a small built-in one.
	Bytes func(c Capture) []byte
	// Encoding of a profile on the wire: "" as given, "gzip" or "raw".
	Encoding string
	// CaptureLimit is how many captures are accepted in CaptureWindow; 0 is no
	// limit. The real number is not published.
	CaptureLimit  int
	CaptureWindow time.Duration
	// RetryAfter is how a 429 says when to come back: "seconds", "date" or "" (not at all).
	RetryAfter string
	// GlobalLimit replaces Cloudflare's 1,200 requests in five minutes; negative is none.
	GlobalLimit int
	// Fault is asked before every request; a non-nil fault is played.
	Fault func(r Request) *Fault
	// OnCapture is called when a capture has been accepted, before its wait.
	OnCapture func(c Capture)

	mu         sync.Mutex
	workers    []*Worker
	namespaces []Namespace
	objects    map[string]*Object
	profiles   map[string][]byte
	faults     []Fault
	requests   []Request
	captures   []Capture
	accepted   []time.Time
	calls      []time.Time
	blocked    time.Time
	logs       []logged
}

// Worker is one Worker and its versions, oldest first.
type Worker struct {
	ID          string // 32 hexadecimal digits; made from the name when empty
	Name        string
	Versions    []Version
	Deployments []Deployment // newest first; made from the versions' percentages when empty
	// Dispatch is the dispatch namespace of a user Worker (Workers for Platforms).
	Dispatch string
	// Unsupported: "This Worker does not support runtime profiling."
	Unsupported bool
	// Unavailable: "Worker profiling is unavailable in this environment."
	Unavailable bool
}

// Version is one upload of a Worker.
type Version struct {
	ID       string // UUID
	Percent  float64
	Created  time.Time
	Quiet    bool // nothing ran lately: no recent executions
	Unloaded bool // ran lately, but no isolate is loaded
	// CannotStart is how many captures the runtime still refuses to start.
	CannotStart int
	Modules     []Module
	Bindings    []Binding
}

// Binding is what a version's code can reach. Only the two kinds that lead to
// Durable Objects are known.
type Binding struct {
	Type string // durable_object_namespace or service
	Name string // the variable
	// Of a durable_object_namespace; Script is empty for the Worker's own.
	NamespaceID, Class, Script string
	Service                    string // of a service: the Worker's name
}

// Module is one file of a version.
type Module struct {
	Name        string
	ContentType string
	Content     []byte
}

// Deployment is a traffic split.
type Deployment struct {
	ID       string
	Created  time.Time
	Versions map[string]float64 // version id → percent
}

// Namespace is a Durable Object namespace and the Worker that implements it.
type Namespace struct {
	ID, Name, Class, Script string
}

// Object is one Durable Object.
type Object struct {
	ID        string // 64 hexadecimal digits
	Namespace string // namespace id
	// Version is the version it started on; empty is any deployed one.
	Version string
	// LoadedFrom is when its isolate is there (again); before, there is none.
	LoadedFrom time.Time
	// Inactive: no live actor.
	Inactive bool
}

// AddWorker adds or replaces a Worker by name.
func (s *Server) AddWorker(w Worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.ID == "" {
		h := sha256.Sum256([]byte(w.Dispatch + "/" + w.Name))
		w.ID = hex.EncodeToString(h[:16])
	}
	for i, old := range s.workers {
		if old.Name == w.Name && old.Dispatch == w.Dispatch {
			s.workers[i] = &w
			return
		}
	}
	s.workers = append(s.workers, &w)
}

// AddNamespace adds a Durable Object namespace.
func (s *Server) AddNamespace(n Namespace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.namespaces = append(s.namespaces, n)
}

// AddObject adds or replaces a Durable Object.
func (s *Server) AddObject(o Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects = map[string]*Object{}
	}
	s.objects[o.ID] = &o
}

// Rename gives a Worker another name, as a user would.
func (s *Server) Rename(from, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.workers {
		if w.Name == from {
			w.Name = to
		}
	}
	for i := range s.namespaces {
		if s.namespaces[i].Script == from {
			s.namespaces[i].Script = to
		}
	}
	s.rebind(from, to)
}

// Deploy makes a new deployment of a Worker's versions.
func (s *Server) Deploy(worker string, split map[string]float64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.worker(worker)
	if w == nil {
		return fmt.Errorf("no Worker %q", worker)
	}
	if len(w.Deployments) == 0 {
		w.Deployments = []Deployment{w.deployed()}
	}
	for id := range split {
		if w.version(id) == nil {
			w.Versions = append(w.Versions, Version{ID: id, Created: s.now()})
		}
	}
	for i := range w.Versions {
		w.Versions[i].Percent = split[w.Versions[i].ID]
	}
	d := Deployment{ID: fmt.Sprintf("%s-%d", w.ID[:8], len(w.Deployments)), Created: s.now(), Versions: split}
	w.Deployments = append([]Deployment{d}, w.Deployments...)
	return nil
}

// ChangeVersion lets f alter one version: traffic comes and goes.
func (s *Server) ChangeVersion(worker, version string, f func(v *Version)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.worker(worker)
	if w == nil || w.version(version) == nil {
		return fmt.Errorf("no version %q of a Worker %q", version, worker)
	}
	f(w.version(version))
	return nil
}

// SetProfile sets the bytes that captures give: by target (a Worker name or an
// object id) and type ("cpu", "heap"); an empty target is everything else.
func (s *Server) SetProfile(target, typ string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.profiles == nil {
		s.profiles = map[string][]byte{}
	}
	s.profiles[target+" "+typ] = data
}

// Start serves on a free loopback port; base is what CLOUDFLARE_API_BASE_URL wants.
func (s *Server) Start(ctx context.Context) (base string, stop func(), err error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen for the simulated Cloudflare: %w", err)
	}
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(ln) // always ErrServerClosed or the listener's end
	}()
	return "http://" + ln.Addr().String() + "/client/v4", func() { _ = srv.Close(); <-done }, nil
}

func (s *Server) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// worker finds by id or name. The caller holds mu.
func (s *Server) worker(key string) *Worker {
	for _, w := range s.workers {
		if w.ID == key || w.Name == key && w.Dispatch == "" {
			return w
		}
	}
	return nil
}

func (w *Worker) version(id string) *Version {
	for i := range w.Versions {
		if w.Versions[i].ID == id {
			return &w.Versions[i]
		}
	}
	return nil
}

func (w *Worker) deployed() Deployment {
	d := Deployment{ID: w.ID[:8] + "-0", Versions: map[string]float64{}}
	for _, v := range w.Versions {
		if v.Percent > 0 {
			d.Versions[v.ID] = v.Percent
			if v.Created.After(d.Created) {
				d.Created = v.Created
			}
		}
	}
	return d
}
