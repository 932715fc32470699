package triggers

import (
	"context"
	"time"
)

// Delivery is one message of the events stream.
type Delivery interface {
	Subject() string
	Data() []byte
	Sequence() uint64
	Received() time.Time // when the stream stored it
	Ack() error
	// Retry gives the message back; it is delivered again after delay.
	Retry(delay time.Duration) error
}

// Source pulls from the events stream.
type Source interface {
	// Fetch returns 1 to limit deliveries, or none when wait has passed.
	Fetch(ctx context.Context, limit int, wait time.Duration) ([]Delivery, error)
}

// Sink makes decisions durable. bot.Desk is the one that opens incidents.
type Sink interface {
	// Handle opens the incident of a capture or report decision, or joins the
	// open one, and returns once that is durable. The returned decision has
	// ActionJoin when an open incident covered it, and the IncidentID.
	Handle(ctx context.Context, d Decision) (Decision, error)
	// Tally adds what joined since the last call; durable when it returns. What
	// the incident has counted is not added again: all of a tally is left out, a
	// part of it is an error, after which Counted knows better.
	Tally(ctx context.Context, tallies []Tally) error
	// Counted is what the open incident of a key has counted, as far as is known
	// without asking anybody.
	Counted(key string) Counted
}

// Tally is what a batch of joined events adds to one incident.
type Tally struct {
	IncidentKey string
	IncidentID  string
	Count       int64
	First, Last time.Time
	PerMinute   map[int64]int64 // unix minute → events
	// Slots are events per ten seconds and version: unix time / 10 → version id → events.
	Slots      map[int64]map[string]int64
	Versions   map[string]int64 // version id → events
	Routes     map[string]int64 // "METHOD route" → events, bounded
	Colos      map[string]int64
	Scripts    map[string]int64 // who reported it: callers of the target
	Subclasses map[Subclass]int64
	Sizes      []int64 // a bounded sample of request sizes, bytes
	MaxSize    int64
	Counted    Counted // the messages that are summed up
}

// DeadLetter is a message that could not be read, with the reason.
type DeadLetter struct {
	Subject  string
	Sequence uint64
	Reason   string
	Data     []byte
	At       time.Time
}

// DeadLetters keeps what could not be read. Bury returns once it is durable.
type DeadLetters interface {
	Bury(ctx context.Context, l DeadLetter) error
}
