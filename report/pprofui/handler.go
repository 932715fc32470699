package pprofui

import (
	"bytes"
	"container/list"
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"sync"

	"github.com/google/pprof/profile"
)

// Bounds of the service. A mount holds about 3 MB, a page about 3 MB while it
// is made (measured on 50,000 samples, merged).
const (
	maxMounts = 16
	maxAtOnce = 3
	maxPage   = 32 << 20
)

// Load returns the profile of a capture, made by Profile. Its error is shown by
// the caller's own Fail.
type Load func(ctx context.Context, id string) (*profile.Profile, error)

// Options of a Handler.
type Options struct {
	Load Load
	// Fail answers when Load failed.
	Fail func(w http.ResponseWriter, r *http.Request, err error)
	// Download is where the stored bytes of a capture are; a path.
	Download func(id string) string
}

// Handler serves the interface of many captures. Its requests have the path
// values id and page, as in "GET /captures/{id}/pprof/{page...}".
type Handler struct {
	Options
	turns chan struct{}

	mu     sync.Mutex
	mounts map[string]*list.Element
	recent *list.List // of *mounted, newest first
}

type mounted struct {
	id       string
	once     sync.Once
	handlers map[string]http.Handler
	err      error
}

// New returns a Handler. The process needs XDG_CONFIG_HOME to name an empty
// folder: the driver refuses to start without a place for settings.
func New(o Options) *Handler {
	return &Handler{Options: o, turns: make(chan struct{}, maxAtOnce), mounts: map[string]*list.Element{}, recent: list.New()}
}

// served names the views that are safe to share; see doc.go for the others.
func served(view string) bool {
	switch view {
	case "/flamegraph", "/top", "/peek":
		return true
	}
	return false
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, view := r.PathValue("id"), "/"+r.PathValue("page")
	switch view {
	case "/", "/flamegraph2", "/flamegraphold":
		// Not 301: a browser would keep that for ever. Relative, so that any prefix works.
		http.Redirect(w, r, withQuery("flamegraph", r.URL.RawQuery), http.StatusFound) //nolint:gosec // its first segment is constant, so it stays beside this page
		return
	case "/download":
		http.Redirect(w, r, h.Download(id), http.StatusFound)
		return
	}
	if !served(view) {
		http.Error(w, "this view of pprof is switched off here: flamegraph, top and peek are served; download the profile for the rest", http.StatusNotFound)
		return
	}
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	case <-r.Context().Done():
		return
	}
	handlers, err := h.mount(r.Context(), id)
	if err != nil {
		h.Fail(w, r, err)
		return
	}
	write(w, r, handlers[view])
}

func withQuery(path, query string) string {
	if query == "" {
		return path
	}
	return path + "?" + query
}

// mount finds or makes the handlers of a capture; the longest unused go.
func (h *Handler) mount(ctx context.Context, id string) (map[string]http.Handler, error) {
	h.mu.Lock()
	e, ok := h.mounts[id]
	if ok {
		h.recent.MoveToFront(e)
	} else {
		e = h.recent.PushFront(&mounted{id: id})
		h.mounts[id] = e
		if h.recent.Len() > maxMounts {
			last := h.recent.Back()
			delete(h.mounts, h.recent.Remove(last).(*mounted).id) //nolint:forcetypeassert // the list holds nothing else
		}
	}
	m := e.Value.(*mounted) //nolint:forcetypeassert // the list holds nothing else
	h.mu.Unlock()
	m.once.Do(func() {
		var p *profile.Profile
		if p, m.err = h.Load(ctx, id); m.err == nil {
			m.handlers, m.err = mount(p)
		}
	})
	if m.err != nil {
		h.mu.Lock()
		if h.mounts[id] == e { // the next request tries again
			delete(h.mounts, id)
			h.recent.Remove(e)
		}
		h.mu.Unlock()
	}
	return m.handlers, m.err
}

// write runs a stock handler and sends its page under a policy that lets only
// its own scripts run. The stock pages have no inline handlers, and their data
// is escaped, so `<script>` in the output is always the template's own.
func write(w http.ResponseWriter, r *http.Request, stock http.Handler) {
	rec := &page{header: http.Header{}, code: http.StatusOK}
	stock.ServeHTTP(rec, r)
	body := rec.body.Bytes()
	if len(body) > maxPage {
		http.Error(w, "this view is over 32 MiB; narrow it with focus, or download the profile", http.StatusRequestEntityTooLarge)
		return
	}
	nonce := rand.Text()
	body = bytes.ReplaceAll(body, []byte("<script>"), []byte(`<script nonce="`+nonce+`">`))
	body = bytes.ReplaceAll(body, []byte(`<style type="text/css">`), []byte(`<style type="text/css" nonce="`+nonce+`">`))
	w.Header().Set("Content-Security-Policy", strings.ReplaceAll("default-src 'none'; script-src 'nonce-N'; style-src 'nonce-N'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", "N", nonce))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(rec.code)
	_, _ = w.Write(body)
}

// page holds an answer until its nonces are in.
type page struct {
	header http.Header
	body   bytes.Buffer
	code   int
}

func (p *page) Header() http.Header         { return p.header }
func (p *page) Write(b []byte) (int, error) { return p.body.Write(b) }
func (p *page) WriteHeader(code int)        { p.code = code }
