package fakeslack

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"regexp"
	"strings"
	"time"
)

//go:embed page.html
var pageHTML string

// shownMessage is a message as the page's template takes it.
type shownMessage struct {
	Message
	Name, Time, OnlyName string
	Shown                []object // blocks
	Pictures             []picture
	Replies              []shownMessage
}

type picture struct{ ID, Name, Title, Alt, Type string }

// page serves the workspace to people: /, /channel/{id}, /files/{id}, and the
// buttons, which act as the person of the "as" parameter.
func (w *Workspace) page(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Security-Policy", "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'")
	rw.Header().Set("X-Content-Type-Options", "nosniff")
	dir, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case dir == "files":
		w.download(rw, r, id)
	case dir == "click" && r.Method == http.MethodPost:
		w.clicked(rw, r)
	case dir == "say" && r.Method == http.MethodPost:
		w.said(rw, r)
	case dir == "channel" || dir == "":
		w.show(rw, r, id)
	default:
		http.NotFound(rw, r)
	}
}

func (w *Workspace) download(rw http.ResponseWriter, r *http.Request, id string) {
	f, ok := w.File(id)
	kinds := map[string]string{"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif"}
	if !ok || !f.Done {
		http.NotFound(rw, r)
		return
	}
	kind := kinds[f.Type]
	if kind == "" {
		kind = "application/octet-stream"
		rw.Header().Set("Content-Disposition", "attachment")
	}
	rw.Header().Set("Content-Type", kind)
	if _, err := rw.Write(f.Data); err != nil {
		return // the reader went away
	}
}

func (w *Workspace) show(rw http.ResponseWriter, r *http.Request, id string) {
	w.mu.Lock()
	w.settle(w.Now())
	ids := w.channelIDs()
	if id == "" && len(ids) > 0 {
		id = ids[0]
		for _, c := range ids { // the first with something to read
			if len(w.messages[c]) > 0 {
				id = c
				break
			}
		}
	}
	c := w.channels[id]
	if c == nil {
		w.mu.Unlock()
		http.NotFound(rw, r)
		return
	}
	data := struct {
		Channels []*Channel
		Channel  Channel
		Messages []shownMessage
	}{Channel: *c}
	for _, i := range ids {
		copied := *w.channels[i]
		data.Channels = append(data.Channels, &copied)
	}
	for _, t := range w.threads(id) {
		m := w.present(t.root)
		for _, reply := range t.replies {
			m.Replies = append(m.Replies, w.present(reply))
		}
		data.Messages = append(data.Messages, m)
	}
	w.mu.Unlock()
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	t, err := template.New("page").Funcs(template.FuncMap{
		"markup": markupHTML, "emoji": emoji, "plain": func(v any) string { return emoji(words(v)) },
		"rows": list, "align": alignment, "pair": func(m shownMessage, v any) object { return object{"M": m, "E": v} },
	}).Parse(pageHTML)
	if err == nil {
		err = t.Execute(rw, data)
	}
	if err != nil {
		w.violate("draw the page: %v", err)
	}
}

func (w *Workspace) present(m *Message) shownMessage {
	s := shownMessage{Message: *m, Name: w.name(m.User), Time: m.At.UTC().Format(time.TimeOnly)}
	if m.Only != "" {
		s.OnlyName = w.name(m.Only)
	}
	if len(m.Blocks) > 0 && json.Unmarshal(m.Blocks, &s.Shown) != nil {
		s.Shown = nil
	}
	for _, id := range m.Files {
		f := w.files[id]
		s.Pictures = append(s.Pictures, picture{f.ID, f.Name, f.Title, f.Alt, f.Type})
	}
	return s
}

func alignment(settings any, i int) string {
	l := list(settings)
	if i >= len(l) {
		return "left"
	}
	o, _ := l[i].(object)
	if o["align"] == "right" {
		return "right"
	}
	return "left"
}

