package main

import (
	"strings"
	"testing"

	"github.com/snapflame/snapflame/triggers"
)

func TestEachValue(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"nothing", " \n", ""},
		{"one", `{"a":1}`, `{"a":1}`},
		{"ndjson", "{\"a\":1}\r\n\r\n{\"b\":2}\n", `{"a":1}|{"b":2}`},
		{"array", `[ {"a":1}, {"b":[1,{"c":"]}"}]} ]`, `{"a":1}|{"b":[1,{"c":"]}"}]}`},
		{"two arrays", "[{\"a\":1}]\n[{\"b\":2}]", `{"a":1}|{"b":2}`},
		{"pretty", "{\n  \"a\": 1\n}\n{\n  \"b\": 2\n}", "{\n  \"a\": 1\n}|{\n  \"b\": 2\n}"},
		{"no line between", `{"a":1}{"b":2}`, `{"a":1}|{"b":2}`},
		{"escapes", `{"a":"\"}\\"}{"b":2}`, `{"a":"\"}\\"}|{"b":2}`},
		{"bare words", "1\nnull\n[2, \"x,y\"]", `1|null|2|"x,y"`},
		{"a bad line between good ones", "{\"a\":1}\noops, not json\n{\"b\":2}", `{"a":1}|oops, not json|{"b":2}`},
		{"an open bracket takes the rest", "{\"a\":1}\n{\"x\":\n{\"b\":2}\n", "{\"a\":1}|{\"x\":\n{\"b\":2}"},
		{"stray close", "}\n{\"a\":1}", `}|{"a":1}`},
	} {
		var got []string
		if err := eachValue(strings.NewReader(tc.in), func(raw []byte) error {
			got = append(got, string(raw))
			return nil
		}); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if g := strings.Join(got, "|"); g != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, g, tc.want)
		}
	}
}

func TestEachValueIsBounded(t *testing.T) {
	endless := strings.NewReader(`{"a":"` + strings.Repeat("x", triggers.MaxMessage+1000))
	err := eachValue(endless, func([]byte) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "longer than 16 MiB") {
		t.Errorf("a value without end: %v", err)
	}
}
