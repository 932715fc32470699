package slackio

import (
	"context"
	"time"

	"github.com/snapflame/snapflame/bot"
)

// noteDeleted stands in bot.Sent.Note once a thread was begun a second time.
const noteDeleted = "the first message of this thread was deleted; it goes on here"

// unsent decides about a message that Slack refused for a lasting reason: what
// still works is done, once, and said.
func (s *Sender) unsent(ctx context.Context, a *attempt, f failure) next {
	switch {
	case f.kind == orphan && a.parent != "" && a.post.Thread != "":
		return s.rebegin(ctx, a, bot.Post{})
	case f.kind == nowhere && f.code == "not_in_channel" && s.join(ctx, a.post.Channel):
		return next{wait: again / 20}
	case f.kind == nowhere && a.parent == "" && s.opts.Fallback != "" && s.opts.Fallback != a.post.Channel:
		a.sent.Channel = s.opts.Fallback
		a.sent.Note = "meant for the channel " + a.post.Channel + ", which takes no message: " + fix(f.code, f.scope)
		if err := s.keep(ctx, a); err != nil {
			return s.trouble(ctx, a.item, err)
		}
		s.note(ReasonMoved, a.post, fix(f.code, f.scope))
		return next{wait: again / 20}
	}
	return s.bury(ctx, a, fix(f.code, f.scope))
}

// bury gives a post up, for good and on record.
func (s *Sender) bury(ctx context.Context, a *attempt, why string) next {
	a.sent.Dead, a.sent.Note = true, why
	if err := s.keep(ctx, a); err != nil {
		return s.trouble(ctx, a.item, err)
	}
	s.note(ReasonDead, a.post, why)
	return s.finish(ctx, a.item)
}

// join enters a public channel, once per process: Slack takes messages from
// outside but no pictures.
func (s *Sender) join(ctx context.Context, channel string) bool {
	s.mu.Lock()
	tried := s.joined[channel]
	s.joined[channel] = true
	s.mu.Unlock()
	if tried {
		return false
	}
	_, _, _, err := s.c.api.JoinConversationContext(ctx, channel)
	if err != nil {
		s.log.Debug().Err(err).Str("channel", channel).Msg("join a channel")
	}
	return err == nil
}

// strayed handles a reply that Slack put into the channel because its thread
// is gone: it is taken back, the thread begun anew, and the reply sent there.
func (s *Sender) strayed(ctx context.Context, a *attempt) next {
	if a.post.Thread == "" {
		return s.finish(ctx, a.item) // a foreign thread: nobody to begin it anew
	}
	if _, _, err := s.c.api.DeleteMessageContext(ctx, a.post.Channel, a.sent.TS); err != nil {
		// It stays where it is, which is better than twice.
		s.log.Debug().Err(err).Str("key", a.post.Key).Msg("take a stray reply back")
		return s.finish(ctx, a.item)
	}
	a.sent = bot.Sent{Key: a.post.Key}
	if err := s.keep(ctx, a); err != nil {
		return s.trouble(ctx, a.item, err)
	}
	return s.rebegin(ctx, a, bot.Post{})
}

// rebegin posts the first message of a thread again after somebody deleted it,
// once: whoever deletes it twice means it. p is the message when the caller has
// it; a reply has not, so a line stands in until the next edit.
func (s *Sender) rebegin(ctx context.Context, a *attempt, p bot.Post) next {
	key := thread(a.post)
	root, rev, err := s.known(ctx, key)
	if err != nil {
		return s.trouble(ctx, a.item, err)
	}
	first := &attempt{item: &item{post: p, order: a.order}, sent: root, rev: rev}
	if p.Key == "" {
		first.post = bot.Post{Key: key, Channel: a.post.Channel, At: root.PostAt, Card: bot.Card{Text: "Incident, continued: " + noteDeleted + "."}}
	}
	if root.Note == noteDeleted {
		first.sent.Dead = true
		if err := s.keep(ctx, first); err != nil {
			return s.trouble(ctx, a.item, err)
		}
		return s.bury(ctx, a, "its thread was deleted twice")
	}
	if err := s.traffic.wait(ctx, "chat.postMessage", a.post.Channel, a.order); err != nil {
		return next{stop: true}
	}
	defer s.traffic.arrived(a.post.Channel, a.order)
	first.sent.TS, first.sent.Sum, first.sent.Note, first.sent.ClaimedAt = "", "", noteDeleted, s.now()
	if err := s.put(ctx, first); err != nil {
		return s.trouble(ctx, a.item, err)
	}
	ts, _, f := s.post(ctx, first.post, "", first.extra())
	if f.kind != fine {
		// Back to the deleted one: the next try comes here again. Replies must not
		// wait for a first message that nobody will send.
		first.sent = root
		if err := s.keep(ctx, first); err != nil {
			return s.trouble(ctx, a.item, err)
		}
		if n, waits := s.failed(ctx, "chat.postMessage", a, f); waits {
			return n
		}
		return s.bury(ctx, a, fix(f.code, f.scope))
	}
	first.sent.TS, first.sent.SentAt = ts, s.now()
	if p.Key != "" {
		first.sent.Sum, first.sent.PostAt = digest(p), p.At
	}
	if err := s.keep(ctx, first); err != nil {
		return s.trouble(ctx, a.item, err)
	}
	s.note(ReasonNewRoot, first.post, noteDeleted)
	if p.Key != "" {
		return s.finish(ctx, a.item)
	}
	return next{wait: again / 20} // the reply, now into the new thread
}

// tell says something about delivery in a thread, once per thread and subject.
// True means that it is yet to be said.
func (s *Sender) tell(ctx context.Context, a *attempt, subject, text string) (next, bool) {
	p := bot.Post{Key: thread(a.post) + ".note." + subject, Channel: a.post.Channel, Card: bot.Card{Text: text, Context: []string{text}}}
	n := &attempt{item: &item{post: p}}
	var err error
	if n.sent, n.rev, err = s.known(ctx, p.Key); err != nil {
		return s.trouble(ctx, a.item, err), true
	}
	if !n.sent.ClaimedAt.IsZero() {
		return next{}, false // said, or perhaps said by somebody who died: a remark is not worth twice
	}
	if s.traffic.wait(ctx, "chat.postMessage", p.Channel, a.order) != nil {
		return next{stop: true}, true
	}
	defer s.traffic.arrived(p.Channel, a.order)
	n.sent.Channel, n.sent.ClaimedAt = p.Channel, s.now()
	if err := s.put(ctx, n); err != nil {
		return s.trouble(ctx, a.item, err), true
	}
	ts, _, f := s.post(ctx, p, a.parent, "")
	if f.kind == fine {
		n.sent.TS, n.sent.SentAt = ts, s.now()
	} else if f.kind != ambiguous {
		n.sent.ClaimedAt = time.Time{}
	}
	if err := s.keep(ctx, n); err != nil {
		s.log.Debug().Err(err).Str("key", p.Key).Msg("record a remark")
	}
	return s.failed(ctx, "chat.postMessage", a, f)
}
