package slackio

import (
	"context"
	"io"
	"time"

	"github.com/snapflame/snapflame/bot"
)

// Queue gives the posts owed to Slack, oldest first. It holds one post per
// key, the newest, and never hands out two of one key at once. Next waits until
// there is one; its error is ctx's, or one worth trying again after a moment.
type Queue interface {
	Next(ctx context.Context) (Delivery, error)
}

// Delivery is one post in this process's hands until Ack or Later; the queue
// keeps it alive meanwhile. The sender holds up to SenderOptions.Hold at once.
type Delivery interface {
	Post() bot.Post
	// Ack removes this revision of the post. A newer one of the same key stays.
	Ack(ctx context.Context) error
	// Later gives the post back, to be delivered again at or after the delay; a
	// newer one of the same key at once.
	Later(delay time.Duration) error
}

// Ledger keeps where each post stands in Slack. Errors are capture.ErrNotFound
// and capture.ErrConflict; rev 0 creates.
type Ledger interface {
	Sent(ctx context.Context, key string) (bot.Sent, uint64, error)
	PutSent(ctx context.Context, s bot.Sent, rev uint64) (uint64, error)
}

// Files opens stored bytes by object name and tells their size, which Slack
// wants before the first byte. A missing object is capture.ErrNotFound.
type Files interface {
	OpenFile(ctx context.Context, object string) (io.ReadCloser, int64, error)
}

// Handler answers what a person asked. An error is told to the person as an
// id to quote; a mistake of the person is a Reply, not an error.
type Handler interface {
	Handle(ctx context.Context, r bot.Request) (bot.Reply, error)
}
