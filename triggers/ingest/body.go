package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/tidwall/gjson"
)

// readBody bounds, unpacks and sniffs: senders forget Content-Encoding, so gzip
// is known by its first bytes as well.
func readBody(r *http.Request) ([]byte, *answer) {
	if bad := checkType(r.Header); bad != nil {
		return nil, bad
	}
	if r.ContentLength > MaxBody {
		return nil, &answer{status: http.StatusRequestEntityTooLarge, text: "the body is over 16 MiB; send smaller batches"}
	}
	raw, err := readBounded(r.Body, MaxBody)
	if errors.Is(err, errTooLong) {
		return nil, &answer{status: http.StatusRequestEntityTooLarge, text: "the body is over 16 MiB; send smaller batches"}
	}
	if err != nil {
		return nil, &answer{status: http.StatusBadRequest, text: "the body ended early; send it again"}
	}
	if !bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) {
		return raw, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err == nil {
		raw, err = readBounded(z, MaxUnpacked)
	}
	if errors.Is(err, errTooLong) {
		return nil, &answer{status: http.StatusRequestEntityTooLarge, text: "the body unpacks to over 64 MiB; send smaller batches"}
	}
	if err != nil {
		return nil, &answer{status: http.StatusBadRequest, text: "the body is not a whole gzip file; send it again"}
	}
	return raw, nil
}

// checkType refuses what is surely not JSON; an absent or unknown text type is
// read anyway, because Logpush and curl send what they like.
func checkType(h http.Header) *answer {
	switch enc := strings.ToLower(h.Get("Content-Encoding")); enc {
	case "", "gzip", "identity":
	default:
		return &answer{status: http.StatusUnsupportedMediaType, text: "Content-Encoding must be gzip or absent"}
	}
	ct := h.Get("Content-Type")
	if ct == "" {
		return nil
	}
	t, _, err := mime.ParseMediaType(ct)
	if err != nil {
		return &answer{status: http.StatusUnsupportedMediaType, text: "Content-Type cannot be read; send application/json or application/x-ndjson"}
	}
	if t == "application/x-protobuf" || t == "application/protobuf" {
		return &answer{status: http.StatusUnsupportedMediaType, text: "protobuf is not accepted; Cloudflare exports OTLP as JSON: set the exporter to http/json"}
	}
	if strings.HasPrefix(t, "multipart/") || strings.HasPrefix(t, "image/") || strings.HasPrefix(t, "video/") || strings.HasPrefix(t, "audio/") {
		return &answer{status: http.StatusUnsupportedMediaType, text: "Content-Type must be application/json or application/x-ndjson"}
	}
	return nil
}

var errTooLong = errors.New("too long")

func readBounded(r io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if int64(len(b)) > limit {
		return nil, errTooLong
	}
	return b, err
}

// isProbe knows the requests that carry no event: an empty OTLP preflight,
// Logpush's upload of {"content":"tests"}, and the test message of a
// Notifications webhook.
func isProbe(body []byte) bool {
	b := bytes.TrimSpace(body)
	switch string(b) {
	case "", "{}", "[]", `{"resourceLogs":[]}`, `{"resourceSpans":[]}`:
		return true
	}
	if len(b) > 1024 || b[0] != '{' {
		return false
	}
	var probe struct {
		Content string `json:"content"`
		Text    string `json:"text"`
		Data    any    `json:"data"`
	}
	if json.Unmarshal(b, &probe) != nil {
		return false
	}
	return probe.Content == "tests" || probe.Data == nil && strings.HasPrefix(probe.Text, "Hello World! This is a test message sent from https://cloudflare.com")
}

// chunk is one message to publish.
type chunk struct {
	script string // of its events, when they all have the same; else empty
	data   []byte
}

// split cuts a body into messages of at most limit bytes: one JSON value as it
// is, an array by its elements, NDJSON by its lines. It does not look into the
// values: what is not an event is for the reader of the queue to refuse.
func split(body []byte, limit int) ([]chunk, *answer) {
	b := bytes.TrimSpace(body)
	switch {
	case len(b) > 0 && b[0] == '[':
		return splitArray(b, limit)
	case json.Valid(b):
		if b[0] != '{' {
			return nil, &answer{status: http.StatusBadRequest, text: "the body is not an event: send a JSON object, an array of objects or NDJSON"}
		}
		if len(b) > limit {
			return splitExport(b, limit)
		}
		return []chunk{{script: scriptOf(b), data: b}}, nil
	default:
		return splitLines(b, limit)
	}
}

// splitLines takes NDJSON. A damaged line among good ones is published with
// them and ends in the dead letters; a body without one good line is refused
// here, where its sender can still see why.
func splitLines(b []byte, limit int) ([]chunk, *answer) {
	lines := bytes.Split(b, []byte{'\n'})
	for _, l := range lines {
		if l = bytes.TrimSpace(l); len(l) > 0 && l[0] == '{' && json.Valid(l) {
			return pack(lines, limit)
		}
	}
	return nil, &answer{status: http.StatusBadRequest, text: "the body is not valid JSON: send an event, an array of events or NDJSON"}
}

// splitExport cuts an OTLP export by its resources, which is how exporters
// batch the records of several Workers.
func splitExport(b []byte, limit int) ([]chunk, *answer) {
	for _, key := range []string{"resourceLogs", "resourceSpans"} {
		list := gjson.GetBytes(b, key)
		if !list.IsArray() {
			continue
		}
		var out []chunk
		for _, r := range list.Array() {
			data := []byte(`{"` + key + `":[` + r.Raw + `]}`)
			if len(data) > limit {
				return nil, tooLarge()
			}
			out = append(out, chunk{data: data})
		}
		return out, nil
	}
	return nil, tooLarge()
}

func splitArray(b []byte, limit int) ([]chunk, *answer) {
	if !json.Valid(b) {
		return nil, &answer{status: http.StatusBadRequest, text: "the body is not valid JSON: the array is cut off or damaged"}
	}
	var items [][]byte
	gjson.ParseBytes(b).ForEach(func(_, v gjson.Result) bool {
		items = append(items, []byte(v.Raw))
		return true
	})
	return pack(items, limit)
}

// pack joins small items of one script into NDJSON messages.
func pack(items [][]byte, limit int) ([]chunk, *answer) {
	var out []chunk
	open := false // the last chunk takes more
	for _, it := range items {
		it = bytes.TrimSpace(it)
		if len(it) == 0 {
			continue
		}
		// An item of an array may span lines; NDJSON may not.
		if bytes.IndexByte(it, '\n') >= 0 {
			var c bytes.Buffer
			if json.Compact(&c, it) == nil {
				it = c.Bytes()
			}
		}
		if len(it) > limit {
			return nil, tooLarge()
		}
		script := scriptOf(it)
		last := len(out) - 1
		if open && out[last].script == script && len(out[last].data)+1+len(it) <= min(chunkBytes, limit) {
			out[last].data = append(append(out[last].data, '\n'), it...)
			continue
		}
		out = append(out, chunk{script: script, data: append([]byte(nil), it...)})
		open = true
	}
	return out, nil
}

func tooLarge() *answer {
	return &answer{status: http.StatusRequestEntityTooLarge, text: "one event is over the queue's message size limit; trim its logs"}
}

// scriptOf is a cheap look for the subject's last token; the event's own script
// is read again, properly, by whoever pulls it.
func scriptOf(item []byte) string {
	for _, r := range gjson.GetManyBytes(item, "scriptName", "ScriptName", "$workers.scriptName", "$metadata.service") {
		if r.Type == gjson.String && r.Str != "" {
			return r.Str
		}
	}
	return ""
}
