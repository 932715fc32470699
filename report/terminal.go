package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// terminal writes lines of bounded width. Everything that comes from a profile
// goes through visible: a function may be named after an escape sequence.
type terminal struct {
	w     io.Writer
	width int
	color bool
	err   error
}

// Colours of kinds, from the 16 that every terminal has and its owner chose.
const (
	ansiReset = "\x1b[0m"
	ansiBold  = "\x1b[1m"
	ansiDim   = "\x1b[2m"
	ansiRed   = "\x1b[31m"
	ansiBlue  = "\x1b[34m"
)

func kindColor(k Kind) string {
	switch k {
	case KindApp:
		return "\x1b[33m"
	case KindDependency:
		return ansiBlue
	case KindRuntime:
		return "\x1b[35m"
	case KindGC:
		return ansiRed
	case KindWasm:
		return "\x1b[36m"
	default:
		return "\x1b[32m"
	}
}

func newTerminal(w io.Writer, width int, color bool) *terminal {
	const least, most = 70, 200
	if width <= 0 {
		width = 80
	}
	return &terminal{w: w, width: min(max(width, least), most), color: color}
}

func (t *terminal) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

func (t *terminal) paint(code, s string) string {
	if !t.color || s == "" {
		return s
	}
	return code + s + ansiReset
}

// wrap writes a sentence after an indent, broken at blanks, but never between
// a number and its per cent sign.
func (t *terminal) wrap(first, indent, s string) {
	line, used := first, columns(first)
	begun := false
	for word := range strings.FieldsSeq(strings.ReplaceAll(s, " %", "\x00%")) {
		word = strings.ReplaceAll(word, "\x00", " ")
		n := columns(word)
		if begun && used+1+n > t.width {
			t.printf("%s\n", line)
			line, used, begun = indent, columns(indent), false
		}
		if begun {
			line += " "
			used++
		}
		line += word
		used += n
		begun = true
	}
	t.printf("%s\n", line)
}

// visible replaces what a terminal would obey or hide, also the marks that
// turn the direction of text.
func visible(s string) string {
	return strings.Map(func(c rune) rune {
		if c == ' ' || unicode.IsPrint(c) {
			return c
		}
		return '\uFFFD'
	}, s)
}

// columns is how wide a text stands in a terminal.
func columns(s string) int {
	n := 0
	for _, c := range s {
		n += runeColumns(c)
	}
	return n
}

func runeColumns(c rune) int {
	switch {
	case unicode.Is(unicode.Mn, c) || unicode.Is(unicode.Me, c):
		return 0
	case c >= 0x1100 && c <= 0x115f, c >= 0x2e80 && c <= 0xa4cf, c >= 0xac00 && c <= 0xd7a3,
		c >= 0xf900 && c <= 0xfaff, c >= 0xfe30 && c <= 0xfe6f, c >= 0xff00 && c <= 0xff60,
		c >= 0x1f300 && c <= 0x1faff, c >= 0x20000 && c <= 0x3fffd:
		return 2
	default:
		return 1
	}
}

// fit cuts or fills a text to exactly so many columns.
func fit(s string, width int) string {
	if n := columns(s); n <= width {
		return s + strings.Repeat(" ", width-n)
	}
	used := 0
	for i, c := range s {
		if used+runeColumns(c) > width-1 {
			return s[:i] + "…" + strings.Repeat(" ", width-1-used)
		}
		used += runeColumns(c)
	}
	return s
}

// fitEnd keeps the end of a path, which says more than its beginning.
func fitEnd(s string, width int) string {
	if columns(s) <= width {
		return s
	}
	r := []rune(s)
	used, i := 1, len(r)
	for i > 0 && used+runeColumns(r[i-1]) <= width {
		i--
		used += runeColumns(r[i])
	}
	return "…" + string(r[i:])
}

// bar draws a part of a width in eighths of a column.
func bar(part float64, width int) string {
	eighths := int(part*float64(width)*8 + 0.5)
	eighths = max(0, min(eighths, 8*width))
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return s
}