// markupHTML shows Slack's markup. Everything in it is escaped; the tags are
// written here.
func markupHTML(v any) template.HTML {
	o, _ := v.(object)
	s, ok := v.(string)
	if !ok {
		s, _ = o["text"].(string)
		if o["type"] == "plain_text" {
			return template.HTML(strings.ReplaceAll(html.EscapeString(emoji(s)), "\n", "<br>"))
		}
	}
	var b strings.Builder
	rest := s
	for {
		i := strings.IndexByte(rest, '<')
		j := strings.IndexByte(rest[max(i, 0):], '>')
		if i < 0 || j < 0 {
			b.WriteString(spans(rest))
			break
		}
		b.WriteString(spans(rest[:i]))
		b.WriteString(live(rest[i+1 : i+j]))
		rest = rest[i+j+1:]
	}
	return template.HTML(b.String())
}

func live(tag string) string {
	target, label, named := strings.Cut(tag, "|")
	if !named {
		label = target
	}
	label = html.EscapeString(html.UnescapeString(label))
	if strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") {
		return `<a rel="noreferrer" href="` + html.EscapeString(html.UnescapeString(target)) + `">` + label + `</a>`
	}
	return `<b class="mention">@` + strings.TrimLeft(label, "!@#") + `</b>`
}

func spans(s string) string {
	s = html.EscapeString(html.UnescapeString(s))
	s = regexp.MustCompile("(?s)```\n?(.*?)```").ReplaceAllString(s, "<pre>$1</pre>")
	s = regexp.MustCompile("`([^`\n]+)`").ReplaceAllString(s, "<code>$1</code>")
	s = regexp.MustCompile(`(^|\s)\*([^*\n]+)\*`).ReplaceAllString(s, "$1<b>$2</b>")
	return strings.ReplaceAll(emoji(s), "\n", "<br>")
}

// emoji draws the few emoji that a bot about incidents uses.
func emoji(s string) string {
	return strings.NewReplacer(
		":fire:", "🔥", ":hourglass_flowing_sand:", "⏳", ":x:", "❌", ":white_check_mark:", "✅", ":warning:", "⚠️", ":mag:", "🔍", ":bell:", "🔔",
		":no_bell:", "🔕", ":boom:", "💥", ":rotating_light:", "🚨", ":brain:", "🧠", ":bar_chart:", "📊", ":large_green_circle:", "🟢", ":red_circle:", "🔴",
		":large_yellow_circle:", "🟡", ":large_orange_circle:", "🟠", ":white_circle:", "⚪", ":information_source:", "ℹ️", ":stopwatch:", "⏱️", ":broom:", "🧹", ":scales:", "⚖️",
		":arrow_forward:", "▶️", ":double_vertical_bar:", "⏸️", ":satellite_antenna:", "📡", ":scroll:", "📜", ":left_right_arrow:", "↔️", ":no_entry_sign:", "🚫",
		":grey_question:", "❔", ":card_index:", "📇", ":books:", "📚", ":package:", "📦", ":floppy_disk:", "💾",
	).Replace(s)
}

func (w *Workspace) clicked(rw http.ResponseWriter, r *http.Request) {
	channel, ts := r.PostFormValue("channel"), r.PostFormValue("ts")
	for _, m := range w.Messages(channel) {
		if m.TS != ts {
			continue
		}
		user := Ana
		if m.Only != "" {
			user = m.Only
		}
		_, err := w.Click(r.Context(), user, m, r.PostFormValue("action"), r.PostFormValue("option"))
		w.back(rw, r, channel, err)
		return
	}
	http.NotFound(rw, r)
}

func (w *Workspace) said(rw http.ResponseWriter, r *http.Request) {
	channel, text := r.PostFormValue("channel"), strings.TrimSpace(r.PostFormValue("text"))
	var err error
	switch {
	case strings.HasPrefix(text, "/"):
		_, err = w.Slash(r.Context(), Ana, channel, text)
	case text != "":
		_, err = w.Mention(r.Context(), Ana, channel, r.PostFormValue("thread"), strings.TrimPrefix(text, "@"+botName+" "))
	}
	w.back(rw, r, channel, err)
}

func (w *Workspace) back(rw http.ResponseWriter, r *http.Request, channel string, err error) {
	if err != nil {
		http.Error(rw, fmt.Sprintf("the app did not take it: %v", err), http.StatusBadGateway)
		return
	}
	http.Redirect(rw, r, "/channel/"+channel, http.StatusSeeOther)
}
