package fakeslack

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

var (
	eventType   = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	stampForm   = regexp.MustCompile(`^\d+\.\d{6}$`)
	liveMarkup  = regexp.MustCompile(`<[!@#][^>]*>|<(?:javascript|data|file|vbscript):[^>]*>`)
	bareAddress = regexp.MustCompile(`(?:^|\s)https?://\S+`)
)

// room finds a channel the bot may write to.
func (w *Workspace) room(id string) (*Channel, error) {
	c := w.channels[id]
	if u := w.users[id]; u != nil && !u.Bot {
		return w.direct(u), nil
	}
	switch {
	case c == nil || (c.Private && !c.Member):
		return nil, refuse("channel_not_found")
	case c.Archived:
		return nil, refuse("is_archived")
	case !c.Member && !w.scope("chat:write.public"):
		return nil, refuse("not_in_channel")
	}
	return c, nil
}

// direct is the conversation with one person; Slack makes it when a message to
// their id comes.
func (w *Workspace) direct(u *User) *Channel {
	id := "D" + strings.TrimPrefix(u.ID, "U")
	if w.channels[id] == nil {
		w.channels[id] = &Channel{ID: id, Name: "@" + u.Name, Private: true, Member: true, People: []string{u.ID}}
	}
	return w.channels[id]
}

// pace is Slack's one message a second and channel, after a burst.
func (w *Workspace) pace(channel string, now time.Time) error {
	if w.Burst == 0 {
		return nil
	}
	b := w.buckets[channel]
	if b == nil {
		b = &bucket{tokens: float64(w.Burst), at: now}
		w.buckets[channel] = b
	}
	b.tokens = math.Min(float64(w.Burst), b.tokens+now.Sub(b.at).Seconds())
	b.at = now
	// A client that waits exactly a second must not fail on rounding.
	if b.tokens < 0.999 {
		return refuse("ratelimited")
	}
	b.tokens--
	return nil
}

// content checks text, blocks and metadata of a message.
func (w *Workspace) content(r *request) (blocks, metadata json.RawMessage, err error) {
	if n := utf8.RuneCountInString(r.args["text"]); n > 40000 {
		return nil, nil, refuse("msg_too_long")
	}
	if r.args["link_names"] == "true" || r.args["link_names"] == "1" || r.args["parse"] == "full" {
		w.note("%s asked Slack to find names in the text", r.method)
	}
	if raw := r.args["blocks"]; raw != "" && raw != "null" && raw != "[]" {
		if err := checkBlocks(json.RawMessage(raw), inMessage); err != nil {
			return nil, nil, err
		}
		if err := w.slackFiles(raw); err != nil {
			return nil, nil, err
		}
		blocks = json.RawMessage(raw)
	}
	if blocks == nil && r.args["text"] == "" {
		return nil, nil, refuse("no_text")
	}
	w.mentions(r.method, r.args["text"], blocks)
	if raw := r.args["metadata"]; raw != "" {
		var md struct {
			Type    string         `json:"event_type"`
			Payload map[string]any `json:"event_payload"`
		}
		if json.Unmarshal([]byte(raw), &md) != nil {
			return nil, nil, refuse("invalid_metadata_format")
		}
		// Anything but letters, digits, _ and - in the type makes Slack drop the
		// metadata with a warning only.
		if eventType.MatchString(md.Type) && md.Payload != nil {
			metadata = json.RawMessage(raw)
		}
	}
	return blocks, metadata, nil
}

func (w *Workspace) postMessage(r *request) (map[string]any, error) {
	c, err := w.room(r.args["channel"])
	if err != nil {
		return nil, err
	}
	if err := w.pace(c.ID, r.now); err != nil {
		return nil, err
	}
	blocks, metadata, err := w.content(r)
	if err != nil {
		return nil, err
	}
	thread, err := w.parent(c.ID, r.args["thread_ts"])
	if err != nil {
		return nil, err
	}
	m := w.store(&Message{
		Channel: c.ID, TS: w.ts(r.now), ThreadTS: thread, User: Bot, At: r.now,
		Text: r.args["text"], Blocks: blocks, Metadata: metadata,
	})
	r.call.TS, r.call.Effect = m.TS, true
	return map[string]any{"channel": c.ID, "ts": m.TS, "message": wire(m, true)}, nil
}

// parent checks a thread: it must start at a message that is no reply itself.
// A message whose parent was deleted lands in the channel instead.
func (w *Workspace) parent(channel, ts string) (string, error) {
	if ts == "" {
		return "", nil
	}
	if !stampForm.MatchString(ts) {
		return "", refuse("invalid_thread_ts")
	}
	for _, m := range w.messages[channel] {
		switch {
		case m.TS != ts || m.Only != "":
		case m.ThreadTS != "":
			w.note("thread_ts %s is a reply, not the parent of a thread", ts)
			return m.ThreadTS, nil
		case m.Deleted:
			return "", nil
		default:
			return ts, nil
		}
	}
	return "", refuse("thread_not_found")
}

