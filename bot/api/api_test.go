package api_test

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/api"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

// store answers every interface from memory.
type store struct {
	query   bot.CaseQuery
	start   api.Start
	err     error
	audited []string

	imported capture.Record
	bytes    []byte
}

var opened = time.Date(2026, 11, 30, 3, 14, 0, 0, time.UTC)

func (s *store) ListCases(_ context.Context, q bot.CaseQuery) ([]bot.CaseRow, string, uint64, error) {
	s.query = q
	if q.Cursor == "bad" {
		return nil, "", 0, bot.ErrCursor
	}
	if q.Script == "nobody" {
		return nil, "", 7, s.err
	}
	return []bot.CaseRow{bot.RowOf(incident)}, "more", 7, s.err
}

var incident = bot.Case{ID: "i1", Key: "overloaded.do-1", State: bot.Open, Class: triggers.ClassOverloaded, Script: "edge", OpenedAt: opened, LastAt: opened, Count: 3, Versions: map[string]int64{"v": 3}, Pending: []bot.Effect{{Kind: bot.EffectPost}}}

func (s *store) Case(_ context.Context, id string) (bot.Case, error) {
	if id != "i1" {
		return bot.Case{}, fmt.Errorf("case %s: %w", id, capture.ErrNotFound)
	}
	return incident, s.err
}

var record = capture.Record{Job: capture.Job{ID: "c1", Type: capture.CPU}, State: capture.Stored, SHA256: "abc"}

func (s *store) ListCaptures(context.Context, string, string, int, string) ([]capture.Record, string, error) {
	return []capture.Record{record}, "", s.err
}

func (s *store) Record(_ context.Context, id string) (capture.Record, uint64, error) {
	if id != "c1" {
		return capture.Record{}, 0, capture.ErrNotFound
	}
	return record, 1, s.err
}

func (s *store) Profile(context.Context, string) ([]byte, error) { return []byte{0x1f, 0x8b, 1}, s.err }

func (s *store) Analysis(context.Context, string) ([]byte, error) {
	return []byte(`{"type":"cpu"}`), s.err
}

func (s *store) Import(_ context.Context, r capture.Record, data []byte) error {
	if r.ID == record.ID {
		return capture.ErrConflict
	}
	s.imported, s.bytes = r, data
	return s.err
}

func (s *store) Objects(context.Context, string, int) (bot.ObjectList, error) {
	return bot.ObjectList{Objects: []bot.ObjectRow{{Script: "w", LastCapture: "c", Incident: "i", Entrypoint: "E"}}}, s.err
}

func (s *store) Decisions(context.Context, string, int) ([]bot.DecisionRow, error) {
	return []bot.DecisionRow{{Incident: "i", Rule: "r", Target: &triggers.Target{Kind: triggers.TargetWorker}}}, s.err
}

func (s *store) StartCapture(_ context.Context, st api.Start, _ string) (api.Started, error) {
	s.start = st
	switch st.Worker {
	case "busy":
		return api.Started{}, fmt.Errorf("busy: %w", capture.ErrTargetBusy)
	case "no-such":
		return api.Started{}, fmt.Errorf("%w: no Worker is named no-such", api.ErrRefused)
	}
	return api.Started{Capture: "c2", Incident: "i2", State: "queued"}, s.err
}

func (s *store) DeadLetters(context.Context, int) ([]api.DeadLetter, error) {
	return []api.DeadLetter{{Sequence: 4}}, s.err
}
func (s *store) ReplayDeadLetter(context.Context, uint64) error { return s.err }

func (s *store) handler() http.Handler {
	return api.New(api.Options{
		Cases: s, Captures: s, Objects: s, Decisions: s, Starter: s, DeadLetters: s,
		Audit: func(_ *http.Request, action, id string) { s.audited = append(s.audited, action+" "+id) },
	})
}

