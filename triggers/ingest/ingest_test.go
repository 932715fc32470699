package ingest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/snapflame/snapflame/triggers/ingest"
)

type message struct{ script, data, id string }

// queue records what was published and answers with err when set.
type queue struct {
	got   []message
	err   error
	limit int
}

func (q *queue) PublishEvent(_ context.Context, script string, data []byte, id string) error {
	if q.err != nil {
		return q.err
	}
	q.got = append(q.got, message{script, string(data), id})
	return nil
}

func (q *queue) MaxPayload() int {
	if q.limit == 0 {
		return 1 << 20
	}
	return q.limit
}

func post(t *testing.T, q *queue, path, body string, header ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer s3cret")
	for i := 0; i < len(header); i += 2 {
		if header[i+1] == "" {
			r.Header.Del(header[i])
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	ingest.New(q, ingest.Options{Token: "s3cret"}).ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

func gz(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, s)
	z.Close()
	return b.String()
}

func TestAnswers(t *testing.T) {
	event := `{"scriptName":"a","outcome":"ok"}`
	for _, tc := range []struct {
		name, path, body string
		header           []string
		status           int
		says             string
		messages         int
	}{
		{"one event", "/ingest/events", event, nil, 202, "accepted", 1},
		{"pretty-printed", "/ingest/events", "{\n \"scriptName\": \"a\"\n}", nil, 202, "accepted", 1},
		{"array", "/ingest/events", "[" + event + "," + event + "]", nil, 202, "accepted", 1},
		{"array of two scripts", "/ingest/events", `[{"scriptName":"a"},{"scriptName":"b"}]`, nil, 202, "accepted", 2},
		{"ndjson", "/ingest/events", event + "\n" + event + "\n", nil, 202, "accepted", 1},
		{"ndjson with a bad line", "/ingest/events", event + "\nnot json\n", nil, 202, "accepted", 2},
		{"gzip", "/ingest/events", gz(event), []string{"Content-Encoding", "gzip"}, 202, "accepted", 1},
		{"gzip without a header", "/ingest/events", gz(event), nil, 202, "accepted", 1},
		{"half a gzip", "/ingest/events", gz(event)[:20], nil, 400, "gzip", 0},
		{"gzip bomb", "/ingest/events", strings.Repeat(gz(strings.Repeat(" ", 1<<20)), 65), nil, 413, "unpacks", 0},
		{"brotli", "/ingest/events", event, []string{"Content-Encoding", "br"}, 415, "gzip or absent", 0},
		{"protobuf", "/v1/logs", event, []string{"Content-Type", "application/x-protobuf"}, 415, "http/json", 0},
		{"form", "/ingest/events", event, []string{"Content-Type", "multipart/form-data; boundary=x"}, 415, "application/json", 0},
		{"text", "/ingest/events", "hello", nil, 400, "not valid JSON", 0},
		{"text lines", "/ingest/events", "hello\nworld", nil, 400, "not valid JSON", 0},
		{"a number", "/ingest/events", "7", nil, 400, "not an event", 0},
		{"cut array", "/ingest/events", `[{"a":1},`, nil, 400, "cut off", 0},
		{"deep brackets", "/ingest/events", strings.Repeat("[", 100_000), nil, 400, "not valid JSON", 0},
		{"no token", "/ingest/events", event, []string{"Authorization", ""}, 401, "ingest.token", 0},
		{"wrong token", "/ingest/events", event, []string{"Authorization", "Bearer nope"}, 401, "ingest.token", 0},
		{"wrong scheme", "/ingest/events", event, []string{"Authorization", "Basic s3cret"}, 401, "ingest.token", 0},
		{"logpush test upload", "/ingest/events", gz(`{"content":"tests"}`), nil, 200, "ok", 0},
		{"otlp preflight", "/v1/logs", "", nil, 200, "ok", 0},
		{"empty otlp", "/v1/traces", `{"resourceSpans":[]}`, nil, 200, "ok", 0},
		{"otlp", "/v1/logs", `{"resourceLogs":[{}]}`, nil, 200, "partialSuccess", 1},
		{"webhook", "/ingest/issues", `{"text":"x","data":{}}`, []string{"Authorization", "", "cf-webhook-auth", "s3cret"}, 202, "accepted", 1},
		{"webhook, wrong", "/ingest/issues", `{"text":"x"}`, []string{"Authorization", "", "cf-webhook-auth", "S3cret"}, 401, "cf-webhook-auth", 0},
		{"webhook test message", "/ingest/issues", `{"text":"Hello World! This is a test message sent from https://cloudflare.com. If you can see this"}`, nil, 200, "ok", 0},
		{"webhook header does not open the events door", "/ingest/events", event, []string{"Authorization", "", "cf-webhook-auth", "s3cret"}, 401, "token", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			q := &queue{}
			status, text := post(t, q, tc.path, tc.body, tc.header...)
			if status != tc.status || !strings.Contains(text, tc.says) {
				t.Errorf("got %d %q, want %d with %q", status, text, tc.status, tc.says)
			}
			if len(q.got) != tc.messages {
				t.Errorf("published %d messages, want %d: %q", len(q.got), tc.messages, q.got)
			}
		})
	}
}

func TestClosedWithoutToken(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/ingest/events", strings.NewReader(`{}`))
	r.Header.Set("Authorization", "Bearer ")
	ingest.New(&queue{}, ingest.Options{}).ServeHTTP(w, r)
	if w.Code != 401 {
		t.Errorf("got %d, want 401", w.Code)
	}
}

func TestQueueErrorsTellTheSenderWhatToDo(t *testing.T) {
	for _, tc := range []struct {
		err    error
		status int
		retry  bool
	}{
		{ingest.ErrFull, 503, true},
		{ingest.ErrTooLarge, 413, false},
		{errors.New("no responders"), 503, true},
	} {
		r := httptest.NewRequest(http.MethodPost, "/ingest/events", strings.NewReader(`{"a":1}`))
		r.Header.Set("Authorization", "Bearer s3cret")
		w := httptest.NewRecorder()
		ingest.New(&queue{err: fmt.Errorf("publish: %w", tc.err)}, ingest.Options{Token: "s3cret"}).ServeHTTP(w, r)
		if w.Code != tc.status || (w.Header().Get("Retry-After") != "") != tc.retry {
			t.Errorf("%v: got %d, Retry-After %q", tc.err, w.Code, w.Header().Get("Retry-After"))
		}
		if strings.Contains(w.Body.String(), "responders") {
			t.Errorf("%v: the answer shows the inside: %s", tc.err, w.Body)
		}
	}
}

func TestLargeBodiesAreCutToFit(t *testing.T) {
	big := fmt.Sprintf(`{"scriptName":"a","pad":%q}`, strings.Repeat("x", 900_000))
	q := &queue{}
	if status, text := post(t, q, "/ingest/events", "["+big+","+big+","+big+"]"); status != 202 || len(q.got) != 3 {
		t.Errorf("got %d %q and %d messages, want 202 and 3", status, text, len(q.got))
	}
	q = &queue{limit: 500_000}
	if status, _ := post(t, q, "/ingest/events", big); status != 413 {
		t.Errorf("a single event over the limit: got %d, want 413", status)
	}
	res := fmt.Sprintf(`{"pad":%q}`, strings.Repeat("x", 300_000))
	if status, _ := post(t, q, "/v1/logs", `{"resourceLogs":[`+res+`,`+res+`]}`); status != 200 || len(q.got) != 2 {
		t.Errorf("an OTLP export over the limit: got %d and %d messages, want 200 and 2", status, len(q.got))
	}
	record := fmt.Sprintf(`{"body":{"stringValue":"<%s>"}}`, strings.Repeat("x", 2000))
	records := strings.TrimSuffix(strings.Repeat(record+",", 400), ",")
	one := `{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"edge"}}]},"scopeLogs":[{"scope":{"name":"a"},"logRecords":[` + records + `]},{"scope":{"name":"b"},"logRecords":[` + record + `]}]}`
	q = &queue{limit: 100_000}
	if status, text := post(t, q, "/v1/logs", `{"resourceLogs":[`+one+`]}`); status != 200 {
		t.Errorf("one resource with many records: got %d %q", status, text)
	}
	found := 0
	for _, m := range q.got {
		if !strings.Contains(m.data, `"service.name"`) || len(m.data) > 100_000 {
			t.Errorf("a message of %d bytes, %.80s", len(m.data), m.data)
		}
		found += strings.Count(m.data, `"stringValue":"\u003c`)
	}
	if found != 401 {
		t.Errorf("%d records, want 401", found)
	}
	if status, _ := post(t, &queue{limit: 2000}, "/v1/logs", `{"resourceLogs":[`+one+`]}`); status != 413 {
		t.Errorf("a record over the limit: got %d, want 413", status)
	}
	var many strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&many, `{"scriptName":"a","n":%d,"pad":%q}`+"\n", i, strings.Repeat("y", 100))
	}
	q = &queue{}
	post(t, q, "/ingest/events", many.String())
	lines := 0
	for _, m := range q.got {
		if len(m.data) > 128<<10 {
			t.Errorf("a message of %d bytes", len(m.data))
		}
		lines += strings.Count(m.data, "\n") + 1
	}
	if lines != 10_000 || len(q.got) > 20 {
		t.Errorf("%d events in %d messages, want 10000 in at most 20", lines, len(q.got))
	}
}

