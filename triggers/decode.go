package triggers

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of one message. They are checked on the text, before it is decoded.
const (
	// MaxMessage is the longest message that is read, in bytes. NATS carries 1
	// MiB unless told otherwise; a file given to explain may be longer and is
	// read in pieces by its caller.
	MaxMessage = 16 << 20
	// MaxEvents is the most events that one message may hold.
	MaxEvents = 50_000
	// maxFaults bounds the errors of one message that are told one by one.
	maxFaults = 100

	maxExceptions = 64   // read per record; Cloudflare cuts a record's texts at 256 KB in all
	maxLogs       = 256  // read per record
	maxText       = 8192 // bytes kept of one message or stack
	maxName       = 512  // bytes kept of a name, route or id
)

// DecodeReason is why a message or a part of it is not an event. The set is
// closed: it is a metric label.
type DecodeReason string

// The reasons.
const (
	DecodeEmpty     DecodeReason = "empty"
	DecodeSyntax    DecodeReason = "invalid_json"
	DecodeTruncated DecodeReason = "truncated_json"
	DecodeTooDeep   DecodeReason = "nested_too_deep"
	DecodeTooLong   DecodeReason = "too_long"
	DecodeBadGzip   DecodeReason = "invalid_gzip"
	DecodeTooMany   DecodeReason = "too_many_events"
	DecodeShape     DecodeReason = "unknown_shape"
	DecodeField     DecodeReason = "wrong_field"
	DecodePanic     DecodeReason = "decoder_failed"
)

// DecodeError is one part of a message that is not an event.
type DecodeError struct {
	Reason DecodeReason
	// Index is the place of the part among the parts of the message, from 0.
	Index int
	// Detail is a sentence that says what is wrong and what is expected.
	Detail string
	// Data is the part, as it came. It aliases the message.
	Data []byte
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("event %d: %s", e.Index+1, e.Detail)
}

// DecodeErrors are the parts of one message that are not events.
type DecodeErrors []*DecodeError

func (e DecodeErrors) Error() string {
	if len(e) == 1 {
		return e[0].Error()
	}
	return fmt.Sprintf("%s (and %d more)", e[0].Error(), len(e)-1)
}

