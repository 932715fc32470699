package triggers

import (
	"fmt"
	"strings"

	"github.com/goccy/go-json"
	"github.com/tidwall/gjson"
)

// wireTelemetry is an event of Workers Observability (telemetry/query and live
// tail): the record of an invocation, or one of its console lines.
type wireTelemetry struct {
	Timestamp float64         `json:"timestamp"`
	Source    json.RawMessage `json:"source"`
	Metadata  struct {
		Error     string `json:"error"`
		Message   string `json:"message"`
		Type      string `json:"type"`
		Service   string `json:"service"`
		RequestID string `json:"requestId"`
		RayID     string `json:"rayId"`
		URL       string `json:"url"`
	} `json:"$metadata"`
	Workers struct {
		EventType         string          `json:"eventType"`
		ScriptName        string          `json:"scriptName"`
		ScriptVersion     wireVersion     `json:"scriptVersion"`
		ScriptTags        json.RawMessage `json:"scriptTags"`
		DispatchNamespace string          `json:"dispatchNamespace"`
		Entrypoint        string          `json:"entrypoint"`
		DurableObjectID   string          `json:"durableObjectId"`
		ExecutionModel    string          `json:"executionModel"`
		Outcome           string          `json:"outcome"`
		Truncated         bool            `json:"truncated"`
		CPUTimeMs         float64         `json:"cpuTimeMs"`
		WallTimeMs        float64         `json:"wallTimeMs"`
		RequestID         string          `json:"requestId"`
		Event             json.RawMessage `json:"event"`
	} `json:"$workers"`
}

func decodeTelemetry(events []Event, data []byte) ([]Event, error) {
	var w wireTelemetry
	if err := json.Unmarshal(data, &w); err != nil {
		return events, fmt.Errorf("a field is not as expected: %w", err)
	}
	e := Event{
		Shape: ShapeWorkersLogs, Script: w.Workers.ScriptName, DispatchNamespace: w.Workers.DispatchNamespace,
		Entrypoint: w.Workers.Entrypoint, ObjectID: w.Workers.DurableObjectID, VersionID: w.Workers.ScriptVersion.ID,
		ExecutionModel: w.Workers.ExecutionModel, Outcome: w.Workers.Outcome, Truncated: w.Workers.Truncated,
		Time: millis(w.Timestamp), CPU: span(w.Workers.CPUTimeMs), Wall: span(w.Workers.WallTimeMs), Size: -1,
	}
	if e.Script == "" {
		e.Script = w.Metadata.Service
	}
	tagsOf(&e, w.Workers.ScriptTags)
	decodeEvent(w.Workers.Event, &e)
	if t := trigger(w.Workers.EventType); t != "" {
		e.Trigger = t
	}
	if e.Route == "" && w.Metadata.URL != "" {
		e.Route = routeOf(w.Metadata.URL)
	}
	for _, id := range []string{w.Workers.RequestID, w.Metadata.RequestID} {
		if e.RequestID == "" {
			e.RequestID = id
		}
	}
	if w.Metadata.RayID != "" {
		e.RayID = w.Metadata.RayID
	}
	telemetryTexts(&e, &w)
	return append(events, e), nil
}

// telemetryTexts: $metadata.error is the error of the invocation unless the
// event is a console line; what was logged stands in source. The fingerprints
// of $metadata are hashes, so no ids are looked for there.
func telemetryTexts(e *Event, w *wireTelemetry) {
	source, stack := "", ""
	if len(w.Source) > 0 && w.Source[0] != 'n' {
		source = flat(w.Source)
		g := gjson.ParseBytes(w.Source)
		for _, path := range []string{"stack", "exception.stack", "error.stack"} {
			if s := g.Get(path); s.Type == gjson.String && stack == "" {
				stack = s.String()
			}
		}
	}
	if w.Metadata.Error != "" && w.Metadata.Type != "cf-worker-log" {
		e.Texts = append(e.Texts, newText(TextException, "", w.Metadata.Error, stack))
	}
	if source != "" {
		e.Texts = append(e.Texts, newText(TextLog, "", source, stack))
	}
	for _, m := range []string{w.Metadata.Error, w.Metadata.Message} {
		if m == "" || strings.Contains(source, m) || len(e.Texts) > 0 && e.Texts[0].Message == m {
			continue
		}
		e.Texts = append(e.Texts, newText(TextLog, "", m, ""))
	}
}

// decodeWebhook reads a notification: of Workers Issues, whose data Cloudflare
// does not document, or of an alert, which names no Worker.
func decodeWebhook(events []Event, data []byte) ([]Event, error) {
	var w struct {
		Name    string          `json:"name"`
		Text    string          `json:"text"`
		Data    json.RawMessage `json:"data"`
		TS      float64         `json:"ts"`
		Policy  string          `json:"policy_name"`
		Event   string          `json:"alert_event"`
		Type    string          `json:"alert_type"`
		Episode string          `json:"alert_correlation_id"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return events, fmt.Errorf("a field is not as expected: %w", err)
	}
	e := Event{
		Shape: ShapeWebhook, Time: millis(w.TS * 1000), Trigger: w.Type, RequestID: w.Episode, Size: -1,
		Ended: strings.HasSuffix(w.Event, "_END"),
	}
	e.Texts = append(e.Texts, newText(TextLog, w.Name, w.Text, ""))
	if len(w.Data) > 2 && w.Data[0] == '{' {
		g := gjson.ParseBytes(w.Data)
		e.Script = first(g, "scriptName", "script_name", "script", "worker", "worker_name", "service")
		e.VersionID = first(g, "scriptVersion.id", "script_version", "version_id", "versionId")
		e.Environment = first(g, "environment")
		e.Texts = append(e.Texts, newText(TextLog, "", flat(w.Data), first(g, "stack")))
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
