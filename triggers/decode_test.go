package triggers_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/triggers"
)

const id64 = "3fa1c07d5be2498a1d6e0b7c94f2538e6a1b2c3d4e5f60718293a4b5c6d7e8f9"

func one(t *testing.T, data string) triggers.Event {
	t.Helper()
	events, err := triggers.Decode("workers.events.from-subject", []byte(data))
	if err != nil || len(events) != 1 {
		t.Fatalf("got %d events and %v, want one event", len(events), err)
	}
	return events[0]
}

func TestDecodeReadsEveryField(t *testing.T) {
	e := one(t, `{"scriptName":"room-api-production","scriptVersion":{"id":"9f1c2b7e"},"scriptTags":["cf:service=room-api","cf:environment=production"],
	 "entrypoint":"RoomObject","durableObjectId":"`+strings.ToUpper(id64)+`","executionModel":"durableObject","outcome":"exception","cpuTime":4120.5,"wallTime":6210,"truncated":true,
	 "eventTimestamp":1796020331412,"event":{"request":{"method":"POST","url":"https://api.example.com/rooms/7?token=x","headers":{"content-length":"812","cf-ray":"a1b2"},"cf":{"colo":"FRA"}},"response":{"status":503}},
	 "exceptions":[{"name":"Error","message":"boom","stack":"    at f (worker.js:1:2)","timestamp":1796020337622}],
	 "logs":[{"level":"error","timestamp":1796020336001,"message":["flush",{"backlog":4812,"do":"`+id64+`","deep":{"x":[1,true,null]}}],"errorInfo":[null,{"name":"RangeError","message":"inner","stack":"at g (w.js:3:4)"}]}],"diagnosticsChannelEvents":[]}`)
	want := triggers.Event{
		Shape: triggers.ShapeTail, Script: "room-api-production", Service: "room-api", Environment: "production", Entrypoint: "RoomObject",
		ObjectID: id64, VersionID: "9f1c2b7e", ExecutionModel: "durableObject", Outcome: "exception", Time: time.UnixMilli(1796020331412).UTC(),
		CPU: 4120500 * time.Microsecond, Wall: 6210 * time.Millisecond, Truncated: true, Trigger: "fetch", Method: "POST", Route: "/rooms/7",
		Size: 812, Status: 503, Colo: "FRA", RayID: "a1b2", Count: 1,
	}
	texts := e.Texts
	e.Texts = nil
	got, _ := json.Marshal(e)
	wanted, _ := json.Marshal(want)
	if !bytes.Equal(got, wanted) {
		t.Errorf("event\n got %s\nwant %s", got, wanted)
	}
	if len(texts) != 2 {
		t.Fatalf("got %d texts, want 2", len(texts))
	}
	if x := texts[0]; x.Source != triggers.TextException || x.Message != "boom" || x.Stack == "" || x.Time.UnixMilli() != 1796020337622 {
		t.Errorf("exception read as %+v", x)
	}
	if x := texts[1]; x.Message != "flush backlog=4812 do="+id64+" deep x=1 x=true x inner" || x.Name != "RangeError" || len(x.ObjectIDs) != 1 || x.ObjectIDs[0] != id64 {
		t.Errorf("log read as %+v", x)
	}
}

func TestDecodeRealTraceItems(t *testing.T) {
	files, _ := filepath.Glob("testdata/tail/*.json")
	if len(files) < 11 {
		t.Fatalf("found %d recorded files, want 11", len(files))
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var recorded struct {
			Posts []struct{ Body json.RawMessage }
		}
		if err := json.Unmarshal(raw, &recorded); err != nil {
			t.Fatal(err)
		}
		for _, post := range recorded.Posts {
			events, err := triggers.Decode("workers.events.meter", post.Body)
			if err != nil || len(events) != 1 {
				t.Errorf("%s: got %d events and %v, want one", file, len(events), err)
				continue
			}
			e := events[0]
			object := e.ExecutionModel == "durableObject"
			if e.Script != "meter" || e.Outcome == "" || e.Time.IsZero() || e.Trigger == "" || object != (len(e.ObjectID) == 64) || object != (e.Entrypoint == "UsageMeter") {
				t.Errorf("%s: read as %+v", file, e)
			}
		}
	}
}

