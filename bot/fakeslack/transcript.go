package fakeslack

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Transcript is the workspace as people would read it: each channel, its
// threads indented under their first message, the newest content of each
// message, what only one person sees marked as such.
func (w *Workspace) Transcript() string {
	w.init()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle(w.Now())
	var b strings.Builder
	for _, id := range w.channelIDs() {
		if len(w.messages[id]) > 0 {
			w.transcribe(&b, w.channels[id])
		}
	}
	return b.String()
}

func (w *Workspace) channelIDs() []string {
	ids := make([]string, 0, len(w.channels))
	for id := range w.channels {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int { return strings.Compare(w.channels[a].Name, w.channels[b].Name) })
	return ids
}

func (w *Workspace) transcribe(b *strings.Builder, c *Channel) {
	fmt.Fprintf(b, "#%s\n", c.Name)
	for _, t := range w.threads(c.ID) {
		b.WriteByte('\n')
		w.entry(b, t.root, "")
		for _, m := range t.replies {
			b.WriteString("    │\n")
			w.entry(b, m, "    │ ")
		}
	}
	b.WriteByte('\n')
}

// thread is a message of the channel and what was answered to it.
type thread struct {
	root    *Message
	replies []*Message
}

func (w *Workspace) threads(channel string) []*thread {
	var out []*thread
	at := map[string]*thread{}
	for _, m := range w.messages[channel] {
		switch t := at[m.ThreadTS]; {
		case m.Deleted && m.ThreadTS == "":
			// Its replies stay readable under a tombstone, as in Slack.
			t = &thread{root: &Message{TS: m.TS, User: m.User, At: m.At, Text: "(this message was deleted)"}}
			at[m.TS] = t
			out = append(out, t)
		case m.Deleted:
		case m.ThreadTS != "" && t != nil:
			t.replies = append(t.replies, m)
		default:
			t = &thread{root: m}
			at[m.TS] = t
			out = append(out, t)
		}
	}
	return slices.DeleteFunc(out, func(t *thread) bool { return t.root.Channel == "" && len(t.replies) == 0 })
}

func (w *Workspace) entry(b *strings.Builder, m *Message, indent string) {
	head := w.name(m.User) + "  " + m.At.UTC().Format(time.TimeOnly)
	if n := len(m.Edits); n > 0 {
		head += fmt.Sprintf("  (edited %d×)", n)
	}
	if m.Only != "" {
		head += "  (only " + w.name(m.Only) + " sees this)"
	}
	lines := []string{head}
	body := render(m.Blocks)
	if len(body) == 0 && m.Text != "" {
		body = strings.Split(unescape(m.Text), "\n")
	}
	for _, l := range body {
		lines = append(lines, "  "+l)
	}
	for _, id := range m.Files {
		f := w.files[id]
		lines = append(lines, fmt.Sprintf("  [%s: %s, %d bytes] %s", f.Type, f.Name, f.Length, f.Alt))
	}
	for _, r := range m.Reactions {
		lines = append(lines, "  :"+r+":")
	}
	for _, l := range lines {
		b.WriteString(strings.TrimRight(indent+l, " ") + "\n")
	}
}

func (w *Workspace) name(id string) string {
	if u := w.users[id]; u != nil {
		return u.Name
	}
	return id
}

// unescape shows markup as Slack would: escapes undone, links with their
// label, mentions with an @.
func unescape(s string) string {
	s = regexp.MustCompile(`<([^>|]*)\|([^>]*)>`).ReplaceAllString(s, "[$2]($1)")
	s = regexp.MustCompile(`<!(?:subteam\^)?([^>]*)>`).ReplaceAllString(s, "@$1")
	s = regexp.MustCompile(`<([@#])([^>]*)>`).ReplaceAllString(s, "$1$2")
	s = regexp.MustCompile(`<([^>]*)>`).ReplaceAllString(s, "$1")
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s)
}

// render shows blocks as lines of text.
func render(raw json.RawMessage) []string {
	var blocks []object
	if len(raw) == 0 || json.Unmarshal(raw, &blocks) != nil {
		return nil
	}
	var out []string
	for _, b := range blocks {
		out = append(out, lines(b)...)
	}
	return out
}

