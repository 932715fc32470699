package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

// Options of the API. Every field but Audit is needed.
type Options struct {
	Cases       Cases
	Captures    Captures
	Objects     Objects
	Decisions   Decisions
	Starter     Starter
	DeadLetters DeadLetters
	// Audit hears of downloads and starts: what, on which id, from where. May be nil.
	Audit func(r *http.Request, action, id string)
}

// New returns the handler of everything below /api/v1/.
func New(o Options) http.Handler {
	if o.Audit == nil {
		o.Audit = func(*http.Request, string, string) {}
	}
	a := &api{o}
	mux := http.NewServeMux()
	for pattern, h := range a.routes() {
		mux.HandleFunc(pattern, h)
	}
	mux.HandleFunc("/api/v1/", func(w http.ResponseWriter, r *http.Request) {
		Problem(w, http.StatusNotFound, "no such resource", "the resources are listed in /api/v1/openapi.yaml")
	})
	return mux
}

type api struct{ Options }

func (a *api) routes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /api/v1/incidents":                       a.incidents,
		"GET /api/v1/incidents/{id}":                  a.incident,
		"GET /api/v1/captures":                        a.captures,
		"POST /api/v1/captures":                       a.start,
		"GET /api/v1/captures/{id}":                   a.capture,
		"GET /api/v1/captures/{id}/profile":           a.profile,
		"GET /api/v1/captures/{id}/export":            a.export,
		"POST /api/v1/captures/import":                a.importCapture,
		"GET /api/v1/captures/{id}/report":            a.report,
		"GET /api/v1/objects":                         a.objects,
		"GET /api/v1/decisions":                       a.decisions,
		"GET /api/v1/dead-letters":                    a.deadLetters,
		"POST /api/v1/dead-letters/{sequence}/replay": a.replay,
		"GET /api/v1/openapi.yaml":                    openAPI,
	}
}

func (a *api) incidents(w http.ResponseWriter, r *http.Request) {
	p := params{q: r.URL.Query()}
	q := bot.CaseQuery{
		Class: triggers.Class(p.oneOf("class", "overloaded", "exceeded_memory", "exceeded_cpu", "account_overloaded")),
		State: bot.CaseState(p.oneOf("state", "open", "closed")), Script: p.text("worker"), Object: p.text("object"),
		Version: p.text("version"), Since: p.time("since"), Until: p.time("until"), Text: p.text("q"),
		Limit: p.limit(), Cursor: p.text("cursor"),
	}
	if p.bad(w) {
		return
	}
	rows, next, version, err := a.Cases.ListCases(r.Context(), q)
	if errors.Is(err, bot.ErrCursor) {
		Problem(w, http.StatusBadRequest, "bad cursor", err.Error())
		return
	}
	if fail(w, err) {
		return
	}
	etag := fmt.Sprintf(`W/"%d"`, version)
	w.Header().Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if rows == nil {
		rows = []bot.CaseRow{}
	}
	write(w, http.StatusOK, map[string]any{"incidents": rows, "next": next})
}

func (a *api) incident(w http.ResponseWriter, r *http.Request) {
	if p := (params{q: r.URL.Query()}); p.bad(w) {
		return
	}
	c, err := a.Cases.Case(r.Context(), r.PathValue("id"))
	if fail(w, err) {
		return
	}
	c.Pending, c.Counted = nil, triggers.Counted{} // how it is done is no part of what happened
	cached(w, r, c)
}

func (a *api) captures(w http.ResponseWriter, r *http.Request) {
	p := params{q: r.URL.Query()}
	incident, worker, limit, cursor := p.text("incident"), p.text("worker"), p.limit(), p.text("cursor")
	if p.bad(w) {
		return
	}
	records, next, err := a.Captures.ListCaptures(r.Context(), incident, worker, limit, cursor)
	if errors.Is(err, bot.ErrCursor) {
		Problem(w, http.StatusBadRequest, "bad cursor", err.Error())
		return
	}
	if fail(w, err) {
		return
	}
	if records == nil {
		records = []capture.Record{}
	}
	cached(w, r, map[string]any{"captures": records, "next": next})
}

func (a *api) capture(w http.ResponseWriter, r *http.Request) {
	rec, _, err := a.Captures.Record(r.Context(), r.PathValue("id"))
	if fail(w, err) {
		return
	}
	cached(w, r, rec)
}

// stored is the capture that a request names, with its bytes, and says so to
// the audit; where there is none it has answered.
func (a *api) stored(w http.ResponseWriter, r *http.Request, action string) (capture.Record, []byte, bool) {
	id := r.PathValue("id")
	rec, _, err := a.Captures.Record(r.Context(), id)
	if fail(w, err) {
		return rec, nil, false
	}
	data, err := a.Captures.Profile(r.Context(), id)
	if fail(w, err) {
		return rec, nil, false
	}
	a.Audit(r, action, id)
	return rec, data, true
}

