package ingest

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/tidwall/gjson"
)

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
			if len(data) <= limit {
				out = append(out, chunk{data: data})
				continue
			}
			parts, bad := splitResource(key, r.Raw, limit)
			if bad != nil {
				return nil, bad
			}
			out = append(out, parts...)
		}
		return out, nil
	}
	return nil, tooLarge()
}

// splitResource cuts what one resource sent by its records, each part with the
// resource and the scope that it is of.
func splitResource(key, raw string, limit int) ([]chunk, *answer) {
	e := export{key: key, scopesKey: "scopeLogs", recordsKey: "logRecords"}
	if key == "resourceSpans" {
		e.scopesKey, e.recordsKey = "scopeSpans", "spans"
	}
	var scopes []map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &e.resource) != nil || json.Unmarshal(e.resource[e.scopesKey], &scopes) != nil {
		return nil, tooLarge()
	}
	var out []chunk
	for _, scope := range scopes {
		var records []json.RawMessage
		if json.Unmarshal(scope[e.recordsKey], &records) != nil {
			return nil, tooLarge()
		}
		frame := len(e.with(scope, []json.RawMessage{}))
		for len(records) > 0 {
			n, size := 0, frame
			for n < len(records) && size+len(records[n])+1 <= limit {
				size += len(records[n]) + 1
				n++
			}
			data := e.with(scope, records[:n])
			for len(data) > limit && n > 1 { // what was escaped is longer now
				n /= 2
				data = e.with(scope, records[:n])
			}
			if n == 0 || len(data) == 0 || len(data) > limit {
				return nil, tooLarge()
			}
			out = append(out, chunk{data: data})
			records = records[n:]
		}
	}
	return out, nil
}

// export is an OTLP export of one resource.
type export struct {
	key, scopesKey, recordsKey string
	resource                   map[string]json.RawMessage
}

// with is the export with these records of one scope alone; nil when it cannot
// be written.
func (e *export) with(scope map[string]json.RawMessage, records []json.RawMessage) []byte {
	list, err := json.Marshal(records)
	if err != nil {
		return nil
	}
	scope[e.recordsKey] = list
	if e.resource[e.scopesKey], err = json.Marshal([]any{scope}); err != nil {
		return nil
	}
	data, err := json.Marshal(map[string]any{e.key: []any{e.resource}})
	if err != nil {
		return nil
	}
	return data
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
