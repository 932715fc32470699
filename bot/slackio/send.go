package slackio

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slack-go/slack"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/blocks"
	"github.com/snapflame/snapflame/capture"
)

// metadataType marks our messages; Slack drops metadata whose type has a dot.
// The payload is the post's key: ids only, as other apps can read it.
const metadataType = "snapflame_post"

// How often a message is sent again in the dark. Everything of an incident hangs
// on its first message: rather five of those than a report that nobody sees.
const (
	resendFirst = 4
	resendReply = 2
)

// resent is what such a message says of itself.
func resent(times int) string {
	how := "twice"
	if times > 1 {
		how = fmt.Sprintf("%d times", times+1)
	}
	return "sent " + how + " perhaps: an answer of Slack was lost, and without the scope channels:history the bot cannot look whether the message before arrived"
}

// send posts a message for the first time.
func (s *Sender) send(ctx context.Context, a *attempt) next {
	if err := s.traffic.wait(ctx, "chat.postMessage", a.post.Channel, a.order); err != nil {
		return next{stop: true}
	}
	defer s.traffic.arrived(a.post.Channel, a.order)
	kept, cancel := s.grace(ctx)
	defer cancel()
	// The claim comes before the message: whoever finds it without a ts knows
	// that a message may be there.
	a.sent.Channel, a.sent.ClaimedAt = a.post.Channel, s.now()
	if err := s.put(kept, a); err != nil {
		if errors.Is(err, capture.ErrConflict) {
			return next{wait: again / 20}
		}
		return s.trouble(ctx, a.item, err)
	}
	ts, inThread, f := s.post(kept, a.post, a.parent, a.extra())
	if f.kind == fine {
		return s.arrived(ctx, kept, a, ts, inThread)
	}
	if f.kind == ambiguous {
		return s.doubt(ctx, kept, a, f)
	}
	// Known not to be there: the claim is taken back.
	a.sent.ClaimedAt = time.Time{}
	if err := s.keep(kept, a); err != nil {
		s.log.Warn().Err(err).Str("key", a.post.Key).Msg("take a claim back")
	}
	if n, waits := s.failed(ctx, "chat.postMessage", a, f); waits {
		return n
	}
	return s.unsent(kept, a, f)
}

// extra is what the message must say about its own delivery.
func (a *attempt) extra() string {
	if a.sent.Note == "" {
		return ""
	}
	return "Note: " + a.sent.Note
}

// arrived records where the message stands.
func (s *Sender) arrived(ctx, kept context.Context, a *attempt, ts string, inThread bool) next {
	s.traffic.arrived(a.post.Channel, a.order)
	a.sent.TS, a.sent.SentAt = ts, s.now()
	a.sent.Sum, a.sent.PostAt = digest(a.post), a.post.At
	if err := s.keep(kept, a); err != nil {
		// The post stays in the queue; what comes next finds the claim and asks.
		return s.trouble(ctx, a.item, err)
	}
	reason := ReasonSent
	if a.sent.Resent > 0 {
		reason = ReasonResent
	}
	s.note(reason, a.post, "")
	if a.parent != "" && !inThread {
		return s.strayed(kept, a)
	}
	return s.finish(kept, a.item)
}

// post makes the call, with less and less of Block Kit while Slack refuses it.
func (s *Sender) post(ctx context.Context, p bot.Post, parent, extra string) (ts string, inThread bool, f failure) {
	f = s.ladder(p, extra, func(opts []slack.MsgOption) error {
		opts = append(opts, slack.MsgOptionMetadata(slack.SlackMetadata{EventType: metadataType, EventPayload: map[string]any{"key": p.Key}}))
		if parent != "" {
			opts = append(opts, slack.MsgOptionTS(parent))
		}
		_, at, m, err := s.c.api.PostMessageWithResponseContext(ctx, p.Channel, opts...)
		ts, inThread = at, m.ThreadTimestamp != ""
		return err
	})
	return ts, inThread, f
}

// ladder calls with each level of the card until Slack takes one.
func (s *Sender) ladder(p bot.Post, extra string, call func([]slack.MsgOption) error) failure {
	card := p.Card
	if extra != "" {
		card.Context = append(slices.Clip(card.Context), extra)
	}
	var f failure
	for level := blocks.Full; level <= blocks.TextOnly; level++ {
		m := blocks.Render(card, level)
		if len(m.Blocks) > 0 && blocks.Validate(m.Blocks, blocks.InMessage) != nil {
			continue // Slack would refuse it, and all it says is "invalid_blocks"
		}
		f = sortFailure(call(message(m)))
		if f.kind != shape {
			return f
		}
		s.note(ReasonSimpler, p, f.code+" "+detail(f.err))
	}
	f.kind = refused
	return f
}

// detail is Slack's pointer to what it refused.
func detail(err error) string {
	e, ok := errors.AsType[slack.SlackErrorResponse](err)
	if !ok || len(e.ResponseMetadata.Messages) == 0 {
		return ""
	}
	return e.ResponseMetadata.Messages[0]
}

// message is text and blocks, always both: an edit drops what is missing.
// Nothing is unfurled and no name in the text is looked up.
func message(m blocks.Message) []slack.MsgOption {
	return []slack.MsgOption{
		slack.MsgOptionText(m.Text, false), slack.MsgOptionBlocks(m.Blocks...), slack.MsgOptionParse(false),
		slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(),
	}
}

// edit brings a message up to date.
func (s *Sender) edit(ctx context.Context, a *attempt) next {
	sum := digest(a.post)
	if a.post.Once || sum == a.sent.Sum || a.post.At.Before(a.sent.PostAt) {
		s.note(ReasonUnchanged, a.post, "")
		return s.finish(ctx, a.item)
	}
	if hold := s.traffic.hold("chat.update"); hold > parkFor {
		// By then there may be something newer, which then comes instead.
		if err := a.d.Later(hold); err == nil {
			return next{}
		}
	}
	if err := s.traffic.wait(ctx, "chat.update", a.post.Channel, a.order); err != nil {
		return next{stop: true}
	}
	kept, cancel := s.grace(ctx)
	defer cancel()
	f := s.ladder(a.post, a.extra(), func(opts []slack.MsgOption) error {
		_, _, _, err := s.c.api.UpdateMessageContext(kept, a.post.Channel, a.sent.TS, opts...)
		return err
	})
	if n, waits := s.failed(ctx, "chat.update", a, f); waits {
		return n // an edit in the dark is made again: twice is as good as once
	}
	switch {
	case f.kind == fine:
		a.sent.Sum, a.sent.PostAt = sum, a.post.At
		if err := s.keep(kept, a); err != nil {
			return s.trouble(ctx, a.item, err)
		}
		s.note(ReasonEdited, a.post, "")
	case f.kind == orphan && a.parent == "":
		return s.rebegin(kept, a, a.post)
	default:
		// Archived since, or too old to edit: the message stands as it is.
		s.note(ReasonDead, a.post, "cannot be edited: "+fix(f.code, f.scope))
	}
	return s.finish(kept, a.item)
}