func call(h http.Handler, method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestAnswers(t *testing.T) {
	for _, tc := range []struct {
		method, target, body string
		status               int
		says                 string
	}{
		{"GET", "/api/v1/incidents", "", 200, `"next":"more"`},
		{"GET", "/api/v1/incidents?worker=nobody", "", 200, `{"incidents":[],`},
		{"GET", "/api/v1/incidents?klass=overloaded", "", 400, "unknown parameter"},
		{"GET", "/api/v1/incidents?class=slow", "", 400, "must be one of"},
		{"GET", "/api/v1/incidents?since=yesterday", "", 400, "RFC 3339"},
		{"GET", "/api/v1/incidents?limit=1000", "", 400, "1 to 200"},
		{"GET", "/api/v1/incidents?cursor=bad", "", 400, "start again"},
		{"GET", "/api/v1/incidents/i1", "", 200, `"id":"i1"`},
		{"GET", "/api/v1/incidents/i2", "", 404, "no such thing"},
		{"GET", "/api/v1/captures", "", 200, `"captures":[{"id":"c1"`},
		{"GET", "/api/v1/captures/c1", "", 200, `"state":"stored"`},
		{"GET", "/api/v1/captures/..%2f..%2fetc", "", 404, "no such thing"},
		{"GET", "/api/v1/captures/c1/report", "", 200, `"type":"cpu"`},
		{"GET", "/api/v1/objects", "", 200, `"objects":[`},
		{"GET", "/api/v1/decisions", "", 200, `"decisions":[`},
		{"GET", "/api/v1/dead-letters", "", 200, `"sequence":4`},
		{"POST", "/api/v1/dead-letters/4/replay", "", 202, `"replayed":4`},
		{"POST", "/api/v1/dead-letters/x/replay", "", 400, "number"},
		{"POST", "/api/v1/captures", `{"worker":"room-api","duration":"5s"}`, 202, `"capture":"c2"`},
		{"POST", "/api/v1/captures", `{"worker":"busy"}`, 409, "already"},
		{"POST", "/api/v1/captures", `{"worker":"no-such"}`, 422, "no Worker is named"},
		{"POST", "/api/v1/captures", `{"wroker":"x"}`, 400, "unknown field"},
		{"POST", "/api/v1/captures", `[`, 400, "JSON object"},
		{"GET", "/api/v1/nothing", "", 404, "openapi.yaml"},
	} {
		w := call((&store{}).handler(), tc.method, tc.target, tc.body)
		if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.says) {
			t.Errorf("%s %s: got %d %s, want %d with %s", tc.method, tc.target, w.Code, w.Body, tc.status, tc.says)
		}
		if ct := w.Header().Get("Content-Type"); tc.status >= 400 && ct != "application/problem+json" {
			t.Errorf("%s %s: an error of type %s", tc.method, tc.target, ct)
		}
	}
}

func TestTheStoreFailsAndSaysNothingOfItself(t *testing.T) {
	s := &store{err: errors.New("nats: no responders at 10.0.0.7")}
	for _, target := range []string{"/api/v1/incidents", "/api/v1/captures", "/api/v1/captures/c1", "/api/v1/objects", "/api/v1/decisions", "/api/v1/dead-letters", "/api/v1/captures/c1/profile"} {
		w := call(s.handler(), "GET", target, "")
		if w.Code != 503 || strings.Contains(w.Body.String(), "10.0.0.7") {
			t.Errorf("%s: got %d %s", target, w.Code, w.Body)
		}
	}
}

func TestFiltersReachTheQuery(t *testing.T) {
	s := &store{}
	call(s.handler(), "GET", "/api/v1/incidents?class=overloaded&state=open&worker=w&object=ab&version=v&since=2026-11-30T03:00:00Z&until=1796020331412&q=x&limit=7&cursor=c", "")
	want := bot.CaseQuery{Class: "overloaded", State: "open", Script: "w", Object: "ab", Version: "v", Since: time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC), Until: time.UnixMilli(1796020331412), Text: "x", Limit: 7, Cursor: "c"}
	if !reflect.DeepEqual(s.query, want) {
		t.Errorf("got %+v, want %+v", s.query, want)
	}
}

func TestETagsSavePollers(t *testing.T) {
	h := (&store{}).handler()
	for _, target := range []string{"/api/v1/incidents", "/api/v1/incidents/i1", "/api/v1/captures/c1"} {
		tag := call(h, "GET", target, "").Header().Get("ETag")
		if w := call(h, "GET", target, "", "If-None-Match", tag); tag == "" || w.Code != 304 || w.Body.Len() > 0 {
			t.Errorf("%s: ETag %q, then %d with %d bytes", target, tag, w.Code, w.Body.Len())
		}
	}
}

func TestDownloadsAreAudited(t *testing.T) {
	s := &store{}
	w := call(s.handler(), "GET", "/api/v1/captures/c1/profile", "")
	if w.Header().Get("Content-Disposition") != `attachment; filename="profile-c1.cpu.pb.gz"` || !slices.Equal(s.audited, []string{"download c1"}) {
		t.Errorf("got %v, audited %v", w.Header(), s.audited)
	}
}

func TestTheInsideOfACaseStaysInside(t *testing.T) {
	if w := call((&store{}).handler(), "GET", "/api/v1/incidents/i1", ""); strings.Contains(w.Body.String(), "pending") {
		t.Errorf("effects are shown: %s", w.Body)
	}
}

