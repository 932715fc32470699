package bot

import (
	"strings"
	"unicode"
)

// split cuts text into words. Quotes of any kind hold words together, also the
// typographic ones that phones make of them; Slack's own <link|text> is undone.
func split(text string) []word {
	var words []word
	rs := []rune(text)
	for i := 0; i < len(rs); {
		if unicode.IsSpace(rs[i]) || unicode.IsControl(rs[i]) {
			i++
			continue
		}
		w, next := one(rs, i)
		if w.text != "" || w.quoted {
			words = append(words, w)
		}
		i = next
	}
	return words
}

// one reads a word from i on. A quote inside a word (version="x y") counts too.
func one(rs []rune, i int) (w word, next int) {
	var b strings.Builder
	first := i
	for i < len(rs) && !unicode.IsSpace(rs[i]) && !unicode.IsControl(rs[i]) {
		end := closing(rs[i])
		if end == "" || (i > first && rs[i-1] != '=' && rs[i-1] != ':') {
			b.WriteRune(rs[i])
			i++
			continue
		}
		body, after, ok := quotedBody(rs, i+1, end)
		if !ok { // a quote that nobody closes is a character like any other
			b.WriteRune(rs[i])
			i++
			continue
		}
		w.quoted = w.quoted || i == first
		b.WriteString(body)
		i = after
	}
	w.text = b.String()
	if !w.quoted {
		w.text = unlink(w.text)
	}
	return w, i
}

func closing(open rune) string {
	switch open {
	case '"':
		return `"`
	case '“', '”': // a phone may begin with either and end with a plain one
		return `"“”`
	case '\'':
		return "'"
	case '‘', '’':
		return "'‘’"
	case '`':
		return "`"
	}
	return ""
}

func quotedBody(rs []rune, i int, end string) (body string, next int, ok bool) {
	var b strings.Builder
	for ; i < len(rs); i++ {
		switch {
		case rs[i] == '\\' && i+1 < len(rs) && (rs[i+1] == '\\' || strings.ContainsRune(end, rs[i+1])):
			i++
			b.WriteRune(rs[i])
		case strings.ContainsRune(end, rs[i]):
			return b.String(), i + 1, true
		default:
			b.WriteRune(rs[i])
		}
	}
	return "", i, false
}

// unlink undoes what Slack makes of words that look like addresses:
// "<http://checkout.dev|checkout.dev>" was typed as "checkout.dev".
func unlink(s string) string {
	inner, ok := strings.CutPrefix(s, "<")
	if !ok || !strings.HasSuffix(inner, ">") {
		return s
	}
	inner = strings.TrimSuffix(inner, ">")
	if address, label, ok := strings.Cut(inner, "|"); ok {
		_ = address
		return label
	}
	return strings.TrimPrefix(strings.TrimPrefix(inner, "https://"), "http://")
}
