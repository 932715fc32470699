package triggers

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Bounds of a structured log line.
const (
	maxLeaves    = 200 // values read of one line
	maxObjectIDs = 16  // distinct ids kept of one text; two already mean "several"
)

// flattener turns a JSON value, as people log it, into one line of text:
// strings as they are, objects as key=value.
type flattener struct {
	b      strings.Builder
	leaves int
}

// flat renders one JSON value.
func flat(v gjson.Result) string {
	if v.Type == gjson.String {
		return clip(v.Str, maxText)
	}
	var f flattener
	f.b.Grow(min(len(v.Raw), maxText))
	f.value("", v)
	return clip(f.b.String(), maxText)
}

func (f *flattener) full() bool { return f.leaves >= maxLeaves || f.b.Len() >= maxText }

func (f *flattener) value(key string, v gjson.Result) {
	if f.full() {
		return
	}
	if v.Type == gjson.JSON {
		object := v.IsObject()
		if key != "" && object {
			// A key can hold the id itself: {"<64 hex>": {…}}.
			f.put(key, "")
		}
		v.ForEach(func(k, item gjson.Result) bool {
			name := key
			if object {
				name = k.Str
			}
			f.value(name, item)
			return !f.full()
		})
		return
	}
	switch v.Type {
	case gjson.String:
		f.put(key, v.Str)
	case gjson.Null:
		f.put(key, "")
	default:
		f.put(key, v.Raw)
	}
}

func (f *flattener) put(key, value string) {
	f.leaves++
	if f.b.Len() > 0 {
		f.b.WriteByte(' ')
	}
	if key != "" {
		f.b.WriteString(clip(key, maxName))
		if value != "" {
			f.b.WriteByte('=')
		}
	}
	f.b.WriteString(clip(value, maxText))
}

// newText bounds a text and finds the object ids in it.
func newText(source TextSource, name, message, stack string) Text {
	t := Text{Source: source, Name: clip(name, maxName), Message: clip(message, maxText), Stack: clip(stack, maxText)}
	t.ObjectIDs = objectIDs(nil, t.Message)
	return t
}

// objectIDs appends the distinct Durable Object ids in s: runs of exactly 64
// hexadecimal digits that are no part of a longer word. (0x… is a hash.)
func objectIDs(ids []string, s string) []string {
	if len(s) < 64 {
		return ids
	}
	for i := 0; i < len(s); {
		if !isWord(s[i]) {
			i++
			continue
		}
		start, hex := i, true
		for i < len(s) && isWord(s[i]) {
			hex = hex && isHex(s[i])
			i++
		}
		if !hex || i-start != 64 {
			continue
		}
		if id := strings.ToLower(s[start:i]); !slices.Contains(ids, id) && len(ids) < maxObjectIDs {
			ids = append(ids, id)
		}
	}
	return ids
}

func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// isObjectID says whether id has the form of a Durable Object id, in lower case.
func isObjectID(id string) bool {
	if len(id) != 64 {
		return false
	}
	for i := range len(id) {
		if !isDigit(id[i]) && (id[i] < 'a' || id[i] > 'f') {
			return false
		}
	}
	return true
}
