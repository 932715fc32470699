package triggers

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// phrase is one of Cloudflare's error texts, as far as it is fixed. Matching
// folds case, white space and apostrophes, and takes a text that was cut off
// once enough of it stands there to be no other (least).
type phrase struct {
	text  string // lower case, single spaces
	least int    // bytes of text that are enough when the message ends there
	class Class
	sub   Subclass
	// generic phrases begin with a word that is also everybody else's.
	generic bool
}

func cut(text, least string, class Class, sub Subclass) phrase {
	return phrase{text: text, least: len(least), class: class, sub: sub, generic: strings.HasPrefix(text, "worker")}
}

// phrases are the texts that name a class. The first that matches at a place
// wins. Sources: Durable Objects troubleshooting; workerd actor-cache.c++ and
// io-context.h; the Workers limits page.
//
//nolint:gochecknoglobals // a constant table
var phrases = []phrase{
	cut("durable object is overloaded", "durable object is overload", ClassOverloaded, ""),
	cut("durable object's isolate exceeded its memory limit", "durable object's isolate exceeded its mem", ClassExceededMemory, ""),
	cut("durable object exceeded its memory limit", "durable object exceeded its mem", ClassExceededMemory, ""),
	cut("worker exceeded memory limit", "worker exceeded mem", ClassExceededMemory, ""),
	cut("worker exceeded its memory limit", "worker exceeded its mem", ClassExceededMemory, ""),
	cut("worker has exceeded memory limit", "worker has exceeded mem", ClassExceededMemory, ""),
	cut("worker has exceeded its memory limit", "worker has exceeded its mem", ClassExceededMemory, ""),
	cut("durable object exceeded its cpu time limit", "durable object exceeded its cpu", ClassExceededCPU, ""),
	cut("durable object's isolate exceeded its cpu time limit", "durable object's isolate exceeded its cpu", ClassExceededCPU, ""),
	cut("worker exceeded cpu time limit", "worker exceeded cpu", ClassExceededCPU, ""),
	cut("worker exceeded its cpu time limit", "worker exceeded its cpu", ClassExceededCPU, ""),
	cut("worker has exceeded cpu time limit", "worker has exceeded cpu", ClassExceededCPU, ""),
	cut("worker has exceeded its cpu time limit", "worker has exceeded its cpu", ClassExceededCPU, ""),
	cut("your account is generating too much load on durable objects", "your account is generating too much load", ClassAccountOverloaded, ""),
	cut("your account is doing too many concurrent storage operations", "your account is doing too many concurrent", ClassAccountOverloaded, ""),
}

// overloads follow "Durable Object is overloaded" and tell the subclasses apart.
//
//nolint:gochecknoglobals // a constant table
var overloads = []phrase{
	cut("too many requests queued", "too many requests q", ClassOverloaded, SubclassRequestsQueued),
	cut("too much data queued", "too much d", ClassOverloaded, SubclassDataQueued),
	cut("requests queued for too long", "requests q", ClassOverloaded, SubclassQueuedTooLong),
	cut("too many requests for the same object within a 10 second window", "too many requests f", ClassOverloaded, SubclassTooManyInWindow),
}

// anchors are what every phrase has one of. They let most texts, and most whole
// messages, be passed over without a closer look, so a text whose anchor is
// spelt in another case (ExCeEdEd) is nobody's.
//
//nolint:gochecknoglobals // a constant table
var anchors = []string{"xceed", "verload", "XCEED", "VERLOAD", "our account"}

// match says how far s matches the phrase from i on, and whether enough of it does.
func (p *phrase) match(s string, i int) (end int, ok bool) {
	for n := 0; n < len(p.text); {
		if i >= len(s) || isCut(s[i:]) {
			return i, n >= p.least
		}
		switch c := p.text[n]; c {
		case ' ':
			to := skipSpace(s, i)
			if to == i {
				return i, false
			}
			i = to
		case '\'':
			i += apostrophe(s[i:])
		default:
			if lower(s[i]) != c {
				return i, false
			}
			i++
		}
		n++
	}
	return i, true
}

