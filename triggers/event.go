package triggers

import "time"

// Event is one record of an invocation or one of its log lines, whatever shape
// it came in. Strings are as the sender wrote them (untrusted): whoever shows
// one escapes it for its medium.
type Event struct {
	Shape             Shape
	Script            string
	Service           string // wrangler service, from the tag cf:service=
	Environment       string // wrangler environment, from the tag cf:environment=
	DispatchNamespace string
	Entrypoint        string
	ObjectID          string // the record's own durableObjectId
	VersionID         string
	ExecutionModel    string // stateless, durableObject, workflow; an open set
	Outcome           string // an open set; empty when the shape has none
	Time              time.Time
	CPU               time.Duration
	Wall              time.Duration
	Truncated         bool

	Texts []Text // exceptions first, then log lines, in their order

	Trigger   string // fetch, rpc, alarm, queue, scheduled, email, websocket, tail…
	Method    string // HTTP method
	Route     string // request path without query, ids as Cloudflare redacted them; or the RPC method
	Size      int64  // request content-length in bytes; -1 when unknown
	Status    int    // response status; 0 when unknown
	Colo      string
	RayID     string
	RequestID string

	// Count is how many alike invocations a load line stands for, whose CPU and
	// Wall are then sums; 1 for a record.
	Count int64
	// Errors is how many of a load line's invocations ended otherwise than ok.
	Errors int64
	// Ended marks the notification that an alert is over.
	Ended bool
}

// TextSource is where in a record a text stood.
type TextSource string

// Where a text can stand.
const (
	TextException TextSource = "exception"
	TextLog       TextSource = "log"
)

// Text is one message of a record.
type Text struct {
	Source  TextSource
	Name    string // the error's name, of an exception
	Message string
	Stack   string
	Time    time.Time
	// ObjectIDs are the distinct 64-digit hexadecimal ids that stand in the
	// message or beside it (any key of a structured log line), lower case.
	ObjectIDs []string
}
