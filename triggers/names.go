package triggers

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// Bounds of names.
const (
	namesKept = 4096
	nameKept  = 256 // bytes of a value, as it stands in the text
)

// names keeps the strings that come again with every record, so that each is
// made once and a record is not copied for them. A nil one keeps nothing.
type names struct {
	last [spotCount]name // by field: mostly the one before
	of   map[string]name // by how they stand in the text
	urls map[string]name // to routes
	tags struct{ raw, service, environment string }
}

type name struct{ raw, text string }

func newNames() *names {
	return &names{of: make(map[string]name), urls: make(map[string]name)}
}

// text is the string that a field holds.
func (n *names) text(at int, raw []byte) string {
	if n == nil || len(raw) > nameKept {
		return unquoted(raw)
	}
	l := &n.last[at]
	if string(raw) != l.raw {
		*l = keep(n.of, raw, unquoted)
	}
	return l.text
}

// route is the route of the URL that a field holds.
func (n *names) route(at int, raw []byte) string {
	if n == nil || len(raw) == 0 || len(raw) > nameKept {
		return routeIn(raw)
	}
	l := &n.last[at]
	if string(raw) != l.raw {
		*l = keep(n.urls, raw, routeIn)
	}
	return l.text
}

// tagsOf reads the tags that wrangler sets.
func (n *names) tagsOf(e *Event, raw []byte) {
	if len(raw) <= len("[]") {
		return
	}
	if n != nil && string(raw) == n.tags.raw {
		e.Service, e.Environment = n.tags.service, n.tags.environment
		return
	}
	tagsOf(e, gjson.ParseBytes(raw))
	if n != nil && len(raw) <= 4*nameKept {
		n.tags.raw, n.tags.service, n.tags.environment = string(raw), e.Service, e.Environment
	}
}

func keep(in map[string]name, raw []byte, read func([]byte) string) name {
	one, ok := in[string(raw)]
	if !ok {
		one = name{string(raw), read(raw)}
		if len(in) >= namesKept {
			clear(in)
		}
		in[one.raw] = one
	}
	return one
}

func routeIn(raw []byte) string { return routeOf(unquoted(raw)) }

// unquoted is the text of a raw string, or nothing when it is none.
func unquoted(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if bytes.IndexByte(raw, '\\') >= 0 {
		return gjson.ParseBytes(raw).Str
	}
	return string(raw[1 : len(raw)-1])
}
