package pages

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/report/flame"
)

// captureBody is what the page of one capture shows.
type captureBody struct {
	Record  capture.Record
	Report  *report.Report
	Top     []report.Function
	More    int
	Why     string // no report: why
	Around  *Around
	Case    *bot.Case
	Others  []capture.Record // to compare with
	Base    string
	Against string // the base's own words
}

// shownFunctions is how many rows the table of a capture has; the flamegraph
// page has all of them.
const shownFunctions = 40

func (p *pages) capture(w http.ResponseWriter, r *http.Request) {
	rec, _, err := p.Captures.Record(r.Context(), r.PathValue("id"))
	if p.fail(w, err, "capture") {
		return
	}
	b := captureBody{Record: rec, Base: r.URL.Query().Get("base")}
	p.read(r.Context(), &b)
	if rec.IncidentID != "" {
		if c, err := p.Cases.Case(r.Context(), rec.IncidentID); err == nil {
			b.Case = &c
			if a, ok := correlate(c, rec); ok {
				b.Around = &a
			}
		}
	}
	script := rec.Resolved.Script
	if script == "" {
		script = rec.Target.Script
	}
	if others, _, err := p.Captures.ListCaptures(r.Context(), "", script, 30, ""); err == nil {
		for _, o := range others {
			if o.ID != rec.ID && o.State == capture.Stored && o.Type == rec.Type {
				b.Others = append(b.Others, o)
			}
		}
	}
	p.render(w, r, "capture", page{Title: string(rec.Type) + " capture " + rec.ID, Here: "incidents", Live: !rec.Final(), Body: b})
}

// read analyses the capture, compared when a base is named. A base that cannot
// be compared is said; it does not take the page away.
func (p *pages) read(ctx context.Context, b *captureBody) {
	if b.Record.State != capture.Stored {
		if b.Record.Failure != nil {
			b.Why = b.Record.Failure.Explain()
		}
		return
	}
	rep, err := p.Captures.Report(ctx, b.Record.ID, b.Base)
	if err != nil && b.Base != "" {
		b.Against = "It cannot be compared with " + b.Base + ": " + err.Error()
		b.Base = ""
		rep, err = p.Captures.Report(ctx, b.Record.ID, "")
	}
	if err != nil {
		b.Why = "The stored profile cannot be read: " + err.Error()
		return
	}
	b.Report = rep
	b.Top = rep.Functions[:min(shownFunctions, len(rep.Functions))]
	b.More = len(rep.Functions) - len(b.Top)
}

func (p *pages) drawn(w http.ResponseWriter, r *http.Request, contentType string, draw func(io.Writer, *report.Report) error) {
	rep, err := p.Captures.Report(r.Context(), r.PathValue("id"), r.URL.Query().Get("base"))
	if p.fail(w, err, "profile") {
		return
	}
	var out bytes.Buffer
	if err := draw(&out, rep); errors.Is(err, flame.ErrEmpty) {
		p.problem(w, http.StatusNotFound, "There is nothing to draw", "The profile holds no busy sample: the isolate did nothing while it was sampled.")
		return
	} else if p.fail(w, err, "picture") {
		return
	}
	headers(w)
	w.Header().Set("Content-Type", contentType)
	if contentType == "text/html; charset=utf-8" {
		// Frames cannot be forbidden in the page itself.
		w.Header().Set("Content-Security-Policy", flame.Policy()+"; frame-ancestors 'none'")
	}
	_, _ = w.Write(out.Bytes())
}

func (p *pages) png(w http.ResponseWriter, r *http.Request) {
	draw := flame.PNG
	if r.URL.Query().Get("base") != "" {
		draw = flame.DiffPNG
	}
	p.drawn(w, r, "image/png", draw)
}

func (p *pages) svg(w http.ResponseWriter, r *http.Request) {
	p.drawn(w, r, "image/svg+xml", flame.SVG)
}

// flamegraph is the self-contained page, as it is stored and sent around.
func (p *pages) flamegraph(w http.ResponseWriter, r *http.Request) {
	p.drawn(w, r, "text/html; charset=utf-8", flame.HTML)
}
