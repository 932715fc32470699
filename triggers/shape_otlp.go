package triggers

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// OTLP/JSON is walked, not unmarshalled into the official types: protojson
// takes trace ids for base64, refuses what a later version adds unless told
// otherwise, and builds a whole export before it can be bounded. A test holds
// this reader to the official types on what both can read.
//
// Cloudflare writes intValue as a number where the specification has a string,
// and {} for null; both are read.

// decodeOTLP appends one event per log record or span.
func decodeOTLP(events []Event, data []byte, shape Shape, limit int) ([]Event, error) {
	resources, scopes, records := "resourceLogs", "scopeLogs", "logRecords"
	if shape == ShapeOTLPTraces {
		resources, scopes, records = "resourceSpans", "scopeSpans", "spans"
	}
	var err error
	each(gjson.GetBytes(data, resources), func(resource gjson.Result) bool {
		base := Event{Shape: shape, Size: -1}
		attributes(resource.Get("resource.attributes"), func(key string, v gjson.Result) { base.attribute(key, v) })
		each(resource.Get(scopes), func(scope gjson.Result) bool {
			each(scope.Get(records), func(record gjson.Result) bool {
				if limit--; limit < 0 {
					err = errTooMany
					return false
				}
				e := base
				if shape == ShapeOTLPTraces {
					e.span(record)
				} else {
					e.logRecord(record)
				}
				events = append(events, e)
				return true
			})
			return err == nil
		})
		return err == nil
	})
	return events, err
}

func each(list gjson.Result, f func(gjson.Result) bool) {
	if !list.IsArray() {
		return
	}
	list.ForEach(func(_, item gjson.Result) bool {
		if !item.IsObject() {
			return true
		}
		return f(item)
	})
}

// attributes calls f with the first attributes of a list.
func attributes(list gjson.Result, f func(key string, value gjson.Result)) {
	n := 0
	each(list, func(kv gjson.Result) bool {
		f(kv.Get("key").String(), kv.Get("value"))
		n++
		return n < maxLogs
	})
}

// attribute takes what a semantic attribute says and reports whether it is one.
func (e *Event) attribute(key string, v gjson.Result) bool {
	switch key {
	case "cloudflare.script_name":
		e.Script = scalar(v)
	case "service.name", "faas.name":
		if e.Script == "" {
			e.Script = scalar(v)
		}
	case "cloudflare.script_version.id":
		e.VersionID = scalar(v)
	case "faas.version":
		if e.VersionID == "" {
			e.VersionID = scalar(v)
		}
	case "cloudflare.script_tags":
		e.otlpTags(v)
	case "cloudflare.dispatch_namespace":
		e.DispatchNamespace = scalar(v)
	case "cloudflare.entrypoint":
		e.Entrypoint = scalar(v)
	case "cloudflare.durable_object.id":
		e.ObjectID = scalar(v)
	case "cloudflare.execution_model":
		e.ExecutionModel = scalar(v)
	case "cloudflare.outcome":
		e.Outcome = scalar(v)
	case "cloudflare.cpu_time_ms", "cloudflare.cpu_time", "cpu_time_ms":
		e.CPU = span(number(v))
	case "cloudflare.wall_time_ms", "cloudflare.wall_time", "wall_time_ms":
		e.Wall = span(number(v))
	case "cloudflare.colo":
		e.Colo = scalar(v)
	case "cloudflare.ray_id":
		e.RayID = scalar(v)
	case "faas.invocation_id":
		e.RequestID = scalar(v)
	case "cloudflare.handler_type", "faas.trigger":
		if e.Trigger == "" || key == "cloudflare.handler_type" {
			e.Trigger = trigger(scalar(v))
		}
	default:
		return e.httpAttribute(key, v)
	}
	return true
}

func (e *Event) httpAttribute(key string, v gjson.Result) bool {
	switch key {
	case "http.request.method":
		e.Method = scalar(v)
	case "url.path", "url.full":
		e.Route = routeOf(scalar(v))
	case "jsrpc.method":
		e.Trigger, e.Route = "rpc", scalar(v)
	case "http.response.status_code":
		e.Status = status(number(v))
	case "http.request.body.size", "http.request.header.content-length":
		if n := number(v); n > 0 && n < 1e15 {
			e.Size = int64(n)
		}
	default:
		return false
	}
	return true
}

func (e *Event) otlpTags(v gjson.Result) {
	for tag := range strings.SplitSeq(scalar(v), ",") {
		tagOf(e, strings.TrimSpace(tag))
	}
	each(v.Get("arrayValue.values"), func(item gjson.Result) bool {
		tagOf(e, scalar(item))
		return true
	})
}