// Unwrap gives the errors one by one.
func (e DecodeErrors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// Decode reads a message: one event, an array of events or NDJSON, in any
// shape, told apart by content. subject is where it was published
// (workers.events.<script>); its script stands in for an event that names none.
//
// The result is partial: good events are returned beside a DecodeErrors that
// has one entry per part that is none. An OTLP export without records is no
// event and no error.
func Decode(subject string, data []byte) ([]Event, error) {
	var (
		events []Event
		faults DecodeErrors
		d      decoder
	)
	parts := parts(new(scanner), data, func(p part) {
		fault := p.fault
		if fault == nil {
			events, fault = d.part(events, p)
		}
		// More faults than maxFaults add nothing that a person would read.
		if fault != nil && len(faults) < maxFaults {
			faults = append(faults, fault)
		}
	})
	if parts == 0 {
		faults = append(faults, &DecodeError{Reason: DecodeEmpty, Detail: "is empty; send a JSON event, an array of events or NDJSON"})
	}
	script := SubjectScript(subject)
	for i := range events {
		finish(&events[i], script)
	}
	if len(faults) > 0 {
		return events, faults
	}
	return events, nil
}

// SubjectScript is the script that a subject names: all that follows
// "workers.events.", or nothing.
func SubjectScript(subject string) string {
	script, _ := strings.CutPrefix(subject, "workers.events.")
	if script == subject || script == "_" || script == "*" || script == ">" {
		return ""
	}
	return script
}

// finish fills in what the subject knows and bounds what a sender wrote.
func finish(e *Event, script string) {
	if e.Script == "" {
		e.Script = script
	}
	for _, s := range []*string{
		&e.Script, &e.Service, &e.Environment, &e.DispatchNamespace, &e.Entrypoint, &e.ObjectID, &e.VersionID,
		&e.ExecutionModel, &e.Outcome, &e.Trigger, &e.Method, &e.Route, &e.Colo, &e.RayID, &e.RequestID,
	} {
		if len(*s) > 0 {
			*s = clip(*s, maxName)
		}
	}
	e.ObjectID = strings.ToLower(e.ObjectID)
	if e.Count <= 0 {
		e.Count = 1
	}
}

// clip bounds s to limit bytes of valid UTF-8.
func clip(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		if r, n := utf8.DecodeLastRuneInString(s); r == utf8.RuneError && n == 1 {
			s = s[:len(s)-1]
		}
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return s
}

// part is one JSON value of a message that could be an event, checked to be
// valid JSON, or the fault that was found in its place.
type part struct {
	index int
	data  []byte
	marks marks
	spots *spots // of the scanner: good until it goes on
	times *times
	base  int32 // what the spots are ahead of data
	shape Shape
	fault *DecodeError
}

// raw is a value as it stands in the text; empty when there is none.
func (p *part) raw(at int) []byte {
	v := p.spots[at]
	if v.to == 0 {
		return nil
	}
	return p.data[v.from-p.base : v.to-p.base]
}

// decoder reads parts of one message. Its zero value is ready.
type decoder struct {
	n     int
	names *names // what is known of the strings; nil: nothing
}

// part appends the events of one part.
func (d *decoder) part(events []Event, p part) (_ []Event, fault *DecodeError) {
	before := len(events)
	defer func() {
		// A decoder that gives up on a hostile message costs that message and
		// nothing else.
		if r := recover(); r != nil {
			events = events[:before]
			fault = &DecodeError{Reason: DecodePanic, Index: p.index, Data: p.data, Detail: fmt.Sprintf("could not be decoded: %v", r)}
		}
	}()
	if d.n >= MaxEvents {
		return events, &DecodeError{Reason: DecodeTooMany, Index: p.index, Data: p.data, Detail: fmt.Sprintf("comes after %d others in one message; split it", MaxEvents)}
	}
	var err error
	switch p.shape {
	case ShapeTail:
		events, err = decodeTail(events, &p, d.names)
	case ShapeLogpush:
		events, err = decodeLogpush(events, p.data)
	case ShapeWorkersLogs:
		events, err = decodeTelemetry(events, p.data)
	case ShapeOTLPLogs:
		events, err = decodeOTLP(events, p.data, ShapeOTLPLogs, MaxEvents-d.n)
	case ShapeOTLPTraces:
		events, err = decodeOTLP(events, p.data, ShapeOTLPTraces, MaxEvents-d.n)
	case ShapeWebhook:
		events, err = decodeWebhook(events, p.data)
	case ShapeLoad:
		events, err = decodeLoad(events, p.data)
	}
	d.n += len(events) - before
	if err != nil {
		reason := DecodeField
		if errors.Is(err, errTooMany) {
			reason = DecodeTooMany
		}
		return events, &DecodeError{Reason: reason, Index: p.index, Data: p.data, Detail: "is read as " + string(p.shape) + ": " + err.Error()}
	}
	return events, nil
}

var errTooMany = errors.New("it has more records than one message may hold; split it")

// syntaxError puts a scanner's fault into words.
func syntaxError(index int, data []byte, f scanFault, at int) *DecodeError {
	e := &DecodeError{Index: index, Data: data}
	switch f {
	case scanTooDeep:
		e.Reason, e.Detail = DecodeTooDeep, fmt.Sprintf("nests deeper than %d levels at byte %d", maxDepth, at)
	case scanTruncated:
		e.Reason, e.Detail = DecodeTruncated, fmt.Sprintf("ends inside a value at byte %d", at)
	default:
		e.Reason, e.Detail = DecodeSyntax, fmt.Sprintf("is not valid JSON at byte %d%s", at, near(data, at))
	}
	return e
}

func near(data []byte, at int) string {
	if at < 0 || at >= len(data) {
		return ""
	}
	s := data[at:]
	if len(s) > 12 {
		s = s[:12]
	}
	if i := bytes.IndexByte(s, '\n'); i >= 0 {
		s = s[:i]
	}
	return fmt.Sprintf(" (near %q)", s)
}