func lines(b object) []string {
	switch b["type"] {
	case "header":
		s := words(b["text"])
		return []string{s, strings.Repeat("=", min(utf8.RuneCountInString(s), 72))}
	case "section":
		var out []string
		if b["text"] != nil {
			out = strings.Split(words(b["text"]), "\n")
		}
		for _, f := range list(b["fields"]) {
			out = append(out, strings.Replace(strings.ReplaceAll(words(f), "*", ""), "\n", ": ", 1))
		}
		if b["accessory"] != nil {
			out = append(out, control(b["accessory"]))
		}
		return out
	case "context":
		var parts []string
		for _, e := range list(b["elements"]) {
			parts = append(parts, words(e))
		}
		return []string{"~ " + strings.Join(parts, " · ")}
	case "actions":
		var parts []string
		for _, e := range list(b["elements"]) {
			parts = append(parts, control(e))
		}
		return []string{strings.Join(parts, " ")}
	case "table":
		return grid(b)
	case "rich_text":
		var out []string
		for _, e := range list(b["elements"]) {
			out = append(out, rich(e)...)
		}
		return out
	case "divider":
		return []string{"---"}
	case "image":
		s, _ := b["alt_text"].(string)
		return []string{"[image] " + s}
	case "input":
		return []string{words(b["label"]) + ": " + control(b["element"])}
	}
	return nil
}

// words is the text of a text object as people see it.
func words(v any) string {
	o, _ := v.(object)
	s, _ := o["text"].(string)
	if o["type"] == "mrkdwn" {
		return unescape(s)
	}
	return s
}

func control(v any) string {
	o, _ := v.(object)
	switch o["type"] {
	case "button":
		if u, _ := o["url"].(string); u != "" {
			return "[" + words(o["text"]) + " ↗]"
		}
		return "[" + words(o["text"]) + "]"
	case "static_select", "external_select", "overflow":
		var opts []string
		for _, e := range list(o["options"]) {
			m, _ := e.(object)
			opts = append(opts, words(m["text"]))
		}
		return "[" + words(o["placeholder"]) + " ▾ " + strings.Join(opts, " | ") + "]"
	case "plain_text_input":
		s, _ := o["initial_value"].(string)
		return "[" + s + "____]"
	}
	return ""
}

func rich(v any) []string {
	o, _ := v.(object)
	switch o["type"] {
	case "rich_text_list":
		var out []string
		for _, e := range list(o["elements"]) {
			out = append(out, prefixed(rich(e), "• ", "  ")...)
		}
		return out
	case "rich_text_quote":
		return prefixed(strings.Split(runs(o), "\n"), "> ", "> ")
	case "rich_text_preformatted":
		return prefixed(strings.Split(runs(o), "\n"), "| ", "| ")
	}
	return strings.Split(runs(o), "\n")
}

func prefixed(ls []string, first, rest string) []string {
	for i := range ls {
		if i == 0 {
			ls[i] = first + ls[i]
		} else {
			ls[i] = rest + ls[i]
		}
	}
	return ls
}

func runs(o object) string {
	var b strings.Builder
	for _, e := range list(o["elements"]) {
		m, _ := e.(object)
		switch m["type"] {
		case "text":
			s, _ := m["text"].(string)
			b.WriteString(s)
		case "user":
			fmt.Fprintf(&b, "@%v", m["user_id"])
		case "usergroup":
			fmt.Fprintf(&b, "@%v", m["usergroup_id"])
		case "broadcast":
			fmt.Fprintf(&b, "@%v", m["range"])
		case "link":
			fmt.Fprintf(&b, "%v", m["url"])
		case "emoji":
			fmt.Fprintf(&b, ":%v:", m["name"])
		}
	}
	return b.String()
}

// grid aligns a table's columns as its settings say.
func grid(b object) []string {
	var rows [][]string
	var width []int
	for _, r := range list(b["rows"]) {
		var row []string
		for i, c := range list(r) {
			o, _ := c.(object)
			s, _ := o["text"].(string)
			if o["type"] == "rich_text" {
				s = runs(o)
			}
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(s))
			row = append(row, s)
		}
		rows = append(rows, row)
	}
	settings := list(b["column_settings"])
	out := make([]string, len(rows))
	for n, r := range rows {
		var line []string
		for i, s := range r {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(s))
			if i < len(settings) && settings[i].(object)["align"] == "right" {
				line = append(line, pad+s)
			} else {
				line = append(line, s+pad)
			}
		}
		out[n] = strings.TrimRight("| "+strings.Join(line, "  "), " ")
	}
	return out
}