func TestIdempotencyKeyNamesEachMessage(t *testing.T) {
	q := &queue{}
	post(t, q, "/ingest/events", `[{"scriptName":"a"},{"scriptName":"b"}]`, "Idempotency-Key", "batch-7")
	if q.got[0].id != "batch-7.0" || q.got[1].id != "batch-7.1" {
		t.Errorf("ids %q, %q", q.got[0].id, q.got[1].id)
	}
	q = &queue{}
	post(t, q, "/ingest/events", `{"scriptName":"a"}`)
	if q.got[0].id != "" {
		t.Errorf("a request without a key must not be deduplicated, got id %q", q.got[0].id)
	}
}

// What a Tail Worker had to drop is counted with the batch that got through,
// and only then: it says so again with the next try otherwise.
func TestDroppedIsToldOncePerAcceptedBatch(t *testing.T) {
	for _, tc := range []struct {
		header, token string
		err           error
		want          []int
	}{
		{"12", "s3cret", nil, []int{12}},
		{"", "s3cret", nil, nil},
		{"0", "s3cret", nil, nil},
		{"-4", "s3cret", nil, nil},
		{"many", "s3cret", nil, nil},
		{"99999999999999999999999", "s3cret", nil, nil},
		{"999999999", "s3cret", nil, []int{1_000_000}},
		{"12", "wrong", nil, nil},
		{"12", "s3cret", ingest.ErrFull, nil},
	} {
		var told []int
		r := httptest.NewRequest(http.MethodPost, "/ingest/events", strings.NewReader(`{"a":1}`))
		r.Header.Set("Authorization", "Bearer "+tc.token)
		r.Header.Set(ingest.HeaderDropped, tc.header)
		ingest.New(&queue{err: tc.err}, ingest.Options{Token: "s3cret", Dropped: func(n int) { told = append(told, n) }}).ServeHTTP(httptest.NewRecorder(), r)
		if !slices.Equal(told, tc.want) {
			t.Errorf("header %q, token %q, queue %v: told %v, want %v", tc.header, tc.token, tc.err, told, tc.want)
		}
	}
}
