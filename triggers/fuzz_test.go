package triggers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"unicode/utf8"

	"github.com/snapflame/snapflame/triggers"
)

// recorded are the recorded events of one shape.
func recorded(t testing.TB, shape triggers.Shape) [][]byte {
	t.Helper()
	data, err := os.ReadFile("testdata/events.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for line := range bytes.Lines(data) {
		events, _ := triggers.Decode("", line)
		if len(events) > 0 && events[0].Shape == shape {
			out = append(out, bytes.TrimSpace(line))
		}
	}
	return out
}

func fuzz(f *testing.F, shape triggers.Shape, more ...string) {
	for _, line := range recorded(f, shape) {
		f.Add(line)
	}
	for _, s := range more {
		f.Add([]byte(s))
	}
	rules := builtin(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := triggers.Decode("workers.events.s", data)
		var faults triggers.DecodeErrors
		if err != nil && !errors.As(err, &faults) {
			t.Fatalf("an error of another type: %v", err)
		}
		for _, fault := range faults {
			if fault.Reason == triggers.DecodePanic {
				t.Fatalf("a decoder failed on %q: %v", data, fault)
			}
		}
		// One whole value that encoding/json refuses is never an event.
		if len(events) > 0 && !bytes.ContainsAny(data, "\n") && bytes.HasPrefix(data, []byte("{")) && !json.Valid(data) {
			if dec := json.NewDecoder(bytes.NewReader(data)); dec.Decode(new(json.RawMessage)) != nil {
				t.Fatalf("read %d events from invalid JSON %q", len(events), data)
			}
		}
		for _, e := range events {
			if !utf8.ValidString(e.Script) || len(e.Script) > 1024 || e.CPU < 0 || e.Wall < 0 || e.Count < 1 {
				t.Fatalf("read %+v", e)
			}
			d := triggers.Decide(e, triggers.State{Rules: rules}, now())
			if d.Sentence == "" || d.Action == triggers.ActionCapture && d.Target.Kind == triggers.TargetUnknown {
				t.Fatalf("decided %+v", d)
			}
		}
	})
}

func FuzzTail(f *testing.F)    { fuzz(f, triggers.ShapeTail) }
func FuzzLogpush(f *testing.F) { fuzz(f, triggers.ShapeLogpush) }
func FuzzTelemetry(f *testing.F) {
	fuzz(f, triggers.ShapeWorkersLogs)
}
func FuzzOTLPLogs(f *testing.F)   { fuzz(f, triggers.ShapeOTLPLogs) }
func FuzzOTLPTraces(f *testing.F) { fuzz(f, triggers.ShapeOTLPTraces) }
func FuzzWebhook(f *testing.F) {
	fuzz(f, triggers.ShapeWebhook, `{"name":"x","text":"Worker exceeded memory limit.","data":{"scriptName":"a"},"ts":1796020340,"alert_type":"workers_issue"}`, `{"text":"Hello"}`)
}

func FuzzLoad(f *testing.F) {
	fuzz(f, triggers.ShapeLoad, `{"snapflame":"load","scriptName":"a","entrypoint":"B","durableObjectId":"`+idA+`","cpuMs":1,"wallMs":2,"count":3,"errors":1,"from":1,"to":2}`)
}