// isCut says whether s begins with a mark that the text was cut off here.
func isCut(s string) bool {
	return s[0] == '.' && strings.HasPrefix(s, "...") || s[0] == 0xe2 && strings.HasPrefix(s, "…") || s[0] == '<' && strings.HasPrefix(s, "<<<")
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// skipSpace skips white space from i on, the no-break space too.
func skipSpace(s string, i int) int {
	for i < len(s) {
		switch {
		case s[i] == ' ' || s[i] >= '\t' && s[i] <= '\r':
			i++
		case strings.HasPrefix(s[i:], "\u00a0"):
			i += 2
		default:
			return i
		}
	}
	return i
}

// apostrophe is the length of the apostrophe that s begins with, however it was
// set or escaped; 0 when it was left out.
func apostrophe(s string) int {
	for _, a := range []string{"'", "’", "‘", "ʼ", "′", "´", "`", "&#39;", "&#x27;", "&apos;", "&rsquo;", `\'`, `\u2019`, `\u0027`} {
		if strings.HasPrefix(s, a) {
			return len(a)
		}
	}
	return 0
}

// hit is a phrase found in a text.
type hit struct {
	class      Class
	sub        Subclass
	start, end int
	quoted     bool // the text only speaks of it
}

// find looks for a phrase in s that is meant; when there is none, for one that
// is only spoken of.
func find(s string) (h hit, ok bool) {
	for _, b := range &beginnings {
		for from := 0; ; {
			n := strings.Index(s[from:], b)
			if n < 0 {
				break
			}
			i := from + n - 1 // the letter before, which both cases have
			from += n + len(b)
			one, found := findAt(s, i)
			if !found || !anchored(s) {
				continue
			}
			if !one.quoted {
				return one, true
			}
			h, ok = one, true
		}
	}
	return h, ok
}

// findAt matches the phrases at i.
func findAt(s string, i int) (hit, bool) {
	if i < 0 || i > 0 && (isWord(s[i-1]) || s[i-1] == '_') {
		return hit{}, false
	}
	for k := range phrases {
		p := &phrases[k]
		end, matched := p.match(s, i)
		if !matched {
			continue
		}
		h := hit{class: p.class, start: i, end: end}
		if p.class == ClassOverloaded {
			h.sub, h.end = subclass(s, end)
		}
		h.quoted = !meant(s, h, p.generic)
		return h, true
	}
	return hit{}, false
}

// beginnings are the phrases' first words without their first letter.
//
//nolint:gochecknoglobals // a constant table
var beginnings = [...]string{"urable", "orker", "our account", "URABLE", "ORKER"}

func anchored(s string) bool {
	for _, a := range anchors {
		if strings.Contains(s, a) {
			return true
		}
	}
	return false
}

// subclass reads what follows "Durable Object is overloaded" at i.
func subclass(s string, i int) (Subclass, int) {
	j := i
	for j < len(s) && (strings.IndexByte(" .:;,!-\t\r\n\"'", s[j]) >= 0) && !isCut(s[j:]) {
		j++
	}
	for k := range overloads {
		p := &overloads[k]
		if end, ok := p.match(s, j); ok && end > j {
			return p.sub, end
		}
	}
	return "", i
}

// Words that make a sentence speak of an error instead of reporting one.
//
//nolint:gochecknoglobals // constant tables
var (
	hypothetical = strings.Fields("if when whenever unless should may might could would docs documentation example e.g. eg means meaning runbook handle handles handling treat retry-on like says say said expect expects expected simulate simulated simulating test tests mock about called containing contains matches match alert-on not never avoid avoids prevent prevents")
	doubtful     = strings.Fields("docs documentation example runbook says say said e.g expected test")
	speaking     = strings.Fields("means mean errors exceptions messages usually may should must happens appears occurs texts strings")
	beforeWorker = strings.Fields("the your this a an my our cloudflare error exception uncaught that because since as and then but is was code status")
)

// maxProse is how many words may stand before a phrase in the same sentence
// for it to be that sentence's subject.
const maxProse = 16

// meant says whether the text reports the error at h, or only speaks of it: a
// log line that quotes the documentation is no incident.
func meant(s string, h hit, generic bool) bool {
	after := strings.TrimLeft(s[h.end:min(len(s), h.end+80)], "\"'`”’. ")
	if word, _, _ := strings.Cut(after, " "); slices.Contains(speaking, strings.ToLower(strings.Trim(word, ".,;:!"))) {
		return false
	}
	before := s[max(0, h.start-240):h.start]
	if i := strings.LastIndexByte(before, '\n'); i >= 0 {
		before = before[i+1:]
	}
	before = strings.TrimRight(before, " \t\"'`“”‘’\\«»*")
	if before == "" {
		return true
	}
	last, _ := utf8.DecodeLastRuneInString(before)
	if strings.ContainsRune(":=([{<>|-–—,;.!?/}])#", last) {
		words := strings.Fields(strings.ToLower(strings.TrimRight(before, ":=([{<>|-–—,;.!?/ ")))
		return len(words) == 0 || !slices.Contains(doubtful, strings.Trim(words[len(words)-1], `"'(`))
	}
	if i := strings.LastIndexAny(before, ":;!?"); i >= 0 {
		before = before[i+1:]
	}
	words := strings.Fields(strings.ToLower(before))
	if len(words) > maxProse {
		return false
	}
	for _, w := range words {
		if slices.Contains(hypothetical, strings.Trim(w, `"'(),`)) {
			return false
		}
	}
	if !generic || len(words) == 0 {
		return true
	}
	w := strings.Trim(words[len(words)-1], `"'(),`)
	return slices.Contains(beforeWorker, w) || w != "" && isDigit(w[0])
}