func (a *api) profile(w http.ResponseWriter, r *http.Request) {
	rec, data, ok := a.stored(w, r, "download")
	if !ok {
		return
	}
	name := "profile-" + rec.ID + "." + string(rec.Type) + ".pb"
	if len(data) > 1 && data[0] == 0x1f && data[1] == 0x8b {
		name += ".gz"
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	if rec.SHA256 != "" {
		w.Header().Set("ETag", `"`+rec.SHA256+`"`)
	}
	serve(w, r, data)
}

func (a *api) report(w http.ResponseWriter, r *http.Request) {
	data, err := a.Captures.Analysis(r.Context(), r.PathValue("id"))
	if fail(w, err) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	serve(w, r, data)
}

// serve sends stored bytes as the type that is set and as nothing else; their
// names come from profiled programs. It knows ranges and If-None-Match.
func serve(w http.ResponseWriter, r *http.Request, data []byte) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

func (a *api) objects(w http.ResponseWriter, r *http.Request) {
	p := params{q: r.URL.Query()}
	worker, limit := p.text("worker"), p.limit()
	if p.bad(w) {
		return
	}
	list, err := a.Objects.Objects(r.Context(), worker, limit)
	if fail(w, err) {
		return
	}
	if list.Objects == nil {
		list.Objects = []bot.ObjectRow{}
	}
	write(w, http.StatusOK, list)
}

func (a *api) decisions(w http.ResponseWriter, r *http.Request) {
	p := params{q: r.URL.Query()}
	worker, limit := p.text("worker"), p.limit()
	if p.bad(w) {
		return
	}
	rows, err := a.Decisions.Decisions(r.Context(), worker, limit)
	if fail(w, err) {
		return
	}
	if rows == nil {
		rows = []bot.DecisionRow{}
	}
	write(w, http.StatusOK, map[string]any{"decisions": rows})
}

func (a *api) start(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Start
		// The same by the names of the command's flags.
		Object    string `json:"object"`
		Namespace string `json:"namespace"`
		Version   string `json:"version"`
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		Problem(w, http.StatusBadRequest, "the body cannot be read", "send a JSON object such as {\"worker\":\"room-api\",\"type\":\"cpu\",\"duration\":\"10s\"}: "+err.Error())
		return
	}
	s := in.Start
	s.ObjectID, s.Namespace, s.Version = cmp.Or(s.ObjectID, in.Object), cmp.Or(s.Namespace, in.Namespace), cmp.Or(s.Version, in.Version)
	a.Audit(r, "capture", s.Worker)
	out, err := a.Starter.StartCapture(r.Context(), s, "api")
	switch {
	case errors.Is(err, capture.ErrTargetBusy):
		Problem(w, http.StatusConflict, "already running", err.Error())
	case errors.Is(err, ErrRefused):
		Problem(w, http.StatusUnprocessableEntity, "cannot capture that", strings.TrimPrefix(err.Error(), ErrRefused.Error()+": "))
	case fail(w, err):
	default:
		w.Header().Set("Location", "/api/v1/captures/"+url.PathEscape(out.Capture))
		write(w, http.StatusAccepted, out)
	}
}

func (a *api) deadLetters(w http.ResponseWriter, r *http.Request) {
	p := params{q: r.URL.Query()}
	limit := p.limit()
	if p.bad(w) {
		return
	}
	list, err := a.DeadLetters.DeadLetters(r.Context(), limit)
	if fail(w, err) {
		return
	}
	if list == nil {
		list = []DeadLetter{}
	}
	write(w, http.StatusOK, map[string]any{"dead_letters": list})
}

func (a *api) replay(w http.ResponseWriter, r *http.Request) {
	seq, err := strconv.ParseUint(r.PathValue("sequence"), 10, 64)
	if err != nil {
		Problem(w, http.StatusBadRequest, "bad sequence", "the sequence is a number from /api/v1/dead-letters")
		return
	}
	if fail(w, a.DeadLetters.ReplayDeadLetter(r.Context(), seq)) {
		return
	}
	a.Audit(r, "replay", r.PathValue("sequence"))
	write(w, http.StatusAccepted, map[string]any{"replayed": seq})
}

// params reads query parameters and remembers what was wrong and what was read.
type params struct {
	q     url.Values
	known []string
	err   string
}

func (p *params) text(name string) string {
	p.known = append(p.known, name)
	v := p.q.Get(name)
	if len(v) > 512 {
		p.err = name + " is over 512 characters"
	}
	return v
}

func (p *params) oneOf(name string, allowed ...string) string {
	v := p.text(name)
	if v != "" && !slices.Contains(allowed, v) {
		p.err = name + " must be one of " + strings.Join(allowed, ", ")
	}
	return v
}

func (p *params) time(name string) time.Time {
	v := p.text(name)
	if v == "" {
		return time.Time{}
	}
	if ms, err := strconv.ParseInt(v, 10, 64); err == nil {
		return time.UnixMilli(ms)
	}
	t, err := time.Parse(time.RFC3339, v)
	if err != nil {
		p.err = name + " must be an RFC 3339 time such as 2026-11-30T03:14:00Z, or milliseconds since 1970"
	}
	return t
}

func (p *params) limit() int {
	v := p.text("limit")
	if v == "" {
		return 50
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 200 {
		p.err = "limit must be 1 to 200"
	}
	return n
}

// bad answers 400 when a parameter was wrong or unknown.
func (p *params) bad(w http.ResponseWriter) bool {
	for name := range p.q {
		if p.err == "" && !slices.Contains(p.known, name) {
			p.err = "unknown parameter " + strconv.Quote(name)
		}
	}
	if p.err != "" {
		Problem(w, http.StatusBadRequest, "bad parameter", p.err)
	}
	return p.err != ""
}
