package triggers

import "math/bits"

// marks is what the top-level keys of an object tell about its shape.
type marks uint32

const (
	markTailOutc   marks = 1 << iota // outcome
	markTailScript                   // scriptName
	markTailModel                    // executionModel
	markTailFail                     // exceptions
	markTailLogs                     // logs
	markTailTime                     // eventTimestamp
	markTailEvent                    // event
	markTailCPU                      // cpuTime
	markTailWall                     // wallTime
	markTailMore                     // truncated, diagnosticsChannelEvents, entrypoint, durableObjectId
	markObject                       // durableObjectId
	markPushOutc                     // Outcome
	markPushScript                   // ScriptName
	markPushTime                     // EventTimestampMs
	markPushType                     // EventType
	markPushMore                     // CPUTimeMs, WallTimeMs, Exceptions, Logs
	markWorkers                      // $workers
	markMetadata                     // $metadata
	markLogs                         // resourceLogs
	markSpans                        // resourceSpans
	markAlert                        // alert_type, policy_id, policy_name
	markText                         // text
	markHook                         // name, data, ts
	markLoad                         // snapflame
	markOther                        // any other key
)

const (
	tailCore  = markTailOutc | markTailScript | markTailModel | markTailFail | markTailLogs
	tailMarks = tailCore | markTailTime | markTailEvent | markTailCPU | markTailWall | markTailMore
	pushMarks = markPushOutc | markPushScript | markPushTime | markPushType | markPushMore
)

// markOf reads a key as it stands in the text. A key written with escapes is
// not recognised: no sender escapes ASCII.
func markOf(key []byte) marks {
	switch string(key) {
	case "outcome":
		return markTailOutc
	case "scriptName":
		return markTailScript
	case "executionModel":
		return markTailModel
	case "exceptions":
		return markTailFail
	case "logs":
		return markTailLogs
	case "eventTimestamp":
		return markTailTime
	case "event":
		return markTailEvent
	case "cpuTime":
		return markTailCPU
	case "wallTime":
		return markTailWall
	case "durableObjectId":
		return markTailMore | markObject
	case "truncated", "diagnosticsChannelEvents", "entrypoint":
		return markTailMore
	case "Outcome":
		return markPushOutc
	case "ScriptName":
		return markPushScript
	case "EventTimestampMs":
		return markPushTime
	case "EventType":
		return markPushType
	case "CPUTimeMs", "WallTimeMs", "Exceptions", "Logs":
		return markPushMore
	case "$workers":
		return markWorkers
	case "$metadata":
		return markMetadata
	case "resourceLogs":
		return markLogs
	case "resourceSpans":
		return markSpans
	case "alert_type", "policy_id", "policy_name":
		return markAlert
	case "text":
		return markText
	case "name", "data", "ts":
		return markHook
	case "snapflame":
		return markLoad
	default:
		return markOther
	}
}

// shape names the shape that the keys stand for; empty when they are of none.
// A record needs two of a shape's keys: {"outcome":"ok"} alone is nobody's.
func (m marks) shape() Shape {
	switch {
	case m&markLoad != 0:
		return ShapeLoad
	case m&markLogs != 0:
		return ShapeOTLPLogs
	case m&markSpans != 0:
		return ShapeOTLPTraces
	case m&(markWorkers|markMetadata) != 0:
		return ShapeWorkersLogs
	case m&tailCore != 0 && bits.OnesCount32(uint32(m&tailMarks)) >= 2:
		return ShapeTail
	case bits.OnesCount32(uint32(m&pushMarks)) >= 2:
		return ShapeLogpush
	case m&markAlert != 0, m&markText != 0 && (m&markHook != 0 || m&markOther == 0):
		return ShapeWebhook
	default:
		return ""
	}
}
