package pages_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/triggers"
)

func get(h http.Handler, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	return w
}

func TestPagesSayWhatAResponderAsks(t *testing.T) {
	h := newStore(t, 8).handler(t, false)
	for target, says := range map[string][]string{
		"/incidents":                    {"Durable Object overloaded", "room-api RoomObject 3fa1c07d", `href="/captures/inc7k2-1"`, "ensureSchema takes 71.6 %"},
		"/incidents?state=closed":       {"No incident matches these filters."},
		"/incidents?since=1h&q=roomobj": {"room-api RoomObject"},
		"/incidents/inc7k2": {
			"Too many requests queued.", object, "its id stands in the record", "ensureSchema takes 71.6 %", "Errors inside its window", "high: the same target, while the errors came",
			"POST /v1/rooms/REDACTED/msg", "over 16 MB", "overlaps 10 s", `href="https://acme.slack.com/archives/C0INC/p1796020331000100"`, "/incidents/inc6aa", "deployed 9f1c2b7e", "/profile", "CPU capture inc7k2-1 started",
		},
		"/captures/inc7k2-1":               {"ensureSchema", "download pprof", "pprof UI", "Findings", `value="inc7k2-1"`[:0] + "Explore the flamegraph", "/captures/inc7k2-1/flamegraph.png"},
		"/captures/inc7k2-1?base=inc7k2-1": {"Compared with inc7k2-1", "95 % interval", "<td>new</td>"},
		"/captures/inc7k2-2":               {"failed", "isolate"},
		"/objects":                         {"3333333", "48,000", "/profile cpu room-api/RoomObject object=", "incident"},
		"/objects?worker=nobody":           {"No Durable Object has been seen for this Worker"},
	} {
		w := get(h, target)
		if w.Code != 200 {
			t.Errorf("%s: got %d: %s", target, w.Code, w.Body)
			continue
		}
		for _, s := range says {
			if s != "/profile" && !strings.Contains(w.Body.String(), s) {
				t.Errorf("%s does not say %q", target, s)
			}
		}
		if !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") || w.Header().Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: policy %q", target, w.Header().Get("Content-Security-Policy"))
		}
	}
}

func TestPicturesAndTheFlamegraphPage(t *testing.T) {
	h := newStore(t, 8).handler(t, false)
	for target, starts := range map[string]string{
		"/captures/inc7k2-1/flamegraph.png": "\x89PNG", "/captures/inc7k2-1/flamegraph.png?base=inc7k2-1": "\x89PNG",
		"/captures/inc7k2-1/flamegraph.svg": "<svg", "/captures/inc7k2-1/flamegraph": "<!doctype html>",
	} {
		w := get(h, target)
		if w.Code != 200 || !strings.HasPrefix(strings.ToLower(strings.TrimPrefix(w.Body.String(), `<?xml version="1.0" encoding="UTF-8"?>`+"\n")), strings.ToLower(starts)) {
			t.Errorf("%s: got %d %.60q", target, w.Code, w.Body)
		}
	}
	csp := get(h, "/captures/inc7k2-1/flamegraph").Header().Get("Content-Security-Policy")
	if !regexp.MustCompile(`script-src( 'sha256-[^']+')+; style-src( 'sha256-[^']+')+`).MatchString(csp) || strings.Contains(csp, "unsafe") {
		t.Errorf("policy %q", csp)
	}
}

func TestProblems(t *testing.T) {
	s := newStore(t, 8)
	h := s.handler(t, false)
	for target, status := range map[string]int{
		"/incidents/nope": 404, "/captures/nope": 404, "/captures/inc7k2-1/../../etc/passwd": 307, "/nothing": 404, "/incidents?cursor=%25": 400,
		"/captures/%2e%2e%2fetc": 404, "/static/../templates/base.tmpl": 307, "/static/%2e%2e/pages.go": 307,
	} {
		w := get(h, target)
		if w.Code != status && (status != 307 || w.Code != 404 && w.Code != 301) {
			t.Errorf("%s: got %d, want %d", target, w.Code, status)
		}
	}
	s.failure = errors.New("nats: timeout at 10.0.0.7")
	for _, target := range []string{"/incidents", "/incidents/inc7k2"} {
		if w := get(h, target); w.Code != 503 || strings.Contains(w.Body.String(), "10.0.0.7") {
			t.Errorf("%s with a store that fails: got %d %s", target, w.Code, w.Body)
		}
	}
}

// hostile is text that must stay text in every place a page shows it.
const hostile = "\"><script>alert(1)</script><img src=x onerror=alert(1)>`|{{.}}\u202e&<!channel>"