func zipped(t *testing.T, record string) string {
	t.Helper()
	var b strings.Builder
	z := zip.NewWriter(&b)
	for name, data := range map[string]string{"record.json": record, "profile.pb.gz": "profile"} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, data)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestExportAndImport(t *testing.T) {
	s := &store{}
	exported := call(s.handler(), "GET", "/api/v1/captures/c1/export", "")
	if exported.Code != 200 || exported.Header().Get("Content-Disposition") != `attachment; filename="capture-c1.zip"` {
		t.Fatalf("got %d %v", exported.Code, exported.Header())
	}
	if w := call(s.handler(), "POST", "/api/v1/captures/import", exported.Body.String()); w.Code != 409 {
		t.Errorf("what is here already: got %d %s, want 409", w.Code, w.Body)
	}
	there := zipped(t, `{"id":"c7","type":"cpu","state":"stored"}`)
	if w := call(s.handler(), "POST", "/api/v1/captures/import", there); w.Code != 201 || s.imported.ID != "c7" || string(s.bytes) != "profile" {
		t.Errorf("got %d %s, imported %+v %q", w.Code, w.Body, s.imported, s.bytes)
	}
	for _, bad := range []string{`{"id":"../c7","state":"stored"}`, `{"id":"c7","state":"failed"}`, `{"id":"c7`} {
		if w := call(s.handler(), "POST", "/api/v1/captures/import", zipped(t, bad)); w.Code != 400 {
			t.Errorf("%s: got %d %s, want 400", bad, w.Code, w.Body)
		}
	}
	for name, body := range map[string]string{"text": "hello", "half a zip": exported.Body.String()[:40], "empty": ""} {
		if w := call(s.handler(), "POST", "/api/v1/captures/import", body); w.Code != 400 {
			t.Errorf("%s: got %d %s, want 400", name, w.Code, w.Body)
		}
	}
}

// TestOpenAPI holds the file to the routes and to the fields of the answers.
func TestOpenAPI(t *testing.T) {
	h := (&store{}).handler()
	var doc struct {
		Paths      map[string]map[string]any
		Components struct {
			Schemas map[string]struct {
				Required   []string
				Properties map[string]any
			}
		}
	}
	if err := yaml.Unmarshal(call(h, "GET", "/api/v1/openapi.yaml", "").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, p := range api.Patterns() {
		method, path, _ := strings.Cut(p, " ")
		if _, ok := doc.Paths[path][strings.ToLower(method)]; !ok {
			t.Errorf("%s is not documented", p)
		}
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			target := strings.NewReplacer("{id}", "zzz", "{sequence}", "1").Replace(path)
			if w := call(h, strings.ToUpper(method), target, "{}"); strings.Contains(w.Body.String(), "no such resource") || w.Code == 405 {
				t.Errorf("%s %s is documented and does not exist", method, path)
			}
		}
	}
	for schema, v := range map[string]any{
		"IncidentRow": bot.RowOf(incident), "ObjectRow": bot.ObjectRow{}, "DecisionRow": bot.DecisionRow{}, "DeadLetter": api.DeadLetter{},
		"Start": api.Start{}, "Started": api.Started{}, "Target": triggers.Target{}, "ObjectList": bot.ObjectList{},
	} {
		s, ok := doc.Components.Schemas[schema]
		if !ok {
			t.Errorf("no schema %s", schema)
			continue
		}
		for f := range reflect.TypeOf(v).Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if _, ok := s.Properties[name]; !ok {
				t.Errorf("%s.%s is not documented", schema, name)
			}
		}
		var got map[string]any
		b, _ := json.Marshal(v)
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		for _, name := range s.Required {
			if _, ok := got[name]; !ok {
				t.Errorf("%s.%s is required and missing from %s", schema, name, b)
			}
		}
	}
}

type starter struct{ got api.Start }

func (s *starter) StartCapture(_ context.Context, st api.Start, _ string) (api.Started, error) {
	s.got = st
	return api.Started{}, nil
}

// The names of the command's flags work as those of the records do.
func TestStartTakesTheNamesOfTheFlags(t *testing.T) {
	want := api.Start{Worker: "w", ObjectID: "o", Namespace: "n", Version: "v", Type: "heap", Duration: "5s"}
	for _, body := range []string{
		`{"worker":"w","object":"o","namespace":"n","version":"v","type":"heap","duration":"5s"}`,
		`{"worker":"w","object_id":"o","namespace_id":"n","version_id":"v","type":"heap","duration":"5s"}`,
	} {
		var s starter
		if w := call(api.New(api.Options{Starter: &s}), "POST", "/api/v1/captures", body); w.Code != 202 || s.got != want {
			t.Errorf("%s: %d, %+v", body, w.Code, s.got)
		}
	}
}
