package flame

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName bounds a name in every picture and page, in runes. V8 names regular
// expressions and computed methods by their text, which may be anything.
const maxName = 200

// clean makes untrusted text fit to be shown: one line, valid UTF-8, nothing
// invisible and nothing that reorders its surroundings. What is taken out
// leaves U+FFFD, so that two different names stay different to the eye.
func clean(s string, limit int) string {
	if plain(s, limit) {
		return s
	}
	var b strings.Builder
	n, marks := 0, 0
	for len(s) > 0 {
		if n == limit-1 && utf8.RuneCountInString(s[:min(len(s), 8)]) > 1 {
			b.WriteRune('…')
			break
		}
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		if !unicode.Is(unicode.Mn, r) {
			marks = 0
		} else if marks++; marks > 2 {
			continue // a pile of accents would cover the rows above
		}
		switch {
		case r == utf8.RuneError, hidden(r):
			r = utf8.RuneError
		case unicode.IsSpace(r):
			r = ' '
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// plain is the common case: short printable ASCII.
func plain(s string, limit int) bool {
	if len(s) > limit {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// hidden tells runes that show nothing or change how their neighbours show:
// controls, formats (zero-width, direction marks and overrides, tags), private
// use, surrogates, separators, fillers and variation selectors.
func hidden(r rune) bool {
	if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Variation_Selector) {
		return true
	}
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0:
		return true
	}
	return false
}

// nameOf is what a frame is called in a picture.
func nameOf(name string) string {
	if name = clean(name, maxName); strings.TrimSpace(name) == "" {
		return anonymous
	}
	return name
}

// place is where a function is defined, short: the last two parts of its path
// and the line. Empty when the file is unknown.
func place(file string, line int64) string {
	if file == "" {
		return ""
	}
	if len(file) > 4096 {
		file = file[len(file)-4096:]
	}
	if i := strings.Index(file, "://"); i >= 0 {
		file = file[i+3:]
	}
	file = strings.TrimLeft(file, "/")
	if parts := strings.Split(file, "/"); len(parts) > 2 {
		file = strings.Join(parts[len(parts)-2:], "/")
	}
	file = clean(file, 80)
	if line > 0 {
		file += ":" + strconv.FormatInt(line, 10)
	}
	return file
}
