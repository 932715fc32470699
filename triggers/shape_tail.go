package triggers

import (
	"fmt"

	"github.com/goccy/go-json"
)

// wireTail is a TraceItem of a Tail Worker (@cloudflare/workers-types).
type wireTail struct {
	ScriptName        string          `json:"scriptName"`
	ScriptVersion     wireVersion     `json:"scriptVersion"`
	ScriptTags        json.RawMessage `json:"scriptTags"`
	DispatchNamespace string          `json:"dispatchNamespace"`
	Entrypoint        string          `json:"entrypoint"`
	DurableObjectID   string          `json:"durableObjectId"`
	ExecutionModel    string          `json:"executionModel"`
	Outcome           string          `json:"outcome"`
	Truncated         bool            `json:"truncated"`
	CPUTime           float64         `json:"cpuTime"`
	WallTime          float64         `json:"wallTime"`
	EventTimestamp    float64         `json:"eventTimestamp"`
	Event             json.RawMessage `json:"event"`
	Exceptions        json.RawMessage `json:"exceptions"`
	Logs              json.RawMessage `json:"logs"`
}

type wireVersion struct {
	ID string `json:"id"`
}

func decodeTail(events []Event, data []byte) ([]Event, error) {
	var w wireTail
	if err := json.Unmarshal(data, &w); err != nil {
		return events, fmt.Errorf("a field is not as expected: %w", err)
	}
	e := Event{
		Shape: ShapeTail, Script: w.ScriptName, DispatchNamespace: w.DispatchNamespace,
		Entrypoint: w.Entrypoint, ObjectID: w.DurableObjectID, VersionID: w.ScriptVersion.ID,
		ExecutionModel: w.ExecutionModel, Outcome: w.Outcome, Truncated: w.Truncated,
		Time: millis(w.EventTimestamp), CPU: span(w.CPUTime), Wall: span(w.WallTime), Size: -1,
	}
	tagsOf(&e, w.ScriptTags)
	decodeEvent(w.Event, &e)
	decodeTexts(&e, w.Exceptions, w.Logs)
	return append(events, e), nil
}

// wireLogpush is a record of Logpush's dataset workers_trace_events. It has no
// object id and no execution model: the entrypoint is all it says of a class.
type wireLogpush struct {
	ScriptName        string          `json:"ScriptName"`
	ScriptVersion     wireVersion     `json:"ScriptVersion"`
	ScriptTags        json.RawMessage `json:"ScriptTags"`
	DispatchNamespace string          `json:"DispatchNamespace"`
	Entrypoint        string          `json:"Entrypoint"`
	EventType         string          `json:"EventType"`
	Outcome           string          `json:"Outcome"`
	CPUTimeMs         float64         `json:"CPUTimeMs"`
	WallTimeMs        float64         `json:"WallTimeMs"`
	EventTimestampMs  float64         `json:"EventTimestampMs"`
	Event             json.RawMessage `json:"Event"`
	Exceptions        json.RawMessage `json:"Exceptions"`
	Logs              json.RawMessage `json:"Logs"`
}

func decodeLogpush(events []Event, data []byte) ([]Event, error) {
	var w wireLogpush
	if err := json.Unmarshal(data, &w); err != nil {
		return events, fmt.Errorf("a field is not as expected: %w", err)
	}
	e := Event{
		Shape: ShapeLogpush, Script: w.ScriptName, DispatchNamespace: w.DispatchNamespace,
		Entrypoint: w.Entrypoint, VersionID: w.ScriptVersion.ID, Outcome: w.Outcome,
		Time: millis(w.EventTimestampMs), CPU: span(w.CPUTimeMs), Wall: span(w.WallTimeMs), Size: -1,
	}
	tagsOf(&e, w.ScriptTags)
	decodeEvent(w.Event, &e)
	if t := trigger(w.EventType); t != "" {
		e.Trigger = t
	}
	decodeTexts(&e, w.Exceptions, w.Logs)
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

// wireLoad is the load line of snapflame's own Tail Worker.
type wireLoad struct {
	Snapflame       string  `json:"snapflame"`
	ScriptName      string  `json:"scriptName"`
	ScriptVersion   string  `json:"scriptVersion"`
	Entrypoint      string  `json:"entrypoint"`
	DurableObjectID string  `json:"durableObjectId"`
	CPUMs           float64 `json:"cpuMs"`
	WallMs          float64 `json:"wallMs"`
	Count           float64 `json:"count"`
	Errors          float64 `json:"errors"`
	From            float64 `json:"from"`
	To              float64 `json:"to"`
}

func decodeLoad(events []Event, data []byte) ([]Event, error) {
	var w wireLoad
	if err := json.Unmarshal(data, &w); err != nil {
		return events, fmt.Errorf("a field is not as expected: %w", err)
	}
	if w.Snapflame != "load" {
		return events, fmt.Errorf(`"snapflame" is %q; only "load" lines are known`, clip(w.Snapflame, 40))
	}
	const most = 1e9
	count := int64(min(max(w.Count, 1), most))
	return append(events, Event{
		Shape: ShapeLoad, Script: w.ScriptName, Entrypoint: w.Entrypoint, ObjectID: w.DurableObjectID,
		VersionID: w.ScriptVersion, ExecutionModel: "durableObject", Outcome: "ok",
		Time: millis(w.To), CPU: span(w.CPUMs), Wall: span(w.WallMs), Size: -1,
		Count: count, Errors: min(int64(max(w.Errors, 0)), count),
	}), nil
}
