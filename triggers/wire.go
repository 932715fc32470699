package triggers

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-json"
	"github.com/tidwall/gjson"
)

// wire.go has what the shapes share. Field names match without regard to case,
// because Cloudflare's own documents write Logpush sub-objects both ways.

// wireException is an entry of exceptions[].
type wireException struct {
	Name        string  `json:"name"`
	Message     string  `json:"message"`
	Stack       string  `json:"stack"`
	Timestamp   float64 `json:"timestamp"`
	TimestampMs float64 `json:"timestampMs"`
}

// wireLog is an entry of logs[].
type wireLog struct {
	Level       string          `json:"level"`
	Message     json.RawMessage `json:"message"`
	ErrorInfo   json.RawMessage `json:"errorInfo"`
	Timestamp   float64         `json:"timestamp"`
	TimestampMs float64         `json:"timestampMs"`
}

// wireEvent is the event object: what the invocation was about.
type wireEvent struct {
	Request *struct {
		Method  string `json:"method"`
		URL     string `json:"url"`
		Headers struct {
			ContentLength string `json:"content-length"`
			Ray           string `json:"cf-ray"`
		} `json:"headers"`
		CF *struct {
			Colo string `json:"colo"`
		} `json:"cf"`
		ID string `json:"requestId"`
	} `json:"request"`
	Response *struct {
		Status float64 `json:"status"`
	} `json:"response"`
	RPCMethod string          `json:"rpcMethod"`
	RayID     string          `json:"rayId"`
	Cron      string          `json:"cron"`
	Scheduled json.RawMessage `json:"scheduledTime"`
	Queue     string          `json:"queue"`
	MailFrom  string          `json:"mailFrom"`
	Consumed  json.RawMessage `json:"consumedEvents"`
	WebSocket json.RawMessage `json:"getWebSocketEvent"`
	Reason    string          `json:"reason"`
}

// fill copies an event object into e. A detail that is not as expected is
// left out: it must not cost the event.
func (w *wireEvent) fill(e *Event) {
	if w.Request != nil {
		e.Trigger = "fetch"
		e.Method = w.Request.Method
		e.Route = routeOf(w.Request.URL)
		e.RayID = w.Request.Headers.Ray
		if n, err := strconv.ParseInt(w.Request.Headers.ContentLength, 10, 64); err == nil && n >= 0 {
			e.Size = n
		}
		if w.Request.CF != nil {
			e.Colo = w.Request.CF.Colo
		}
		e.RequestID = w.Request.ID
	}
	if w.Response != nil {
		e.Status = status(w.Response.Status)
	}
	if w.RayID != "" {
		e.RayID = w.RayID
	}
	if e.Trigger != "" {
		return
	}
	switch {
	case w.RPCMethod != "":
		e.Trigger, e.Route = "rpc", w.RPCMethod
	case w.Cron != "":
		e.Trigger, e.Route = "scheduled", w.Cron
	case w.Queue != "":
		e.Trigger, e.Route = "queue", w.Queue
	case w.MailFrom != "":
		e.Trigger = "email"
	case len(w.Consumed) > 0:
		e.Trigger = "tail"
	case len(w.WebSocket) > 0:
		e.Trigger = "websocket"
	case len(w.Scheduled) > 0:
		e.Trigger = "alarm"
	case w.Reason != "":
		e.Trigger = "hibernate"
	}
}

func decodeEvent(raw []byte, e *Event) {
	if len(raw) == 0 || raw[0] != '{' {
		return
	}
	var w wireEvent
	// The error is not the sender's fault to answer for: what was read is kept.
	_ = json.Unmarshal(raw, &w)
	w.fill(e)
}

// decodeTexts reads exceptions[] and logs[], the first of each up to a bound.
func decodeTexts(e *Event, exceptions, logs []byte) {
	eachItem(exceptions, maxExceptions, func(item gjson.Result) {
		var w wireException
		_ = json.Unmarshal([]byte(item.Raw), &w)
		t := newText(TextException, w.Name, w.Message, w.Stack)
		t.Time = millis(max(w.Timestamp, w.TimestampMs))
		e.Texts = append(e.Texts, t)
	})
	eachItem(logs, maxLogs, func(item gjson.Result) {
		var w wireLog
		_ = json.Unmarshal([]byte(item.Raw), &w)
		t := newText(TextLog, "", flat(w.Message), "")
		t.Time = millis(max(w.Timestamp, w.TimestampMs))
		if len(w.ErrorInfo) > 0 && w.ErrorInfo[0] != 'n' {
			addErrorInfo(&t, w.ErrorInfo)
		}
		e.Texts = append(e.Texts, t)
	})
}

// addErrorInfo adds the errors that a log line was given as arguments, beside
// their text in the message.
func addErrorInfo(t *Text, raw []byte) {
	eachItem(raw, maxExceptions, func(item gjson.Result) {
		if message := item.Get("message").String(); message != "" && !strings.Contains(t.Message, message) {
			t.Message = clip(strings.TrimSpace(t.Message+" "+message), maxText)
			t.ObjectIDs = objectIDs(t.ObjectIDs, message)
		}
		if t.Name == "" {
			t.Name = clip(item.Get("name").String(), maxName)
		}
		if t.Stack == "" {
			t.Stack = clip(item.Get("stack").String(), maxText)
		}
	})
}

// eachItem calls f with the first items of an array; anything else has none.
func eachItem(raw []byte, limit int, f func(gjson.Result)) {
	if len(raw) < 3 || raw[0] != '[' {
		return
	}
	n := 0
	gjson.ParseBytes(raw).ForEach(func(_, item gjson.Result) bool {
		if item.IsObject() || item.Type == gjson.String {
			f(item)
		}
		n++
		return n < limit
	})
}

// tagsOf reads the tags that wrangler sets.
func tagsOf(e *Event, raw []byte) {
	eachItem(raw, maxLogs, func(item gjson.Result) { tagOf(e, item.String()) })
}

func tagOf(e *Event, tag string) {
	if v, ok := strings.CutPrefix(tag, "cf:service="); ok {
		e.Service = v
	}
	if v, ok := strings.CutPrefix(tag, "cf:environment="); ok {
		e.Environment = v
	}
}

// routeOf is the path of a URL, without its query: it can hold secrets, and
// it would make every request a route of its own.
func routeOf(url string) string {
	if i := strings.Index(url, "://"); i >= 0 {
		url = url[i+3:]
		if i = strings.IndexAny(url, "/?#"); i < 0 {
			return "/"
		}
		url = url[i:]
	}
	if i := strings.IndexAny(url, "?#"); i >= 0 {
		url = url[:i]
	}
	if url == "" {
		return "/"
	}
	return clip(url, maxName)
}

// latest is the largest time that is taken for one: the year 2100.
const latest = 4_102_444_800_000

// millis is a time in milliseconds since 1970; the zero time when it cannot be one.
func millis(ms float64) time.Time {
	if !(ms > 0 && ms < latest) {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// span is a duration in milliseconds: not negative, at most a day.
func span(ms float64) time.Duration {
	if !(ms > 0) {
		return 0
	}
	return time.Duration(math.Min(ms, 86_400_000) * float64(time.Millisecond))
}

func status(s float64) int {
	if s >= 100 && s < 1000 {
		return int(s)
	}
	return 0
}
