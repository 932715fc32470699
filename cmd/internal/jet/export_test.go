package jet

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"
)

// RestartServer starts the embedded server anew, as the watch over it does.
func (j *Jet) RestartServer() error { return j.host.restart() }

// LosePulls makes the open pull requests go silent, as a dying server does.
func (j *Jet) LosePulls() {
	p := j.source.pull
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.sub.Unsubscribe()
}

// Trim trims the event stream now.
func (j *Jet) Trim(ctx context.Context, keep int64) error { return j.trimOnce(ctx, keep) }

// MaxTries is how often an event is handed out.
const MaxTries = maxTries

// Names for tests that look at the server directly.
const (
	JobsStream     = jobsStream
	EventsConsumer = eventsConsumer
	AdvisoryPrefix = advisoryPrefix
)

// EncodeKey and DecodeKey for their round trip.
func EncodeKey(s string) (string, error) { return encodeKey(s) }

// DecodeKey is the way back.
func DecodeKey(s string) string { return decodeKey(s) }

// ReadMeta takes a reply subject apart.
func ReadMeta(reply string) (stream, consumer string, delivered, seq uint64, ok bool) {
	m, ok := readMeta(reply)
	return m.stream, m.consumer, m.delivered, m.sequence, ok
}

// Covers and Redact for tables.
func Covers(pattern, s string) bool { return covers(pattern, s) }

// Overlaps are the subjects that both lists take in.
func Overlaps(wants, haves []string) []string { return overlaps(wants, haves) }

// Redact is what people see of an address.
func Redact(s string) string { return redact(s) }

// JetStream is the client, on the engine's own connection.
func (j *Jet) JetStream() jetstream.JetStream { return j.js }

// PauseSource stops pulling ahead, or starts it again. Requests that are open
// go on until they expire, so it also renews them away.
func (j *Jet) PauseSource(pause bool) {
	p := j.source.pull
	p.mu.Lock()
	p.stopped = pause
	if pause && p.sub != nil {
		_ = p.sub.Unsubscribe()
		p.sub = nil
		p.epoch++
		p.open = 0
	}
	p.mu.Unlock()
	if !pause {
		p.renew()
	}
}
