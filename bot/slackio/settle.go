package slackio

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/slack-go/slack"
)

// settle answers the question that a claim without a ts leaves: did the message
// arrive? Slack's history knows, where the bot may read it. Where not, the
// message is sent again, a few times at most, and says so.
func (s *Sender) settle(ctx context.Context, a *attempt) next {
	s.traffic.forget(a.order) // this may take a while
	if young := s.young(a, settleAfter); young > 0 {
		return next{wait: young}
	}
	if hold := s.traffic.hold("conversations.history"); hold > 0 {
		return next{wait: hold}
	}
	kept, cancel := s.grace(ctx)
	defer cancel()
	ts, f := s.search(kept, a, func(m slack.Message) bool {
		return m.Metadata.EventType == metadataType && m.Metadata.EventPayload["key"] == a.post.Key
	})
	switch {
	case f.kind == fine && ts != "":
		a.sent.TS, a.sent.SentAt = ts, s.now()
		if err := s.keep(kept, a); err != nil {
			return s.trouble(ctx, a.item, err)
		}
		s.note(ReasonReconciled, a.post, "")
		if a.post.Once {
			return s.finish(kept, a.item)
		}
		return next{wait: time.Millisecond} // an edit: what arrived may be older
	case f.kind == fine:
		return s.send(ctx, a) // not there
	case f.kind == limited:
		s.traffic.block("conversations.history", f.wait)
		return next{wait: f.wait}
	case f.kind == down || f.kind == ambiguous:
		s.shut(ctx, a.post, ReasonDown, f)
		return next{stop: true}
	}
	// The history cannot be read. Make sure that Slack is there before one of few
	// tries is spent.
	if _, err := s.c.api.AuthTestContext(kept); err != nil {
		if n, waits := s.failed(ctx, "auth.test", a, sortFailure(err)); waits {
			return n
		}
	}
	most := resendFirst
	if a.parent != "" {
		most = resendReply
	}
	if a.sent.Resent >= most {
		return s.bury(kept, a, resent(a.sent.Resent))
	}
	a.sent.Resent++
	a.sent.Note = resent(a.sent.Resent)
	return s.send(ctx, a)
}

// young is how long a claim is still too fresh to look for its message. A claim
// of the future was made by another clock: it is as old as we know of it.
func (s *Sender) young(a *attempt, after time.Duration) time.Duration {
	age := s.now().Sub(a.sent.ClaimedAt)
	if age < 0 {
		if a.seen.IsZero() {
			a.seen = s.now()
		}
		age = s.now().Sub(a.seen)
	}
	return after - age
}

const (
	searchBack  = time.Minute // clocks differ, and a claim in doubt is dated by the end of its call
	searchPages = 5
	searchPage  = 200
)

// search looks for a message near the time of the claim. It returns "" when
// there is none.
func (s *Sender) search(ctx context.Context, a *attempt, hit func(slack.Message) bool) (string, failure) {
	oldest := stamp(a.sent.ClaimedAt.Add(-searchBack))
	latest := stamp(a.sent.ClaimedAt.Add(10 * time.Minute))
	if now := s.now(); a.sent.ClaimedAt.After(now) {
		// Slack dates its messages itself, and by which clock this claim was made
		// nobody knows.
		oldest, latest = stamp(now.Add(-s.opts.MaxAge)), stamp(a.sent.ClaimedAt.Add(10*time.Minute))
	}
	cursor := ""
	for range searchPages {
		var page []slack.Message
		var err error
		if a.parent != "" {
			page, _, cursor, err = s.c.api.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
				ChannelID: a.sent.Channel, Timestamp: a.parent, Oldest: oldest, Limit: searchPage, Cursor: cursor, IncludeAllMetadata: true,
			})
		} else {
			var h *slack.GetConversationHistoryResponse
			h, err = s.c.api.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{
				ChannelID: a.sent.Channel, Oldest: oldest, Latest: latest, Limit: searchPage, Cursor: cursor, IncludeAllMetadata: true,
			})
			if err == nil {
				page, cursor = h.Messages, h.ResponseMetaData.NextCursor
			}
		}
		if err != nil {
			return "", sortFailure(fmt.Errorf("look for %s in the history: %w", a.post.Key, err))
		}
		for _, m := range page {
			if hit(m) {
				return m.Timestamp, failure{}
			}
		}
		if cursor == "" {
			break
		}
	}
	return "", failure{}
}

// stamp is a time as Slack writes it.
func stamp(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) + ".000000" }
