package jet

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/snapflame/snapflame/triggers/ingest"
)

var _ ingest.Publisher = (*Events)(nil)

// Events puts events into the stream under the subject of their script.
type Events struct{ j *Jet }

// Events is where HTTP ingest publishes.
func (j *Jet) Events() *Events { return &Events{j} }

// PublishEvent implements ingest.Publisher: its errors are ingest.ErrFull,
// ingest.ErrTooLarge and those of Publish.
func (e *Events) PublishEvent(ctx context.Context, script string, data []byte, id string) error {
	if err := e.j.await(ctx); err != nil { // the stream says which subjects it takes
		return err
	}
	err := e.j.Publish(ctx, e.subject(script), data, id)
	switch {
	case errors.Is(err, ErrFull):
		return fmt.Errorf("%w: %w", ingest.ErrFull, err)
	case errors.Is(err, ErrTooLarge):
		return fmt.Errorf("%w: %w", ingest.ErrTooLarge, err)
	}
	return err
}

// MaxPayload implements ingest.Publisher.
func (e *Events) MaxPayload() int { return int(e.j.MaxEvent()) }

// subject puts the script into the first subject that is configured and that
// the stream takes. The name comes from outside: what would leave its word in
// the subject becomes "_". The record has the true name, and that one counts.
func (e *Events) subject(script string) string {
	word := strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f || r == '.' || r == '*' || r == '>' {
			return '_'
		}
		return r
	}, script)
	if len(word) > 120 {
		word = strings.ToValidUTF8(word[:120], "")
	}
	if word == "" {
		word = "_" // which names no script
	}
	pattern := e.j.streams.subjects[0]
	if rest, ok := strings.CutSuffix(pattern, ">"); ok {
		pattern = rest + word
	}
	return strings.ReplaceAll(pattern, "*", word)
}