// logRecord reads one log record. exception.* attributes mark an uncaught
// exception; everything else is a line that code has logged.
func (e *Event) logRecord(r gjson.Result) {
	e.Time = nanos(r.Get("timeUnixNano"))
	if e.Time.IsZero() {
		e.Time = nanos(r.Get("observedTimeUnixNano"))
	}
	var line flattener
	line.any("", r.Get("body"), 0)
	exception := e.failure(r.Get("attributes"), &line)
	if exception.Message != "" {
		e.Texts = append(e.Texts, exception)
	}
	if body := line.b.String(); body != "" && body != exception.Message {
		e.Texts = append(e.Texts, newText(TextLog, "", body, ""))
	}
}

// span reads one span. Only the root span of an invocation has its outcome.
func (e *Event) span(r gjson.Result) {
	start, end := nanos(r.Get("startTimeUnixNano")), nanos(r.Get("endTimeUnixNano"))
	e.Time = start
	if name := r.Get("name").String(); name != "" {
		e.Route = clip(name, maxName)
	}
	var line flattener
	if t := e.failure(r.Get("attributes"), &line); t.Message != "" {
		e.Texts = append(e.Texts, t)
	}
	if e.Wall == 0 && end.After(start) && !start.IsZero() {
		e.Wall = min(end.Sub(start), 24*time.Hour)
	}
	n := 0
	each(r.Get("events"), func(item gjson.Result) bool {
		var rest flattener
		t := e.failure(item.Get("attributes"), &rest)
		t.Time = nanos(item.Get("timeUnixNano"))
		switch {
		case t.Message != "":
			t.ObjectIDs = objectIDs(t.ObjectIDs, rest.b.String())
			e.Texts = append(e.Texts, t)
		case rest.b.Len() > 0:
			e.Texts = append(e.Texts, newText(TextLog, item.Get("name").String(), rest.b.String(), ""))
		}
		n++
		return n < maxLogs
	})
	if line.b.Len() > 0 {
		e.Texts = append(e.Texts, newText(TextLog, "", line.b.String(), ""))
	}
	// Where OpenTelemetry puts the error of a span. An exception event says it
	// with its stack.
	said := func(t Text) bool { return t.Source == TextException }
	if m := r.Get("status.message").String(); m != "" && !slices.ContainsFunc(e.Texts, said) {
		e.Texts = append(e.Texts, newText(TextException, "", m, ""))
	}
}

// failure reads attributes: semantic ones into e, exception.* into a text, the
// sender's own into line.
func (e *Event) failure(list gjson.Result, line *flattener) Text {
	var name, message, stack string
	attributes(list, func(key string, v gjson.Result) {
		switch key {
		case "exception.type":
			name = scalar(v)
		case "exception.message":
			message = scalar(v)
		case "exception.stacktrace":
			stack = scalar(v)
		default:
			if !e.attribute(key, v) && !semantic(key) {
				line.any(key, v, 0)
			}
		}
	})
	if message == "" {
		return Text{}
	}
	return newText(TextException, name, message, stack)
}

// semantic says whether an attribute is the exporter's, not the user's: hashes
// there are no object ids.
func semantic(key string) bool {
	prefix, _, dotted := strings.Cut(key, ".")
	if !dotted {
		return key == "name" || key == "level"
	}
	switch prefix {
	case "cloudflare", "cloud", "faas", "service", "telemetry", "http", "url", "network", "server", "client", "user_agent", "code", "geo", "exception", "tls":
		return true
	}
	return false
}

// any renders an OTLP AnyValue.
func (f *flattener) any(key string, v gjson.Result, depth int) {
	if f.full() || depth > maxDepth {
		return
	}
	switch {
	case v.Get("kvlistValue").Exists():
		each(v.Get("kvlistValue.values"), func(kv gjson.Result) bool {
			f.any(kv.Get("key").String(), kv.Get("value"), depth+1)
			return !f.full()
		})
	case v.Get("arrayValue").Exists():
		each(v.Get("arrayValue.values"), func(item gjson.Result) bool {
			f.any(key, item, depth+1)
			return !f.full()
		})
	default:
		if s := scalar(v); s != "" {
			f.put(key, s)
		}
	}
}

// scalar is a simple AnyValue as text; empty for {}, which stands for null.
func scalar(v gjson.Result) string {
	for _, kind := range [...]string{"stringValue", "intValue", "doubleValue", "boolValue"} {
		if s := v.Get(kind); s.Exists() && !s.IsObject() && !s.IsArray() {
			return s.String()
		}
	}
	return ""
}

func number(v gjson.Result) float64 {
	n, err := strconv.ParseFloat(scalar(v), 64)
	if err != nil {
		return 0
	}
	return n
}

// nanos is a time in nanoseconds since 1970, as a string or a number.
func nanos(v gjson.Result) time.Time {
	n, err := strconv.ParseInt(v.String(), 10, 64)
	if err != nil || n <= 0 || n/1e6 >= latest {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
