package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// InputKind is what bytes turned out to be when they are not a usable profile.
type InputKind string

// The kinds of bad input.
const (
	InputEmpty         InputKind = "empty_file"
	InputJSONError     InputKind = "json_error"
	InputJSON          InputKind = "json"
	InputCPUProfile    InputKind = "cpuprofile"
	InputHTML          InputKind = "html"
	InputText          InputKind = "text"
	InputTruncatedGzip InputKind = "truncated_gzip"
	InputCorruptGzip   InputKind = "corrupt_gzip"
	InputDoubleGzip    InputKind = "double_gzip"
	InputTooLarge      InputKind = "too_large"
	InputTooComplex    InputKind = "too_complex"
	InputNotPprof      InputKind = "not_pprof"
	InputMalformed     InputKind = "malformed"
	InputUnknownUnit   InputKind = "unknown_unit"
)

// InputError is one sentence that says what the bytes are and what to do.
// Its text never holds control characters of the input.
type InputError struct {
	Kind InputKind
	Text string
}

// Error is the sentence.
func (e *InputError) Error() string { return e.Text }

func inputErrorf(k InputKind, format string, args ...any) *InputError {
	return &InputError{Kind: k, Text: fmt.Sprintf(format, args...)}
}

func malformed(format string, args ...any) *InputError {
	return inputErrorf(InputMalformed, "the pprof file is damaged (%s); take the capture again", fmt.Sprintf(format, args...))
}

// sniff names inputs that are certainly no protobuf. A pprof message starts
// with a field tag: 0x0a (sample type) in every writer known, which is also a
// line feed, so text is only text when all of its beginning is.
func sniff(b []byte) *InputError {
	head := bytes.TrimSpace(b[:min(len(b), 4096)])
	lower := bytes.ToLower(head[:min(len(head), 256)])
	switch {
	case len(head) == 0:
		return inputErrorf(InputEmpty, "the file holds nothing but blanks; take the capture again")
	case head[0] == '{' || head[0] == '[':
		return sniffJSON(b, head)
	case bytes.HasPrefix(lower, []byte("<!doctype")), bytes.HasPrefix(lower, []byte("<html")),
		bytes.HasPrefix(lower, []byte("<head")), bytes.HasPrefix(lower, []byte("<?xml")):
		return inputErrorf(InputHTML, "this is a web page, not a profile; the answer came from a proxy or a login page: check the API address and the token")
	case printable(head):
		return inputErrorf(InputText, "this is text (%q), not a pprof file; give the bytes that the profiling API answered", excerpt(head))
	}
	return nil
}

func sniffJSON(b, head []byte) *InputError {
	if !printable(head) {
		return nil
	}
	if bytes.Contains(head, []byte(`"nodes"`)) && bytes.Contains(b[:min(len(b), 1<<16)], []byte(`"callFrame"`)) {
		return inputErrorf(InputCPUProfile, "this is a V8 .cpuprofile, not pprof; open it in DevTools, or take the capture through the API or --inspector, which write pprof")
	}
	var body struct {
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
		Error any `json:"error"`
	}
	if len(b) <= 1<<20 && json.Unmarshal(b, &body) == nil {
		if len(body.Errors) > 0 {
			return inputErrorf(InputJSONError, "this is an error answer of the API, not a profile: %s; take the capture again when its cause is gone", excerpt([]byte(body.Errors[0].Message)))
		}
		if body.Error != nil {
			return inputErrorf(InputJSONError, "this is an error answer, not a profile: %s; take the capture again when its cause is gone", excerpt(fmt.Append(nil, body.Error)))
		}
	}
	return inputErrorf(InputJSON, "this is JSON, not a pprof file; give the bytes that the profiling API answered")
}

func printable(b []byte) bool {
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		if c == utf8.RuneError && n == 1 {
			return len(b) < utf8.UTFMax // cut in the middle of a rune
		}
		if !unicode.IsPrint(c) && !unicode.IsSpace(c) {
			return false
		}
		b = b[n:]
	}
	return true
}

func excerpt(b []byte) string {
	s := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(string(b[:min(len(b), 400)]), "\uFFFD"))
	s = strings.Join(strings.Fields(s), " ")
	const most = 120
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	if s == "" {
		return "no message"
	}
	return s
}
