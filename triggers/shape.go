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
