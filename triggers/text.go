package triggers

import (
	"slices"
	"strings"
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

// flat renders one JSON value, which must be valid.
func flat(raw string) string {
	if len(raw) == 0 {
		return ""
	}
	if raw[0] == '"' {
		return clip(unquote(raw), maxText)
	}
	var f flattener
	f.b.Grow(min(len(raw), maxText))
	f.walk(raw, "")
	return clip(f.b.String(), maxText)
}

func (f *flattener) full() bool { return f.leaves >= maxLeaves || f.b.Len() >= maxText }

// walk renders the value under a key.
func (f *flattener) walk(raw, key string) {
	switch raw[0] {
	case '{':
		if key != "" {
			// A key can hold the id itself: {"<64 hex>": {…}}.
			f.put(key, "")
		}
		members(raw, func(name, value string) bool {
			f.walk(value, name)
			return !f.full()
		})
	case '[':
		items(raw, func(value string) bool {
			f.walk(value, key)
			return !f.full()
		})
	case '"':
		f.put(key, unquote(raw))
	case 'n':
		f.put(key, "")
	default:
		f.put(key, raw)
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
	// A run of 64 covers one of any 64 bytes in a row: look at every 64th.
	for at := 63; at < len(s); {
		if !isHex(s[at]) {
			at += 64
			continue
		}
		from, to, hex := at, at+1, true
		for from > 0 && isWord(s[from-1]) {
			from--
			hex = hex && isHex(s[from])
		}
		for to < len(s) && isWord(s[to]) {
			hex = hex && isHex(s[to])
			to++
		}
		at = to + 64
		if !hex || to-from != 64 {
			continue
		}
		if id := strings.ToLower(s[from:to]); !slices.Contains(ids, id) && len(ids) < maxObjectIDs {
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
