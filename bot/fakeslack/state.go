package fakeslack

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Channel is a conversation. Private channels are invisible to a bot that is
// not a member.
type Channel struct {
	ID       string
	Name     string
	Private  bool
	Member   bool // the bot is
	Archived bool
	People   []string // user ids
}

// User is a person or the bot.
type User struct {
	ID     string
	Name   string
	Bot    bool
	Groups []string // user group ids
}

// Message is one message as it stands now.
type Message struct {
	Channel   string          `json:"channel"`
	TS        string          `json:"ts"`
	ThreadTS  string          `json:"thread_ts,omitempty"` // of a reply
	User      string          `json:"user"`
	Text      string          `json:"text"`
	Blocks    json.RawMessage `json:"blocks,omitempty"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	Files     []string        `json:"files,omitempty"`
	At        time.Time       `json:"at"`
	Edits     []Edit          `json:"edits,omitempty"` // what it said before, oldest first
	Deleted   bool            `json:"deleted,omitempty"`
	Reactions []string        `json:"reactions,omitempty"`
	Only      string          `json:"only,omitempty"` // an ephemeral message: who sees it
}

// Edit is an earlier content of a message.
type Edit struct {
	At     time.Time       `json:"at"` // when it was replaced
	Text   string          `json:"text"`
	Blocks json.RawMessage `json:"blocks,omitempty"`
}

// File is an upload.
type File struct {
	ID     string
	Name   string
	Title  string
	Alt    string
	Length int
	Data   []byte
	Type   string // as sniffed: png, jpg, gif, or another
	Done   bool   // completed, which is possible once
	Shares []string
}

// View is a modal or a Home tab.
type View struct {
	ID      string          `json:"id"`
	User    string          `json:"user"`
	Hash    string          `json:"hash"`
	Body    json.RawMessage `json:"body"`
	Updates int             `json:"updates"`
}

type trigger struct {
	at   time.Time
	user string
	used bool
}

type responseURL struct {
	at      time.Time
	uses    int
	channel string
	thread  string
	user    string
	source  *Message // the message that was clicked
}

// share is an upload that waits to appear.
type share struct {
	due     time.Time
	file    *File
	message Message
}

type bucket struct {
	tokens float64
	at     time.Time
}

// ts makes the next timestamp, which is also a message's id. Slack's grow and
// are unique in a channel; so are these, whatever the clock does.
func (w *Workspace) ts(now time.Time) string {
	if now.Before(w.last) {
		now = w.last
	}
	w.last = now
	w.seq++
	return fmt.Sprintf("%d.%06d", now.Unix(), w.seq)
}

// id makes the next id with Slack's look: a letter and capitals.
func (w *Workspace) id(prefix string) string {
	w.seq++
	return fmt.Sprintf("%s0FAKE%05d", prefix, w.seq)
}

func (w *Workspace) find(channel, ts string) *Message {
	for _, m := range w.messages[channel] {
		if m.TS == ts && !m.Deleted && m.Only == "" {
			return m
		}
	}
	return nil
}

func (w *Workspace) store(m *Message) *Message {
	w.messages[m.Channel] = append(w.messages[m.Channel], m)
	w.touch()
	return m
}

// settle publishes the uploads that are due. Every look at the state settles
// first, so no clock needs to run.
func (w *Workspace) settle(now time.Time) {
	left := w.uploads[:0]
	for _, s := range w.uploads {
		if s.due.After(now) {
			left = append(left, s)
			continue
		}
		m := s.message
		m.TS, m.At = w.ts(s.due), s.due
		s.file.Shares = append(s.file.Shares, m.Channel+"/"+m.TS)
		w.store(&m)
	}
	w.uploads = left
}

// Messages are a channel's messages in order, replies and ephemeral ones
// included, deleted ones not.
func (w *Workspace) Messages(channel string) []Message {
	w.init()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle(w.Now())
	var out []Message
	for _, m := range w.messages[channel] {
		if !m.Deleted {
			c := *m
			c.Edits = slices.Clone(m.Edits)
			out = append(out, c)
		}
	}
	return out
}

// Key is the "key" of a message's metadata, by which checkers tell messages
// apart.
func (m Message) Key() string {
	var md struct {
		Payload map[string]any `json:"event_payload"`
	}
	if json.Unmarshal(m.Metadata, &md) != nil {
		return ""
	}
	k, _ := md.Payload["key"].(string)
	return k
}

// Plain is all text of a message without markup, for tests that look for words.
func (m Message) Plain() string {
	return strings.Join(append([]string{m.Text}, render(m.Blocks)...), "\n")
}

// File returns an upload by its id.
func (w *Workspace) File(id string) (File, bool) {
	w.init()
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.files[id]
	if f == nil {
		return File{}, false
	}
	return *f, true
}

// Views are the modals that were opened, oldest first.
func (w *Workspace) Views() []View {
	w.init()
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]View, 0, len(w.views))
	for _, v := range w.views {
		out = append(out, *v)
	}
	slices.SortFunc(out, func(a, b View) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Home is what a person's Home tab shows.
func (w *Workspace) Home(user string) (View, bool) {
	w.init()
	w.mu.Lock()
	defer w.mu.Unlock()
	v := w.homes[user]
	if v == nil {
		return View{}, false
	}
	return *v, true
}