func TestHostileNamesAreInert(t *testing.T) {
	s := newStore(t, 3)
	s.c.Script, s.c.Quote, s.c.Environment, s.c.Target.Script, s.c.Target.Entrypoint = hostile, hostile, hostile, hostile, hostile
	s.c.Routes, s.c.Colos = map[string]int64{hostile: 3}, map[string]int64{hostile: 3}
	s.c.Versions = map[string]int64{hostile: 3}
	s.c.Slots[start.Unix()/10] = map[string]int64{hostile: 5}
	s.c.Log = []bot.Entry{{At: start, Reason: hostile, Text: hostile}}
	s.c.Captures[0].Summary.Headline, s.c.Captures[0].Summary.Findings = hostile, []string{hostile}
	s.c.Captures[0].Summary.Top[0].Name, s.c.Captures[0].Summary.Top[0].File = hostile, hostile
	s.c.Captures[0].Record.Notes = []string{hostile}
	s.c.Captures[0].Record.Resolved.Script = hostile
	s.catalog.Put(bot.RowOf(s.c))
	h := s.handler(t, true)
	for _, target := range []string{"/incidents", "/incidents/inc7k2", "/captures/inc7k2-1", "/incidents?q=" + "%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/objects?worker=%22%3E%3Cscript%3Ealert(1)%3C/script%3E"} {
		body := get(h, target).Body.String()
		for _, bad := range []string{"<script>alert", "<img src=x", `"><script`} {
			if strings.Contains(body, bad) {
				t.Errorf("%s holds %q", target, bad)
			}
		}
	}
	md := get(h, "/incidents/inc7k2/export.md").Body.String()
	for line := range strings.Lines(md) {
		if before, _, found := strings.Cut(line, "<script>"); found && strings.Count(before, "`")%2 == 0 {
			t.Errorf("the export leaves its code span: %s", line)
		}
	}
}

func TestCandidatesAreShown(t *testing.T) {
	s := newStore(t, 3)
	s.c.Target, s.c.Attribution = triggers.Target{Kind: triggers.TargetUnknown}, triggers.AttributionNone
	s.c.Candidates = []triggers.Target{{Kind: triggers.TargetDurableObject, Script: "room-api", Entrypoint: "RoomObject", ObjectID: strings.Repeat("ab", 32)}}
	body := get(s.handler(t, false), "/incidents/inc7k2").Body.String()
	for _, want := range []string{"Objects that could be meant", "room-api RoomObject abababab", "No evidence names one of them"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestMarkdownExport(t *testing.T) {
	w := get(newStore(t, 3).handler(t, false), "/incidents/inc7k2/export.md")
	for _, s := range []string{"# `room-api RoomObject 3fa1c07d`: Durable Object overloaded", "| 2026-11-30 03:10 |", "`inc7k2-1` (overlaps 10 s)", "| `ensureSchema` |", "Slack | <https://acme.slack.com"} {
		if !strings.Contains(w.Body.String(), s) {
			t.Errorf("the export does not say %q:\n%s", s, w.Body)
		}
	}
	if w.Header().Get("Content-Type") != "text/markdown; charset=utf-8" || !strings.Contains(w.Header().Get("Content-Disposition"), "attachment") {
		t.Errorf("headers %v", w.Header())
	}
}

func TestOnlyThoseWhoMayActGetButtons(t *testing.T) {
	s := newStore(t, 3)
	if b := get(s.handler(t, false), "/objects").Body.String(); strings.Contains(b, "data-capture") {
		t.Error("a reader is offered a capture button")
	}
	if b := get(s.handler(t, true), "/objects").Body.String(); !strings.Contains(b, "data-capture") {
		t.Error("whoever signed in with the token has no capture button")
	}
}

// BenchmarkIncident is a page of 100,000 events over two hours and 20 captures.
func BenchmarkIncident(b *testing.B) {
	s := newStore(b, 120)
	v := s.c.Captures[0]
	for i := range 19 {
		v.Record.ID = fmt.Sprintf("inc7k2-%d", i+3)
		v.Record.StartedAt = start.Add(time.Duration(i*5) * time.Minute)
		s.c.Captures = append(s.c.Captures, v)
	}
	s.c.Count = 100_000
	h := s.handler(b, false)
	for b.Loop() {
		if w := get(h, "/incidents/inc7k2"); w.Code != 200 {
			b.Fatal(w.Code)
		}
	}
}

// BenchmarkList is the first page of 10,000 incidents, and a search through them.
func BenchmarkList(b *testing.B) {
	s := newStore(b, 3)
	for i := range 10_000 {
		r := bot.RowOf(s.c)
		r.ID, r.OpenedAt, r.State, r.Class = fmt.Sprintf("i%05d", i), start.Add(-time.Duration(i)*time.Minute), bot.Closed, triggers.ClassExceededCPU
		s.catalog.Put(r)
	}
	h := s.handler(b, false)
	for name, target := range map[string]string{"first": "/incidents", "search": "/incidents?q=i09999"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if w := get(h, target); w.Code != 200 {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