func TestDecodeFrames(t *testing.T) {
	tail := `{"scriptName":"a","outcome":"ok"}`
	push := `{"ScriptName":"b","Outcome":"ok"}`
	tests := []struct {
		name, data string
		events     int
		faults     []triggers.DecodeReason
	}{
		{"single", tail, 1, nil},
		{"array", "[" + tail + " , " + tail + "]", 2, nil},
		{"empty array", "[]", 0, []triggers.DecodeReason{triggers.DecodeEmpty}},
		{"mixed array", "[" + tail + "," + push + "]", 2, nil},
		{"NDJSON", tail + "\n" + push + "\r\n\n", 2, nil},
		{"NDJSON of arrays", "[" + tail + "]\n[" + tail + "," + push + "]", 3, nil},
		{"pretty-printed", "{\n \"scriptName\": \"a\",\n \"outcome\": \"ok\"\n}\n", 1, nil},
		{"byte order mark", "\xef\xbb\xbf" + tail, 1, nil},
		{"empty", "", 0, []triggers.DecodeReason{triggers.DecodeEmpty}},
		{"blank", " \n\t", 0, []triggers.DecodeReason{triggers.DecodeEmpty}},
		{"bad line between", tail + "\n{\"scriptName\":\n" + push, 2, []triggers.DecodeReason{triggers.DecodeTruncated}},
		{"text line first", "hello\n" + tail, 1, []triggers.DecodeReason{triggers.DecodeSyntax}},
		{"truncated", tail[:20], 0, []triggers.DecodeReason{triggers.DecodeTruncated}},
		{"bad element", "[" + tail + ",7,\"x\",null," + push + "]", 2, []triggers.DecodeReason{triggers.DecodeShape, triggers.DecodeShape, triggers.DecodeShape}},
		{"number", "7", 0, []triggers.DecodeReason{triggers.DecodeShape}},
		{"string", `"x"`, 0, []triggers.DecodeReason{triggers.DecodeShape}},
		{"nobody's object", `{"content":"tests"}`, 0, []triggers.DecodeReason{triggers.DecodeShape}},
		{"one key is no record", `{"outcome":"ok"}`, 0, []triggers.DecodeReason{triggers.DecodeShape}},
		{"wrong type", `{"scriptName":{"a":1},"outcome":"ok"}`, 0, []triggers.DecodeReason{triggers.DecodeField}},
		{"NUL", "{\"scriptName\":\"a\x00\",\"outcome\":\"ok\"}", 0, []triggers.DecodeReason{triggers.DecodeSyntax}},
		{"bare NULs", "\x00\x00", 0, []triggers.DecodeReason{triggers.DecodeSyntax}},
		{"deep", strings.Repeat("[", 100_000), 0, []triggers.DecodeReason{triggers.DecodeTooDeep}},
		{"deep inside", `{"scriptName":"a","outcome":"ok","logs":` + strings.Repeat(`{"a":`, 100_000), 0, []triggers.DecodeReason{triggers.DecodeTooDeep}},
		{"too long", strings.Repeat(" ", triggers.MaxMessage+1), 0, []triggers.DecodeReason{triggers.DecodeTooLong}},
		{"gzip", packed(tail + "\n" + push), 2, nil},
		{"gzip of nothing", packed(""), 0, []triggers.DecodeReason{triggers.DecodeEmpty}},
		{"gzip, cut off", packed(tail)[:40], 0, []triggers.DecodeReason{triggers.DecodeBadGzip}},
		{"gzip by its first bytes only", "\x1f\x8bhello", 0, []triggers.DecodeReason{triggers.DecodeBadGzip}},
		{"gzip bomb", packed(strings.Repeat(" ", triggers.MaxMessage+1)), 0, []triggers.DecodeReason{triggers.DecodeTooLong}},
		{"OTLP preflight", `{"resourceLogs":[]}`, 0, nil},
		{"webhook test", `{"text":"Hello World! This is a test message sent from https://cloudflare.com."}`, 1, nil},
		{"unknown load line", `{"snapflame":"other"}`, 0, []triggers.DecodeReason{triggers.DecodeField}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			events, err := triggers.Decode("workers.events.s", []byte(tt.data))
			var faults triggers.DecodeErrors
			errors.As(err, &faults)
			if len(events) != tt.events || len(faults) != len(tt.faults) {
				t.Fatalf("got %d events and %v, want %d and %v", len(events), err, tt.events, tt.faults)
			}
			for i, f := range faults {
				if f.Reason != tt.faults[i] || f.Detail == "" {
					t.Errorf("fault %d is %s (%s), want %s", i, f.Reason, f.Detail, tt.faults[i])
				}
			}
		})
	}
}

