package main

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable makes untrusted text inert in a terminal: control characters
// (escape sequences), direction overrides and invalid bytes become visible.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return '�'
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}

// clip shortens s to n characters with an ellipsis at the end.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// clipLeft keeps the end of s, as the end of a path says most.
func clipLeft(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return "…" + string(r[len(r)-n+1:])
}
