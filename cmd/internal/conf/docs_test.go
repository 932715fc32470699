package conf

import (
	"fmt"
	"reflect"
	"strings"
)

// Documentation is deploy/CONFIGURATION.md: the tables of keys as they stand in
// the struct, with the prose that they need.
func Documentation() string {
	var b strings.Builder
	b.WriteString(docsHead)
	b.WriteString("| key | default | environment | meaning |\n| --- | --- | --- | --- |\n")
	for _, f := range Fields() {
		env := "`" + strings.Join(f.Env, "`, `") + "`"
		if f.File {
			env += " (and `…_FILE`)"
		}
		doc := f.Doc
		if f.Hot {
			doc += " ↻"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Key, code(f.Default), env, cell(doc))
	}
	section(&b, "rules[]", "A rule. The first one that matches decides; an empty list means the built-in rules, one per class.", reflect.TypeFor[Rule]())
	section(&b, "rules[].match", "What an event must be. Every key that is set must match.", reflect.TypeFor[Match]())
	section(&b, "slack.routes[]", "Another channel. The first one that matches decides; a rule's own channel comes before it.", reflect.TypeFor[Route]())
	b.WriteString(docsTail)
	return b.String()
}

func section(b *strings.Builder, name, text string, t reflect.Type) {
	fmt.Fprintf(b, "\n## `%s`\n\n%s\n\n| key | meaning |\n| --- | --- |\n", name, text)
	for sf := range t.Fields() {
		if n := yamlName(sf); n != "" && !isSection(sf.Type) {
			fmt.Fprintf(b, "| `%s` | %s |\n", n, cell(sf.Tag.Get("doc")))
		}
	}
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

const docsHead = `# Configuration

Defaults, then the YAML file (` + "`--config FILE`, or `./snapflame.yaml`" + ` when it is there), then the environment, which wins.
` + "`snapflame config check`" + ` tells every mistake with its place and fix; ` + "`snapflame config show`" + ` prints the merged result.

- Lists are comma-separated in the environment; ` + "`rules` and `slack.routes`" + ` are written there as YAML.
- A secret is better kept in a file: ` + "`SLACK_BOT_TOKEN_FILE=/run/secrets/slack`" + `.
- Durations have units (` + "`10s`, `5m`, `2h`, `30d`" + `), sizes too (` + "`64MiB`, `10GB`" + `).
- An empty variable counts as not set.
- ↻ marks what SIGHUP reloads. A bad file is refused and the old configuration kept.

`

const docsTail = `
## Example

` + "```yaml" + `
public_url: https://snapflame.example.com
slack:
  channel: C0123ABCD
  routes:
    - {class: exceeded_memory, environment: production, channel: C0456EFGH, mention: S0789ONCALL}
baseline:
  objects: [room-api/RoomObject]
rules:
  - name: quiet-staging
    match: {environment: staging}
    ignore: true
  - name: rooms
    match: {class: overloaded, script: "room-*", count: 5, window: 1m}
    profile: cpu
    duration: 20s
    repeat: 2
  - name: everything else
` + "```" + `
`
