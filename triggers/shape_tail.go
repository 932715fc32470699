package triggers

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// decodeTail reads a TraceItem of a Tail Worker (@cloudflare/workers-types),
// whose fields the scanner has noted.
func decodeTail(events []Event, p *part, n *names) ([]Event, error) {
	r := reader{part: p, names: n}
	events = append(events, Event{
		Shape:  ShapeTail,
		Script: r.must(atScript, "scriptName"), Outcome: r.must(atOutcome, "outcome"),
		DispatchNamespace: r.must(atDispatch, "dispatchNamespace"), Entrypoint: r.must(atEntrypoint, "entrypoint"),
		ObjectID: r.must(atObject, "durableObjectId"), ExecutionModel: r.must(atModel, "executionModel"),
		VersionID: r.text(atVersion),
	})
	e := &events[len(events)-1]
	if r.bad != "" {
		return events[:len(events)-1], &r.bad
	}
	r.measure(e)
	e.Truncated, e.Status = string(r.raw(atTruncated)) == "true", status(r.number(atStatus))
	if e.RayID = unquoted(r.raw(atRayID)); e.RayID == "" {
		e.RayID = unquoted(r.raw(atRay))
	}
	if e.Trigger == "fetch" {
		e.RequestID = unquoted(r.raw(atRequestID))
	}
	n.tagsOf(e, r.raw(atTags))
	decodeTexts(e, string(r.raw(atExceptions)), string(r.raw(atLogs)))
	return events, nil
}

// reader reads what the scanner has noted.
type reader struct {
	*part
	names *names
	bad   field
}

// text is a string value, or nothing.
func (r *reader) text(at int) string {
	if at == atObject { // each record has another
		return unquoted(r.raw(at))
	}
	return r.names.text(at, r.raw(at))
}

// must is a string value that may be null or missing, but nothing else.
func (r *reader) must(at int, name string) string {
	raw := r.raw(at)
	if len(raw) > 0 && raw[0] != '"' && string(raw) != "null" && r.bad == "" {
		r.bad = field(name)
	}
	return r.text(at)
}

func (r *reader) number(at int) float64 {
	return numberOf(string(r.raw(at)))
}

// has says whether a value is there and is not null.
func (r *reader) has(at int) bool { raw := r.raw(at); return len(raw) > 0 && string(raw) != "null" }

// measure reads what the invocation took and what it was about: all that
// differs between records that decide alike and is counted of each.
func (r *reader) measure(e *Event) {
	e.CPU, e.Wall, e.Time = span(r.number(atCPU)), span(r.number(atWall)), millis(r.number(atTime))
	e.Trigger, e.Method, e.Route, e.Colo, e.Size = "", "", "", "", -1
	switch {
	case r.has(atURL) || r.has(atMethod):
		e.Trigger, e.Method, e.Route, e.Colo = "fetch", r.text(atMethod), r.names.route(atURL, r.raw(atURL)), r.text(atColo)
		if n, err := strconv.ParseInt(strings.Trim(string(r.raw(atLength)), `"`), 10, 64); err == nil && n >= 0 {
			e.Size = n
		}
	case r.has(atRPC):
		e.Trigger, e.Route = "rpc", r.text(atRPC)
	case r.has(atCron):
		e.Trigger, e.Route = "scheduled", r.text(atCron)
	case r.has(atQueue):
		e.Trigger, e.Route = "queue", r.text(atQueue)
	case r.has(atMail):
		e.Trigger = "email"
	case r.has(atConsumed):
		e.Trigger = "tail"
	case r.has(atSocket):
		e.Trigger = "websocket"
	case r.has(atScheduled):
		e.Trigger = "alarm"
	case r.has(atReason):
		e.Trigger = "hibernate"
	}
}

// field is the name of the first field that is not what it has to be.
type field string

func (f *field) Error() string { return string(*f) + " is not a string" }

