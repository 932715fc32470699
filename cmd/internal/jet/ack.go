package jet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Answers to a delivered message (NATS ADR-15, "Acknowledgement").
const (
	ackAck      = "+ACK"
	ackProgress = "+WPI"
	ackNak      = "-NAK"
	ackTerm     = "+TERM"
)

// meta is what the reply subject of a delivery says.
type meta struct {
	stream    string
	consumer  string
	delivered uint64 // this is the n-th delivery
	sequence  uint64 // in the stream
	stored    time.Time
}

// readMeta takes a reply subject apart:
// $JS.ACK.<stream>.<consumer>.<delivered>.<sequence>.<consumer seq>.<time>.<pending>,
// with <domain>.<account> after ACK in the newer form (ADR-15).
func readMeta(reply string) (meta, bool) {
	var m meta
	rest, ok := strings.CutPrefix(reply, "$JS.ACK.")
	if !ok {
		return m, false
	}
	if n := strings.Count(rest, "."); n >= 8 {
		for range 2 {
			_, rest, _ = strings.Cut(rest, ".")
		}
	} else if n != 6 {
		return m, false
	}
	var word string
	m.stream, rest, _ = strings.Cut(rest, ".")
	m.consumer, rest, _ = strings.Cut(rest, ".")
	word, rest, _ = strings.Cut(rest, ".")
	m.delivered = number(word)
	word, rest, _ = strings.Cut(rest, ".")
	m.sequence = number(word)
	_, rest, _ = strings.Cut(rest, ".")
	word, _, _ = strings.Cut(rest, ".")
	m.stored = time.Unix(0, int64(number(word))) //nolint:gosec // a time of the server, positive
	return m, m.sequence > 0
}

func number(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// nak gives a delivery back, to come again after delay. A bare one would burn
// all tries at once, so there is a least delay.
func nak(delay time.Duration) []byte {
	delay = max(delay, 20*time.Millisecond)
	return []byte(ackNak + ` {"delay":` + strconv.FormatInt(int64(delay), 10) + `}`)
}

func term(reason string) []byte {
	if len(reason) > 200 {
		reason = reason[:200]
	}
	return []byte(ackTerm + " " + reason)
}

// confirm sends an answer and waits until the server has taken it (a double
// acknowledgement).
func (j *Jet) confirm(ctx context.Context, reply string, answer []byte) error {
	for wait := 25 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		c, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := j.nc.RequestWithContext(c, reply, answer)
		cancel()
		if err == nil {
			return nil
		}
		if err = typed(err); !errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
			return fmt.Errorf("acknowledge: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("acknowledge: %w", err)
		case <-j.done:
			return ErrClosed
		case <-time.After(wait):
		}
	}
}

// tell sends an answer and does not wait.
func (j *Jet) tell(reply string, answer []byte) error {
	if err := j.nc.Publish(reply, answer); err != nil {
		return fmt.Errorf("acknowledge: %w", typed(err))
	}
	return nil
}

// pullRequest is the body of $JS.API.CONSUMER.MSG.NEXT (ADR-13).
type pullRequest struct {
	Batch     int           `json:"batch"`
	MaxBytes  int           `json:"max_bytes,omitempty"`
	Expires   time.Duration `json:"expires,omitempty"`
	Heartbeat time.Duration `json:"idle_heartbeat,omitempty"`
	NoWait    bool          `json:"no_wait,omitempty"`
}

func nextSubject(stream, consumer string) string {
	return jetstream.DefaultAPIPrefix + "CONSUMER.MSG.NEXT." + stream + "." + consumer
}
