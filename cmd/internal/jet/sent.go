package jet

import (
	"context"
	"time"

	"github.com/snapflame/snapflame/bot"
)

// sentTTL is how long it is remembered where a post stands in Slack: an update
// after that is posted anew. Every write begins it again.
const sentTTL = 90 * 24 * time.Hour

// SentLedger keeps what became of posts.
type SentLedger struct{ j *Jet }

// SentLedger is what became of posts, for slackio.
func (j *Jet) SentLedger() *SentLedger { return &SentLedger{j} }

func (s *SentLedger) key(ctx context.Context, key string) (string, error) {
	k, err := encodeKey(key)
	if err != nil {
		return "", err
	}
	return sentPrefix + k, s.j.await(ctx)
}

// Sent returns what is known of a post and its revision; capture.ErrNotFound
// when it was never claimed.
func (s *SentLedger) Sent(ctx context.Context, key string) (bot.Sent, uint64, error) {
	k, err := s.key(ctx, key)
	if err != nil {
		return bot.Sent{}, 0, err
	}
	var v bot.Sent
	rev, err := s.j.streams.state.getJSON(ctx, k, &v)
	return v, rev, err
}

// PutSent writes it by compare-and-set; rev 0 claims.
func (s *SentLedger) PutSent(ctx context.Context, v bot.Sent, rev uint64) (uint64, error) {
	k, err := s.key(ctx, v.Key)
	if err != nil {
		return 0, err
	}
	return s.j.streams.state.putJSON(ctx, k, v, rev, sentTTL)
}