func (w *Workspace) update(r *request) (map[string]any, error) {
	c, err := w.room(r.args["channel"])
	if err != nil {
		return nil, err
	}
	m := w.find(c.ID, r.args["ts"])
	if m == nil {
		return nil, refuse("message_not_found")
	}
	if m.User != Bot || len(m.Files) > 0 {
		return nil, refuse("cant_update_message")
	}
	blocks, metadata, err := w.content(r)
	if err != nil {
		return nil, err
	}
	m.Edits = append(m.Edits, Edit{At: r.now, Text: m.Text, Blocks: m.Blocks})
	// Blocks that are not sent again are gone.
	m.Text, m.Blocks = r.args["text"], blocks
	if metadata != nil {
		m.Metadata = metadata
	}
	w.touch()
	r.call.Effect, r.call.Key, r.call.ThreadTS = true, m.Key(), m.ThreadTS
	return map[string]any{"channel": c.ID, "ts": m.TS, "text": m.Text, "message": wire(m, true)}, nil
}

func (w *Workspace) deleteMessage(r *request) (map[string]any, error) {
	m := w.find(r.args["channel"], r.args["ts"])
	if m == nil {
		return nil, refuse("message_not_found")
	}
	if m.User != Bot {
		return nil, refuse("cant_delete_message")
	}
	m.Deleted = true
	w.touch()
	r.call.Effect = true
	return map[string]any{"channel": m.Channel, "ts": m.TS}, nil
}

func (w *Workspace) postEphemeral(r *request) (map[string]any, error) {
	c, err := w.room(r.args["channel"])
	if err != nil {
		return nil, err
	}
	user := r.args["user"]
	if !slices.Contains(c.People, user) {
		return nil, refuse("user_not_in_channel")
	}
	blocks, _, err := w.content(r)
	if err != nil {
		return nil, err
	}
	thread, err := w.parent(c.ID, r.args["thread_ts"])
	if err != nil {
		return nil, err
	}
	m := w.store(&Message{
		Channel: c.ID, TS: w.ts(r.now), ThreadTS: thread, User: Bot, At: r.now,
		Text: r.args["text"], Blocks: blocks, Only: user,
	})
	r.call.User, r.call.Effect, r.call.TS = user, true, m.TS
	return map[string]any{"message_ts": m.TS}, nil
}

func (w *Workspace) permalink(r *request) (map[string]any, error) {
	m := w.find(r.args["channel"], r.args["message_ts"])
	if m == nil {
		return nil, refuse("message_not_found")
	}
	return map[string]any{"channel": m.Channel, "permalink": r.base + "/archives/" + m.Channel + "/p" + strings.ReplaceAll(m.TS, ".", "")}, nil
}

func (w *Workspace) addReaction(r *request) (map[string]any, error) {
	m := w.find(r.args["channel"], r.args["timestamp"])
	if m == nil {
		return nil, refuse("message_not_found")
	}
	if slices.Contains(m.Reactions, r.args["name"]) {
		return nil, refuse("already_reacted")
	}
	m.Reactions = append(m.Reactions, r.args["name"])
	w.touch()
	r.call.Effect = true
	return nil, nil
}

// mentions records every live mention that was not allowed and is of nobody who
// asked the app for something, and addresses that
// Slack would make into links by itself.
func (w *Workspace) mentions(where, text string, blocks json.RawMessage) {
	check := func(s string) {
		for _, m := range liveMarkup.FindAllString(s, -1) {
			if !slices.Contains(w.AllowMentions, m) && !w.acted[strings.Trim(m, "<@>")] {
				w.note("%s mentions %s: %.80q", where, m, s)
			}
		}
	}
	check(text)
	walk(blocks, func(n map[string]any) {
		switch n["type"] {
		case "mrkdwn":
			s, _ := n["text"].(string)
			check(s)
			if n["verbatim"] != true && bareAddress.MatchString(s) {
				w.note("%s lets Slack make a link of %.80q", where, s)
			}
		case "user":
			check(fmt.Sprintf("<@%v>", n["user_id"]))
		case "usergroup":
			check(fmt.Sprintf("<!subteam^%v>", n["usergroup_id"]))
		case "broadcast":
			check(fmt.Sprintf("<!%v>", n["range"]))
		}
	})
}

// walk calls f for every object of some JSON.
func walk(raw json.RawMessage, f func(map[string]any)) {
	var tree any
	if len(raw) == 0 || json.Unmarshal(raw, &tree) != nil {
		return
	}
	var visit func(any)
	visit = func(n any) {
		switch n := n.(type) {
		case []any:
			for _, c := range n {
				visit(c)
			}
		case map[string]any:
			f(n)
			for _, c := range n {
				visit(c)
			}
		}
	}
	visit(tree)
}

// wire is a message as the API shows it.
func wire(m *Message, metadata bool) map[string]any {
	out := map[string]any{"type": "message", "ts": m.TS, "user": m.User, "text": m.Text, "team": Team}
	if m.User == Bot {
		out["bot_id"], out["app_id"] = "B0SNAPFLAME", appID
	}
	if m.ThreadTS != "" {
		out["thread_ts"] = m.ThreadTS
	}
	if m.Blocks != nil {
		out["blocks"] = m.Blocks
	}
	if metadata && m.Metadata != nil {
		out["metadata"] = m.Metadata
	}
	if len(m.Files) > 0 {
		files := make([]map[string]any, len(m.Files))
		for i, f := range m.Files {
			files[i] = map[string]any{"id": f}
		}
		out["files"] = files
	}
	if len(m.Edits) > 0 && m.Blocks == nil {
		out["edited"] = map[string]any{"user": m.User, "ts": m.TS}
	}
	return out
}
