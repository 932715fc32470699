package triggers

import (
	"strings"

	"github.com/tidwall/gjson"
)

// walk.go walks values that the scanner has found valid, without building
// anything: the arguments of log lines, mostly.

// members calls f with the keys and raw values of an object, until it returns false.
func members(raw string, f func(key, value string) bool) {
	for i := past(raw, 1); raw[i] == '"'; {
		end := skipString(raw, i)
		key := unquote(raw[i:end])
		from := past(raw, past(raw, end)+1) // behind the colon
		to := skipValue(raw, from)
		if !f(key, raw[from:to]) {
			return
		}
		if i = past(raw, to); raw[i] == ',' {
			i = past(raw, i+1)
		}
	}
}

// items calls f with the raw values of an array, until it returns false.
func items(raw string, f func(value string) bool) {
	for i := past(raw, 1); raw[i] != ']'; {
		to := skipValue(raw, i)
		if !f(raw[i:to]) {
			return
		}
		if i = past(raw, to); raw[i] == ',' {
			i = past(raw, i+1)
		}
	}
}

// past skips white space.
func past(s string, i int) int {
	for s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r' {
		i++
	}
	return i
}

func skipString(s string, i int) int {
	for i++; s[i] != '"'; i++ {
		n := strings.IndexByte(s[i:], '"')
		if strings.IndexByte(s[i:i+n], '\\') < 0 {
			return i + n + 1
		}
		for s[i] != '\\' {
			i++
		}
		i++ // what is escaped
	}
	return i + 1
}

func skipValue(s string, i int) int {
	switch s[i] {
	case '"':
		return skipString(s, i)
	case '{', '[':
		depth := 0
		for ; ; i++ {
			switch s[i] {
			case '"':
				i = skipString(s, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	default:
		for i < len(s) && s[i] > ' ' && s[i] != ',' && s[i] != '}' && s[i] != ']' {
			i++
		}
		return i
	}
}

// unquote is the text of a raw string.
func unquote(raw string) string {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	return gjson.Parse(raw).Str
}

// textOf is the text of a raw value that is a string, or nothing.
func textOf(raw string) string {
	if raw == "" || raw[0] != '"' {
		return ""
	}
	return unquote(raw)
}
