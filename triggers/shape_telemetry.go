package triggers

import (
	"strings"

	"github.com/tidwall/gjson"
)

// metadata is what of $metadata is used.
type metadata struct {
	err, message, kind, service, requestID, rayID, url string
}

// decodeTelemetry reads an event of Workers Observability (telemetry/query and
// live tail): the record of an invocation, or one of its console lines.
func decodeTelemetry(events []Event, data []byte) ([]Event, error) {
	e := Event{Shape: ShapeWorkersLogs, Size: -1}
	var source gjson.Result
	var m metadata
	var kind string
	var bad field
	gjson.ParseBytes(data).ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "timestamp":
			e.Time = millis(v.Num)
		case "source":
			source = v
		case "$metadata":
			v.ForEach(func(key, v gjson.Result) bool {
				m.take(key.Str, v)
				return true
			})
		case "$workers":
			v.ForEach(func(key, v gjson.Result) bool {
				if key.Str == "eventType" {
					kind = trigger(text(v))
				} else {
					e.workers(key.Str, v, &bad)
				}
				return true
			})
		}
		return true
	})
	if bad != "" {
		return events, &bad
	}
	e.Script = orText(e.Script, m.service)
	e.Trigger = orText(kind, e.Trigger)
	if e.Route == "" && m.url != "" {
		e.Route = routeOf(m.url)
	}
	e.RequestID = orText(e.RequestID, m.requestID)
	e.RayID = orText(m.rayID, e.RayID)
	telemetryTexts(&e, source, &m)
	return append(events, e), nil
}

// take reads one field of $metadata.
func (m *metadata) take(key string, v gjson.Result) {
	switch key {
	case "error":
		m.err = text(v)
	case "message":
		m.message = text(v)
	case "type":
		m.kind = text(v)
	case "service":
		m.service = text(v)
	case "requestId":
		m.requestID = text(v)
	case "rayId":
		m.rayID = text(v)
	case "url":
		m.url = text(v)
	}
}

// workers reads one field of $workers.
func (e *Event) workers(key string, v gjson.Result, bad *field) {
	switch key {
	case "scriptName":
		bad.str(&e.Script, "$workers.scriptName", v)
	case "scriptVersion":
		e.VersionID = text(v.Get("id"))
	case "scriptTags":
		tagsOf(e, v)
	case "dispatchNamespace":
		e.DispatchNamespace = text(v)
	case "entrypoint":
		e.Entrypoint = text(v)
	case "durableObjectId":
		bad.str(&e.ObjectID, "$workers.durableObjectId", v)
	case "executionModel":
		e.ExecutionModel = text(v)
	case "outcome":
		bad.str(&e.Outcome, "$workers.outcome", v)
	case "truncated":
		e.Truncated = v.Type == gjson.True
	case "cpuTimeMs":
		e.CPU = span(v.Num)
	case "wallTimeMs":
		e.Wall = span(v.Num)
	case "requestId":
		e.RequestID = text(v)
	case "event":
		e.about(v)
	}
}

// telemetryTexts: $metadata.error is the error of the invocation unless the
// event is a console line; what was logged stands in source. The fingerprints
// of $metadata are hashes, so no ids are looked for there.
func telemetryTexts(e *Event, source gjson.Result, m *metadata) {
	line, stack := "", ""
	if source.Type == gjson.String || source.Type == gjson.JSON {
		line = flat(source.Raw)
		stack = first(source, "stack", "exception.stack", "error.stack")
	}
	if m.err != "" && m.kind != "cf-worker-log" {
		e.Texts = append(e.Texts, newText(TextException, "", m.err, stack))
	}
	if line != "" {
		e.Texts = append(e.Texts, newText(TextLog, "", line, stack))
	}
	for _, s := range []string{m.err, m.message} {
		if s == "" || strings.Contains(line, s) || len(e.Texts) > 0 && e.Texts[0].Message == s {
			continue
		}
		e.Texts = append(e.Texts, newText(TextLog, "", s, ""))
	}
}

// decodeWebhook reads a notification: of Workers Issues, whose data Cloudflare
// does not document, or of an alert, which names no Worker.
func decodeWebhook(events []Event, data []byte) ([]Event, error) {
	g := gjson.ParseBytes(data)
	e := Event{
		Shape: ShapeWebhook, Time: millis(g.Get("ts").Num * 1000), Trigger: first(g, "alert_type"),
		RequestID: first(g, "alert_correlation_id"), Size: -1, Ended: strings.HasSuffix(first(g, "alert_event"), "_END"),
	}
	if t := g.Get("text"); t.Exists() && t.Type != gjson.String && t.Type != gjson.Null {
		bad := field("text")
		return events, &bad
	}
	e.Texts = append(e.Texts, newText(TextLog, first(g, "name"), first(g, "text"), ""))
	if d := g.Get("data"); d.IsObject() && len(d.Raw) > 2 {
		e.Script = first(d, "scriptName", "script_name", "script", "worker", "worker_name", "service")
		e.VersionID = first(d, "scriptVersion.id", "script_version", "version_id", "versionId")
		e.Environment = first(d, "environment")
		e.Texts = append(e.Texts, newText(TextLog, "", flat(d.Raw), first(d, "stack")))
	}
	return append(events, e), nil
}

// first is the first of the paths that holds a string.
func first(g gjson.Result, paths ...string) string {
	for _, p := range paths {
		if v := g.Get(p); v.Type == gjson.String && v.Str != "" {
			return v.String()
		}
	}
	return ""
}
