package triggers

// place is an object whose keys are looked at while it is scanned.
type place uint8

const (
	elsewhere place = iota
	inRecord
	inVersion
	inEvent
	inRequest
	inHeaders
	inCF
	inResponse
	inTexts // the arrays exceptions and logs
	inText  // an element of them
)

// spot is where a value stands in the message; to is 0 when it does not.
type spot struct{ from, to int32 }

// The fields of a TraceItem that are noted. nowhere takes all others.
const (
	nowhere = iota
	atScript
	atVersion
	atTags
	atDispatch
	atEntrypoint
	atObject
	atModel
	atOutcome
	atTruncated
	atCPU
	atWall
	atTime
	atExceptions
	atLogs
	atEvent
	atMethod
	atURL
	atRequestID
	atLength
	atRay
	atColo
	atStatus
	atRPC
	atCron
	atScheduled
	atQueue
	atMail
	atConsumed
	atSocket
	atRayID
	atReason
	spotCount
	atTextTime = spotCount // of an element of exceptions or logs: see times
)

type spots [spotCount]spot

// times are where the timestamps of exceptions and log lines stand, in order:
// what differs between records that are otherwise alike.
type times struct {
	list [maxTimes]spot
	n    int // more than maxTimes: not all are listed
}

const maxTimes = 32

func (t *times) add(from, to int) {
	if t.n < maxTimes {
		t.list[t.n] = spot{int32(from), int32(to)} //nolint:gosec // a message is at most MaxMessage long
	}
	t.n++
}

// record scans one part of a message, noting its fields.
func (s *scanner) record(i int) int {
	s.marks = 0
	s.spots = spots{}
	s.times.n = 0
	return s.value(i, 0, inRecord)
}

// meet takes note of a key, as it stands in the text, in an object that is
// looked at. It returns the spot of its value and the place that it is. A key
// that is written with escapes is not recognised: no sender escapes ASCII.
func (s *scanner) meet(in place, key []byte) (at int, next place) {
	switch in {
	case inRecord:
		m, at, next := recordKey(key)
		s.marks |= m
		return at, next
	case inEvent:
		return eventKey(key)
	case inRequest:
		return requestKey(key)
	case inHeaders:
		switch string(key) {
		case "content-length":
			return atLength, elsewhere
		case "cf-ray":
			return atRay, elsewhere
		}
	case inVersion:
		if string(key) == "id" {
			return atVersion, elsewhere
		}
	case inCF:
		if string(key) == "colo" {
			return atColo, elsewhere
		}
	case inResponse:
		if string(key) == "status" {
			return atStatus, elsewhere
		}
	case inText:
		switch string(key) {
		case "timestamp", "timestampMs":
			return atTextTime, elsewhere
		}
	case inTexts, elsewhere:
	}
	return nowhere, elsewhere
}

func eventKey(key []byte) (int, place) {
	switch string(key) {
	case "request":
		return nowhere, inRequest
	case "response":
		return nowhere, inResponse
	case "rpcMethod":
		return atRPC, elsewhere
	case "cron":
		return atCron, elsewhere
	case "scheduledTime":
		return atScheduled, elsewhere
	case "queue":
		return atQueue, elsewhere
	case "mailFrom":
		return atMail, elsewhere
	case "consumedEvents":
		return atConsumed, elsewhere
	case "getWebSocketEvent":
		return atSocket, elsewhere
	case "rayId":
		return atRayID, elsewhere
	case "reason":
		return atReason, elsewhere
	}
	return nowhere, elsewhere
}

func requestKey(key []byte) (int, place) {
	switch string(key) {
	case "method":
		return atMethod, elsewhere
	case "url":
		return atURL, elsewhere
	case "requestId":
		return atRequestID, elsewhere
	case "headers":
		return nowhere, inHeaders
	case "cf":
		return nowhere, inCF
	}
	return nowhere, elsewhere
}

// recordKey tells a top-level key: whose shape it is of, and where its value is
// noted.
func recordKey(key []byte) (m marks, at int, next place) {
	switch string(key) {
	case "outcome":
		return markTailOutc, atOutcome, elsewhere
	case "scriptName":
		return markTailScript, atScript, elsewhere
	case "scriptVersion":
		return markOther, nowhere, inVersion
	case "scriptTags":
		return markOther, atTags, elsewhere
	case "dispatchNamespace":
		return markOther, atDispatch, elsewhere
	case "executionModel":
		return markTailModel, atModel, elsewhere
	case "exceptions":
		return markTailFail, atExceptions, inTexts
	case "logs":
		return markTailLogs, atLogs, inTexts
	case "eventTimestamp":
		return markTailTime, atTime, elsewhere
	case "event":
		return markTailEvent, atEvent, inEvent
	case "cpuTime":
		return markTailCPU, atCPU, elsewhere
	case "wallTime":
		return markTailWall, atWall, elsewhere
	case "durableObjectId":
		return markTailMore | markObject, atObject, elsewhere
	case "entrypoint":
		return markTailMore, atEntrypoint, elsewhere
	case "truncated":
		return markTailMore, atTruncated, elsewhere
	case "diagnosticsChannelEvents":
		return markTailMore, nowhere, elsewhere
	}
	return otherKey(key), nowhere, elsewhere
}

// otherKey tells the keys of the other shapes.
func otherKey(key []byte) marks {
	switch string(key) {
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
