package conf

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
)

// Show prints every key as YAML that could be loaded again, secrets redacted,
// each line with the full key and where its value came from.
func (c *Config) Show(w io.Writer) error {
	var b strings.Builder
	section := ""
	for _, f := range fieldsOf(c) {
		name, indent := f.Key, ""
		if head, rest, nested := strings.Cut(f.Key, "."); nested {
			if head != section {
				fmt.Fprintf(&b, "%s:\n", head)
				section = head
			}
			name, indent = rest, "  "
		}
		fmt.Fprintf(&b, "%s%s: %s  # %s: %s\n", indent, name, c.shown(f), f.Key, c.origin(f))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Config) shown(f Field) string {
	if f.List {
		return flow(f.value)
	}
	text := formatValue(f.value)
	if f.Key == "slack.mode" {
		text = c.SlackMode()
	}
	return quoteYAML(f.value, text)
}

// origin says where a value is from: a file and line, a variable, the default.
func (c *Config) origin(f Field) string {
	if s := c.sources[f.Key]; s != "" {
		return s
	}
	switch {
	case f.Key == "slack.mode":
		return "follows from slack.app_token"
	case f.List && f.Key == "rules":
		return "default, the built-in rules"
	case f.Default == "":
		return "not set, " + f.Env[len(f.Env)-1]
	default:
		return "default"
	}
}

// flow writes a list of sections in one line of YAML.
func flow(v reflect.Value) string {
	items := make([]string, v.Len())
	for i := range items {
		items[i] = flowSection(v.Index(i))
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func flowSection(v reflect.Value) string {
	var parts []string
	for i := range v.NumField() {
		name, f := yamlName(v.Type().Field(i)), v.Field(i)
		if name == "" || f.IsZero() {
			continue
		}
		if isSection(f.Type()) {
			parts = append(parts, name+": "+flowSection(f))
			continue
		}
		parts = append(parts, name+": "+quoteYAML(f, formatValue(f)))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// quoteYAML writes a value so that it reads back as the same, and that nothing
// in it can end the line.
func quoteYAML(v reflect.Value, text string) string {
	if k := v.Kind(); k == reflect.Bool || k == reflect.Int {
		return text
	}
	if plain(text) {
		return text
	}
	out, err := yaml.MarshalWithOptions(text, yaml.JSON())
	if err != nil {
		return fmt.Sprintf("%q", text)
	}
	return strings.TrimSpace(string(out))
}

func plain(s string) bool {
	if s == "" {
		return false
	}
	for i, r := range s {
		ok := r == '_' || r == '.' || r == '/' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		ok = ok || i > 0 && (r == '-' || r == ':' && i < len(s)-1 || r >= '0' && r <= '9' || r == '>')
		ok = ok || i == 0 && r >= '0' && r <= '9' && strings.ContainsAny(s, "hmsdBKMG.:")
		if !ok {
			return false
		}
	}
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "~":
		return false
	}
	return true
}
