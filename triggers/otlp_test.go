package triggers_test

import (
	"testing"

	logspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/snapflame/snapflame/triggers"
)

func attributesOf(kv []*common.KeyValue) map[string]string {
	m := map[string]string{}
	for _, a := range kv {
		m[a.GetKey()] = a.GetValue().GetStringValue()
	}
	return m
}

// TestOTLPAgreesWithTheOfficialTypes reads the recorded exports both ways.
func TestOTLPAgreesWithTheOfficialTypes(t *testing.T) {
	official := protojson.UnmarshalOptions{DiscardUnknown: true}
	for _, data := range recorded(t, triggers.ShapeOTLPLogs) {
		var want logspb.ExportLogsServiceRequest
		if err := official.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		resource := want.GetResourceLogs()[0]
		record := resource.GetScopeLogs()[0].GetLogRecords()[0]
		r, a := attributesOf(resource.GetResource().GetAttributes()), attributesOf(record.GetAttributes())
		e := one(t, string(data))
		if e.Script != r["cloudflare.script_name"] || e.VersionID != r["cloudflare.script_version.id"] || e.ObjectID != a["cloudflare.durable_object.id"] ||
			e.Entrypoint != a["cloudflare.entrypoint"] || e.Texts[0].Message != a["exception.message"] || uint64(e.Time.UnixNano()) != record.GetTimeUnixNano() {
			t.Errorf("read %+v from %s", e, data)
		}
	}
	for _, data := range recorded(t, triggers.ShapeOTLPTraces) {
		var want tracepb.ExportTraceServiceRequest
		if err := official.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		resource := want.GetResourceSpans()[0]
		span := resource.GetScopeSpans()[0].GetSpans()[0]
		r, a := attributesOf(resource.GetResource().GetAttributes()), attributesOf(span.GetAttributes())
		e := one(t, string(data))
		if e.Script != r["cloudflare.script_name"] || e.Outcome != a["cloudflare.outcome"] || e.ExecutionModel != a["cloudflare.execution_model"] ||
			e.Route != span.GetName() || uint64(e.Time.UnixNano()) != span.GetStartTimeUnixNano() || uint64(e.Wall) != span.GetEndTimeUnixNano()-span.GetStartTimeUnixNano() || e.CPU.Milliseconds() != 4120 {
			t.Errorf("read %+v from %s", e, data)
		}
	}
}

// TestOTLPTakesWhatCloudflareSends: numbers where the specification has
// strings, {} for null, bodies of every kind, and values of the wrong one.
func TestOTLPTakesWhatCloudflareSends(t *testing.T) {
	e := one(t, `{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"rooms"}},{"key":"cloudflare.script_tags","value":{"arrayValue":{"values":[{"stringValue":"cf:environment=staging"}]}}}]},
	 "scopeLogs":[{"logRecords":[{"timeUnixNano":1796020331412000000,"body":{"kvlistValue":{"values":[{"key":"msg","value":{"stringValue":"`+overload+`"}},{"key":"n","value":{"intValue":7}},{"key":"m","value":{"intValue":"8"}},{"key":"null","value":{}},
	 {"key":"list","value":{"arrayValue":{"values":[{"boolValue":true},{"doubleValue":1.5},{"stringValue":"`+idA+`"}]}}}]}},
	 "attributes":[{"key":"name","value":{"stringValue":"log"}},{"key":"cloudflare.wall_time","value":{"intValue":"12"}},{"key":"http.response.status_code","value":{"intValue":503}},{"key":"cloudflare.outcome","value":{}},7,{"key":5,"value":"x"}]}]}]},{"scopeLogs":{}},"x"]}`)
	text := e.Texts[0]
	if e.Script != "rooms" || e.Environment != "staging" || e.Wall.Milliseconds() != 12 || e.Status != 503 || e.Outcome != "" || e.Time.UnixMilli() != 1796020331412 ||
		text.Source != triggers.TextLog || text.Message != "msg="+overload+" n=7 m=8 list=true list=1.5 list="+idA || len(text.ObjectIDs) != 1 {
		t.Errorf("read %+v", e)
	}
	events, err := triggers.Decode("", []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a","attributes":[{"key":"jsrpc.method","value":{"stringValue":"join"}}]},{"name":"b","events":[{"name":"log","attributes":[{"key":"room","value":{"stringValue":"`+idB+`"}}]}]}]}]}]}`))
	if err != nil || len(events) != 2 || events[0].Trigger != "rpc" || events[0].Route != "join" || events[1].Texts[0].ObjectIDs[0] != idB {
		t.Errorf("read %+v, %v", events, err)
	}
}

// TestOTLPReadsTheStatusOfASpan: the error of a span without an exception
// event stands in its status, and is not said twice beside one.
func TestOTLPReadsTheStatusOfASpan(t *testing.T) {
	span := func(rest string) string {
		return `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"edge"}}]},"scopeSpans":[{"spans":[{"name":"fetch","startTimeUnixNano":"1796020331412000000",
		"attributes":[{"key":"room","value":{"stringValue":"` + idA + `"}}],"status":{"code":2,"message":"` + overload + `"}` + rest + `}]}]}]}`
	}
	e := one(t, span(""))
	d := triggers.Decide(e, triggers.State{Rules: compile(t)}, now())
	if d.Subclass != triggers.SubclassRequestsQueued || d.Target.ObjectID != idA || d.Attribution != triggers.AttributionLogged {
		t.Errorf("decided %+v", d)
	}
	e = one(t, span(`,"events":[{"name":"exception","attributes":[{"key":"exception.message","value":{"stringValue":"`+overload+`"}}]}]`))
	said := 0
	for _, text := range e.Texts {
		if text.Message == overload {
			said++
		}
	}
	if said != 1 {
		t.Errorf("the error is read %d times: %+v", said, e.Texts)
	}
}