func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.String()
}

func TestDecodeBoundsWhatItReads(t *testing.T) {
	many := strings.Repeat(`{"name":"Error","message":"m"},`, 10_000)
	long := strings.Repeat("x", 100_000)
	e := one(t, `{"scriptName":"`+long+`","outcome":"exception","exceptions":[`+many+`{}],"logs":[{"message":["`+long+`"]},{"message":[`+strings.Repeat("1,", 50_000)+`1]}]}`)
	if len(e.Script) > 1000 || len(e.Texts) > 400 {
		t.Errorf("kept a script of %d bytes and %d texts", len(e.Script), len(e.Texts))
	}
	for _, x := range e.Texts {
		if len(x.Message) > 10_000 {
			t.Errorf("kept a text of %d bytes", len(x.Message))
		}
	}
	if e = one(t, `{"scriptName":"a`+"\xff\xfe"+`","outcome":"ok","outcome":"exception","cpuTime":-5,"wallTime":1e300,"eventTimestamp":-9e18}`); e.Script != "a\uFFFD" || e.Outcome != "exception" || e.CPU != 0 || e.Wall != 24*time.Hour || !e.Time.IsZero() {
		t.Errorf("hostile values read as %+v", e)
	}
	if e = one(t, `{"scriptName":"a","outcome":"ok","eventTimestamp":99999999999999999}`); !e.Time.IsZero() {
		t.Errorf("a far-future time was kept: %v", e.Time)
	}
	events, err := triggers.Decode("", []byte("["+strings.Repeat(`{"scriptName":"a","outcome":"ok"},`, 60_000)+"7]"))
	var faults triggers.DecodeErrors
	if !errors.As(err, &faults) || len(events) != triggers.MaxEvents || faults[0].Reason != triggers.DecodeTooMany || len(faults) > 100 {
		t.Errorf("60,000 events gave %d and %v", len(events), err)
	}
}

func TestDecodeScriptAndSubject(t *testing.T) {
	for subject, want := range map[string]string{"workers.events.a": "a", "workers.events.a.b": "a.b", "workers.events._": "", "elsewhere": "", "": ""} {
		events, err := triggers.Decode(subject, []byte(`{"scriptName":null,"outcome":"ok"}`))
		if err != nil || events[0].Script != want {
			t.Errorf("subject %q gave script %q (%v), want %q", subject, events[0].Script, err, want)
		}
	}
}

func TestDecodeLoadLine(t *testing.T) {
	e := one(t, `{"snapflame":"load","scriptName":"rooms","scriptVersion":"v1","entrypoint":"Room","durableObjectId":"`+id64+`","cpuMs":812.5,"wallMs":4000,"count":40,"errors":2,"from":1796020330000,"to":1796020331000}`)
	if e.Shape != triggers.ShapeLoad || e.Count != 40 || e.Errors != 2 || e.CPU != 812500*time.Microsecond || e.ObjectID != id64 || e.VersionID != "v1" || e.Time.UnixMilli() != 1796020331000 {
		t.Errorf("load line read as %+v", e)
	}
}

func TestDecodeWebhook(t *testing.T) {
	e := one(t, `{"name":"room-api issue","text":"Durable Object's isolate exceeded its memory limit and was reset. (12 occurrences)","data":{"scriptName":"room-api"},"ts":1796020340,"alert_type":"workers_issue","alert_event":"ALERT_STATE_EVENT_END"}`)
	if e.Shape != triggers.ShapeWebhook || e.Script != "room-api" || e.Time.Unix() != 1796020340 || !e.Ended {
		t.Errorf("webhook read as %+v", e)
	}
}
