package triggers

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// wire.go has what the shapes share. Names inside sub-objects match without
// regard to case, because Cloudflare's own documents write Logpush's both ways.
// gjson walks text that the scanner has found valid; its strings are parts of
// one copy of the message, so that reading a record costs one allocation.

// about reads the event object: what the invocation was about. A detail that is
// not as expected is left out: it must not cost the event.
func (e *Event) about(event gjson.Result) {
	if !event.IsObject() {
		return
	}
	kind := ""
	event.ForEach(func(key, v gjson.Result) bool {
		switch k := key.Str; {
		case fold(k, "request"):
			kind = "fetch"
			e.request(v)
		case fold(k, "response"):
			e.Status = status(v.Get("status").Num)
		case fold(k, "rpcmethod"):
			kind = about(kind, "rpc")
			e.Route = orText(e.Route, text(v))
		case fold(k, "cron"):
			kind = "scheduled"
			e.Route = orText(e.Route, text(v))
		case fold(k, "scheduledtime"):
			kind = about(kind, "alarm")
		case fold(k, "queue"):
			kind = about(kind, "queue")
			e.Route = orText(e.Route, text(v))
		case fold(k, "mailfrom"):
			kind = about(kind, "email")
		case fold(k, "consumedevents"):
			kind = about(kind, "tail")
		case fold(k, "getwebsocketevent"):
			kind = about(kind, "websocket")
		case fold(k, "rayid"):
			e.RayID = text(v)
		case fold(k, "reason"):
			kind = about(kind, "hibernate")
		}
		return true
	})
	e.Trigger = kind
}

func about(known, kind string) string { return orText(known, kind) }

func orText(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func (e *Event) request(request gjson.Result) {
	request.ForEach(func(key, v gjson.Result) bool {
		switch k := key.Str; {
		case fold(k, "method"):
			e.Method = text(v)
		case fold(k, "url"):
			e.Route = routeOf(text(v))
		case fold(k, "requestid"):
			e.RequestID = text(v)
		case fold(k, "cf"):
			e.Colo = text(v.Get("colo"))
		case fold(k, "headers"):
			v.ForEach(func(key, v gjson.Result) bool {
				switch k := key.Str; {
				case fold(k, "content-length"):
					if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil && n >= 0 {
						e.Size = n
					}
				case fold(k, "cf-ray"):
					e.RayID = text(v)
				}
				return true
			})
		}
		return true
	})
}

// decodeTexts reads exceptions[] and logs[], given as they stand in the text,
// the first of each up to a bound.
func decodeTexts(e *Event, exceptions, logs string) {
	firstItems(exceptions, maxExceptions, func(item string) {
		var name, message, stack, at string
		members(item, func(key, v string) bool {
			switch {
			case fold(key, "name"):
				name = textOf(v)
			case fold(key, "message"):
				message = textOf(v)
			case fold(key, "stack"):
				stack = textOf(v)
			case fold(key, "timestamp"), fold(key, "timestampms"):
				at = v
			}
			return true
		})
		t := newText(TextException, name, message, stack)
		t.Time = millis(numberOf(at))
		e.Texts = append(e.Texts, t)
	})
	firstItems(logs, maxLogs, func(item string) {
		var message, info, at string
		members(item, func(key, v string) bool {
			switch {
			case fold(key, "message"):
				message = flat(v)
			case fold(key, "errorinfo"):
				info = v
			case fold(key, "timestamp"), fold(key, "timestampms"):
				at = v
			}
			return true
		})
		t := newText(TextLog, "", message, "")
		t.Time = millis(numberOf(at))
		if info != "" && info[0] == '[' {
			addErrorInfo(&t, gjson.Parse(info))
		}
		e.Texts = append(e.Texts, t)
	})
}

// firstItems calls f with the first objects of an array; anything else has none.
func firstItems(list string, limit int, f func(item string)) {
	if len(list) < 3 || list[0] != '[' {
		return
	}
	items(list, func(item string) bool {
		if item[0] == '{' {
			f(item)
		}
		limit--
		return limit > 0
	})
}

// numberOf is a raw number; 0 when it is anything else.
func numberOf(raw string) float64 {
	if raw == "" || raw[0] != '-' && !isDigit(raw[0]) {
		return 0
	}
	if len(raw) <= 15 {
		whole := int64(0)
		for i := 0; ; i++ {
			if i == len(raw) {
				return float64(whole)
			}
			if !isDigit(raw[i]) {
				break
			}
			whole = whole*10 + int64(raw[i]-'0')
		}
	}
	n, err := strconv.ParseFloat(raw, 64)
	if err != nil && math.IsInf(n, -1) {
		return 0
	}
	return n
}

// text is a string value, or nothing.
func text(v gjson.Result) string {
	if v.Type != gjson.String {
		return ""
	}
	return v.Str
}

// fold compares a key without regard to case; want is in lower case.
func fold(key, want string) bool {
	return len(key) == len(want) && (key == want || strings.EqualFold(key, want))
}

// addErrorInfo adds the errors that a log line was given as arguments, beside
// their text in the message.
func addErrorInfo(t *Text, info gjson.Result) {
	eachItem(info, maxExceptions, func(item gjson.Result) {
		if message := text(item.Get("message")); message != "" && !strings.Contains(t.Message, message) {
			t.Message = clip(strings.TrimSpace(t.Message+" "+message), maxText)
			t.ObjectIDs = objectIDs(t.ObjectIDs, message)
		}
		if t.Name == "" {
			t.Name = clip(text(item.Get("name")), maxName)
		}
		if t.Stack == "" {
			t.Stack = clip(text(item.Get("stack")), maxText)
		}
	})
}

// eachItem calls f with the first items of an array; anything else has none.
func eachItem(list gjson.Result, limit int, f func(gjson.Result)) {
	if !list.IsArray() || len(list.Raw) < 3 {
		return
	}
	n := 0
	list.ForEach(func(_, item gjson.Result) bool {
		if item.Type == gjson.JSON || item.Type == gjson.String {
			f(item)
		}
		n++
		return n < limit
	})
}

// tagsOf reads the tags that wrangler sets.
func tagsOf(e *Event, tags gjson.Result) {
	eachItem(tags, maxLogs, func(item gjson.Result) { tagOf(e, text(item)) })
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
