package bot

import (
	"context"
	"time"
)

// PostKind is how a post is delivered.
type PostKind string

// The kinds.
const (
	PostMessage PostKind = "message"
	PostFile    PostKind = "file"
)

// Post is one message owed to Slack. Key names it for ever: a later Post of
// the same Key replaces an unsent one and edits a sent one, so sending is
// idempotent and the latest content wins.
type Post struct {
	Key        string    `json:"key"`              // "<incident>.root", "<incident>.report.<capture>", "<incident>.png.<capture>"
	Thread     string    `json:"thread,omitempty"` // Key of the message it replies to; or ThreadTS of a foreign thread
	ThreadTS   string    `json:"thread_ts,omitempty"`
	Channel    string    `json:"channel"` // channel id
	Kind       PostKind  `json:"kind"`
	Card       Card      `json:"card,omitzero"`
	File       *File     `json:"file,omitempty"`
	Once       bool      `json:"once,omitempty"` // never edited: a second Post of the Key is dropped once sent
	At         time.Time `json:"at"`
	IncidentID string    `json:"incident_id,omitempty"`
	CaptureID  string    `json:"capture_id,omitempty"`
}

// File is a picture to upload. The bytes are in the store under Name, so that
// the outbox stays small.
type File struct {
	Object string `json:"object"` // name in the store
	Name   string `json:"name"`   // as people see it, "flamegraph.png"
	Title  string `json:"title"`
	Alt    string `json:"alt"`
}

// Outbox takes posts; Put returns once the post is durable.
type Outbox interface {
	Put(ctx context.Context, p Post) error
}

// Sent is what became of a Post: where it stands in Slack.
type Sent struct {
	Key       string    `json:"key"`
	Channel   string    `json:"channel"`
	TS        string    `json:"ts,omitempty"` // empty: claimed, answer unknown
	FileID    string    `json:"file_id,omitempty"`
	ClaimedAt time.Time `json:"claimed_at"`
	SentAt    time.Time `json:"sent_at,omitzero"`
	// Sum is a digest of the content that Slack shows, PostAt the Post.At it came
	// with: an older revision or the same content again is not sent.
	Sum    string    `json:"sum,omitempty"`
	PostAt time.Time `json:"post_at,omitzero"`
	// Note is said once when delivery degraded: "invite the bot", "channel archived".
	Note string `json:"note,omitempty"`
	// Resent is how often it was sent again without knowing whether it was there.
	Resent int `json:"resent,omitempty"`
	// Dead marks a post that can never be delivered (root deleted, channel gone).
	Dead bool `json:"dead,omitempty"`
}
