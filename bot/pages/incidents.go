package pages

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/triggers"
)

// incidentList is the body of the list of incidents.
type incidentList struct {
	Rows    []bot.CaseRow
	Query   url.Values
	Next    string // query string of the next page
	Classes []triggers.Class
	Empty   string // what to say when there are none
}

func (p *pages) incidents(w http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	q := bot.CaseQuery{
		Class: triggers.Class(v.Get("class")), State: bot.CaseState(v.Get("state")), Script: v.Get("worker"), Object: v.Get("object"),
		Version: v.Get("version"), Since: when(v.Get("since"), p.Now()), Until: when(v.Get("until"), p.Now()), Text: v.Get("q"), Cursor: v.Get("cursor"),
	}
	rows, next, _, err := p.Cases.ListCases(r.Context(), q)
	if errors.Is(err, bot.ErrCursor) {
		p.problem(w, http.StatusBadRequest, "This page of the list is gone", "Start again from the first page.")
		return
	}
	if p.fail(w, err, "list") {
		return
	}
	body := incidentList{
		Rows: rows, Query: v, Empty: "No incidents yet. When an event of a known class arrives, it stands here within a second.",
		Classes: []triggers.Class{triggers.ClassOverloaded, triggers.ClassExceededMemory, triggers.ClassExceededCPU, triggers.ClassAccountOverloaded, bot.ClassRequested},
	}
	if len(v) > 0 {
		body.Empty = "No incident matches these filters."
	}
	if next != "" {
		n := maps.Clone(v)
		n.Set("cursor", next)
		body.Next = "?" + n.Encode()
	}
	p.render(w, r, "incidents", page{Title: "Incidents", Here: "incidents", Live: q.Cursor == "", Body: body})
}

// when reads what people type into a time filter: "2h", "3d", a date, or RFC
// 3339. What it cannot read filters nothing.
func when(s string, now time.Time) time.Time {
	s = strings.TrimSpace(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if d, err := time.ParseDuration(days + "h"); err == nil {
			return now.Add(-24 * d)
		}
	}
	if d, err := time.ParseDuration(s); err == nil {
		return now.Add(-d)
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	return time.Time{}
}
