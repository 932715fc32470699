package triggers

import "strings"

// maxQuote bounds a quoted error text, in bytes. Cloudflare's longest is 330.
const maxQuote = 600

// finding is what classification found in an event.
type finding struct {
	class Class
	sub   Subclass
	// own: the record's outcome says so, which makes it the record's own trouble.
	own   bool
	text  int // index of the text that was quoted; -1: none
	hit   hit
	alike string // why the event only looks like one of a class
}

// classify says which class of trouble an event tells of, and which of its
// texts says so. The outcome of a record decides when it names a class;
// otherwise the first text that does, exceptions before log lines, because a
// caught error stands in a log line of a record whose outcome is ok. Outcomes are
// an open set: an unknown one is none.
func classify(e *Event) finding {
	f := finding{class: outcomeClass(e.Outcome), text: -1}
	f.own = f.class != ClassNone
	quoted := false
	for i := range e.Texts {
		h, ok := find(e.Texts[i].Message)
		if !ok {
			continue
		}
		if h.quoted {
			quoted = true
			continue
		}
		if f.own && h.class != f.class {
			continue
		}
		f.class, f.sub, f.text, f.hit = h.class, h.sub, i, h
		return f
	}
	if f.class == ClassNone {
		f.alike = lookAlike(e, quoted)
	}
	return f
}

// outcomeClass reads exceededMemory and exceededCpu, however they are spelt.
func outcomeClass(outcome string) Class {
	switch {
	case len(outcome) < len("exceededCpu") || len(outcome) > len("exceeded_memory"):
		return ClassNone
	case strings.EqualFold(outcome, "exceededMemory"), strings.EqualFold(outcome, "exceeded_memory"):
		return ClassExceededMemory
	case strings.EqualFold(outcome, "exceededCpu"), strings.EqualFold(outcome, "exceeded_cpu"):
		return ClassExceededCPU
	default:
		return ClassNone
	}
}

// excerpt is Cloudflare's own words in a text, verbatim and bounded.
func excerpt(t Text, h hit) string {
	s := t.Message
	if t.Source == TextException && h.start == 0 {
		return clip(s, maxQuote)
	}
	end := h.end
	if i := strings.IndexAny(s[end:min(len(s), end+120)], ".\n\""); i >= 0 && !strings.ContainsAny(s[end:end+i], "({=") {
		end += i
		if s[end] == '.' {
			end++
		}
	}
	return clip(s[h.start:end], maxQuote)
}

// lookAlikes are texts that read like a class and are none, with what they are.
//
//nolint:gochecknoglobals // a constant table
var lookAlikes = []struct{ part, why string }{
	{"d1 db", "the text is about a D1 database, which is Cloudflare's own object and cannot be profiled"},
	{"parser error: the memory limit", "HTMLRewriter's parser has its own memory limit; the isolate did not exceed its"},
	{"memory limit would be exceeded before eof", "a buffered read was refused; the isolate did not exceed its memory limit"},
	{"code was updated", "the object was reset by a deployment, which is no incident"},
	{"code has been updated", "the object was reset by a deployment, which is no incident"},
	{"exceeded resource limits", "the text does not say whether CPU or memory was exceeded"},
}

// lookAlike says why an event of no class reads like one; empty when it does not.
func lookAlike(e *Event, quoted bool) string {
	if quoted {
		return "the text only speaks of such an error"
	}
	for i := range e.Texts {
		m := e.Texts[i].Message
		if !anchored(m) && !strings.Contains(m, "emory limit") && !strings.Contains(m, "pdated") {
			continue
		}
		m = strings.ToLower(m)
		for _, l := range lookAlikes {
			if strings.Contains(m, l.part) {
				return l.why
			}
		}
	}
	return ""
}