// str takes a string or null.
func (f *field) str(to *string, name string, v gjson.Result) {
	switch v.Type {
	case gjson.String:
		*to = v.Str
	case gjson.Null:
		*to = ""
	default:
		if *f == "" {
			*f = field(name)
		}
	}
}

// decodeLogpush reads a record of Logpush's dataset workers_trace_events. It
// has no object id and no execution model: the entrypoint is all it says of a
// class. Cloudflare's documents write the sub-objects in both cases.
func decodeLogpush(events []Event, data []byte) ([]Event, error) {
	e := Event{Shape: ShapeLogpush, Size: -1}
	var exceptions, logs gjson.Result
	var kind string
	var bad field
	gjson.ParseBytes(data).ForEach(func(key, v gjson.Result) bool {
		switch k := key.Str; {
		case fold(k, "scriptname"):
			bad.str(&e.Script, "ScriptName", v)
		case fold(k, "scriptversion"):
			e.VersionID = text(v.Get("ID"))
			if e.VersionID == "" {
				e.VersionID = text(v.Get("id"))
			}
		case fold(k, "scripttags"):
			tagsOf(&e, v)
		case fold(k, "dispatchnamespace"):
			bad.str(&e.DispatchNamespace, "DispatchNamespace", v)
		case fold(k, "entrypoint"):
			bad.str(&e.Entrypoint, "Entrypoint", v)
		case fold(k, "eventtype"):
			kind = text(v)
		case fold(k, "outcome"):
			bad.str(&e.Outcome, "Outcome", v)
		case fold(k, "cputimems"):
			e.CPU = span(v.Num)
		case fold(k, "walltimems"):
			e.Wall = span(v.Num)
		case fold(k, "eventtimestampms"):
			e.Time = millis(v.Num)
		case fold(k, "event"):
			e.about(v)
		case fold(k, "exceptions"):
			exceptions = v
		case fold(k, "logs"):
			logs = v
		}
		return true
	})
	if bad != "" {
		return events, &bad
	}
	if t := trigger(kind); t != "" {
		e.Trigger = t
	}
	decodeTexts(&e, exceptions.Raw, logs.Raw)
	return append(events, e), nil
}

// trigger gives the event types of Logpush and Workers Logs one spelling.
func trigger(eventType string) string {
	switch eventType {
	case "worker_rpc", "jsrpc":
		return "rpc"
	case "hibernatable_web_socket", "hibernatableWebSocket":
		return "websocket"
	case "cron":
		return "scheduled"
	case "unknown":
		return ""
	default:
		return eventType
	}
}

// decodeLoad reads the load line of snapflame's own Tail Worker.
func decodeLoad(events []Event, data []byte) ([]Event, error) {
	e := Event{Shape: ShapeLoad, ExecutionModel: "durableObject", Outcome: "ok", Size: -1, Count: 1}
	const most = 1e9
	var bad field
	var kind string
	failed := 0.0
	gjson.ParseBytes(data).ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "snapflame":
			kind = v.String()
		case "scriptName":
			bad.str(&e.Script, "scriptName", v)
		case "scriptVersion":
			bad.str(&e.VersionID, "scriptVersion", v)
		case "entrypoint":
			bad.str(&e.Entrypoint, "entrypoint", v)
		case "durableObjectId":
			bad.str(&e.ObjectID, "durableObjectId", v)
		case "cpuMs":
			e.CPU = span(v.Num)
		case "wallMs":
			e.Wall = span(v.Num)
		case "count":
			e.Count = int64(min(max(v.Num, 1), most))
		case "errors":
			failed = v.Num
		case "to":
			e.Time = millis(v.Num)
		}
		return true
	})
	switch {
	case kind != "load":
		return events, fmt.Errorf(`"snapflame" is %q; only "load" lines are known`, clip(kind, 40))
	case bad != "":
		return events, &bad
	}
	e.Errors = int64(min(max(failed, 0), float64(e.Count)))
	return append(events, e), nil
}
