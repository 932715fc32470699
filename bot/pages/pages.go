package pages

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"github.com/snapflame/snapflame/capture"
)

// Options of the pages. Cases, Captures and Objects are needed.
type Options struct {
	Cases       Cases
	Captures    Captures
	Objects     Objects
	Deployments Deployments // nil: no deployment marks
	Threads     Threads     // nil: no link back to Slack
	Acting      Acting      // nil: nobody may start captures from a page
	PProf       http.Handler
	Now         func() time.Time
	Log         zerolog.Logger
	// Audit hears of downloads; may be nil.
	Audit func(r *http.Request, action, id string)
}

//go:embed static templates
var files embed.FS

type pages struct {
	Options
	templates map[string]*template.Template
}

// New returns the handler of every page.
func New(o Options) (http.Handler, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Acting == nil {
		o.Acting = func(*http.Request) bool { return false }
	}
	if o.Audit == nil {
		o.Audit = func(*http.Request, string, string) {}
	}
	p := &pages{Options: o, templates: map[string]*template.Template{}}
	for _, name := range []string{"incidents", "incident", "objects", "capture", "problem"} {
		t, err := template.New("base.tmpl").Funcs(words).ParseFS(files, "templates/base.tmpl", "templates/parts.tmpl", "templates/"+name+".tmpl")
		if err != nil {
			return nil, fmt.Errorf("parse the %s page: %w", name, err)
		}
		p.templates[name] = t
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.incidents)
	mux.HandleFunc("GET /incidents", p.incidents)
	mux.HandleFunc("GET /incidents/{id}", p.incident)
	mux.HandleFunc("GET /incidents/{id}/export.md", p.markdown)
	mux.HandleFunc("GET /objects", p.objects)
	mux.HandleFunc("GET /captures/{id}", p.capture)
	mux.HandleFunc("GET /captures/{id}/flamegraph", p.flamegraph)
	mux.HandleFunc("GET /captures/{id}/flamegraph.png", p.png)
	mux.HandleFunc("GET /captures/{id}/flamegraph.svg", p.svg)
	if o.PProf != nil {
		mux.Handle("GET /captures/{id}/pprof/{page...}", o.PProf)
	}
	mux.Handle("GET /static/", static())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		p.problem(w, http.StatusNotFound, "There is no such page", "Incidents, objects and captures are listed above.")
	})
	return mux, nil
}

// page is what every template gets.
type page struct {
	Title string
	Here  string // the menu entry
	Now   time.Time
	Live  bool // refresh while it is looked at
	Act   bool // the reader may start captures
	Body  any
}

// render answers with a page, or with a problem: a template that fails half
// way must not send half a page.
func (p *pages) render(w http.ResponseWriter, r *http.Request, name string, v page) {
	v.Now, v.Act = p.Now(), p.Acting(r)
	var b bytes.Buffer
	if err := p.templates[name].Execute(&b, v); err != nil {
		p.Log.Error().Err(err).Str("page", name).Msg("page cannot be rendered")
		p.problem(w, http.StatusInternalServerError, "This page cannot be shown", "It is a fault of snapflame; the JSON of the same thing is below /api/v1/.")
		return
	}
	headers(w)
	_, _ = w.Write(b.Bytes())
}

func (p *pages) problem(w http.ResponseWriter, status int, title, text string) {
	var b bytes.Buffer
	err := p.templates["problem"].Execute(&b, page{Title: title, Now: p.Now(), Body: text})
	if err != nil {
		http.Error(w, title, status)
		return
	}
	headers(w)
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

// fail answers an error of the store.
func (p *pages) fail(w http.ResponseWriter, err error, what string) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, capture.ErrNotFound):
		p.problem(w, http.StatusNotFound, "There is no such "+what, "Its retention may have passed, or the link is from another installation.")
	default:
		p.Log.Error().Err(err).Str("what", what).Msg("the store does not answer a page")
		w.Header().Set("Retry-After", "5")
		p.problem(w, http.StatusServiceUnavailable, "The store does not answer", "Try again in a moment; /readyz says what is wrong.")
	}
	return true
}
