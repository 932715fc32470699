package slackio

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/slack-go/slack"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/blocks"
)

// reply brings an answer to the person who asked, where they will see it.
func (r *Receiver) reply(ctx context.Context, in inbound, rep bot.Reply, err error) {
	outcome := "handled"
	if err != nil {
		rep, outcome = r.failure(in, err), "failed"
	}
	if rep.Form != nil {
		if err := r.open(ctx, in, *rep.Form); err != nil {
			r.log.Warn().Err(err).Str("user", in.UserID).Msg("open a form")
			rep = note("The form could not be opened in time. Please try again.")
		}
	}
	if rep.Home != nil {
		_, err := r.c.api.PublishViewContext(ctx, slack.PublishViewContextRequest{UserID: in.UserID, View: blocks.HomeView(*rep.Home)})
		if err != nil {
			r.log.Warn().Err(err).Str("user", in.UserID).Msg("publish the Home tab")
			outcome = "failed"
		}
	}
	if rep.Card != nil {
		if err := r.say(ctx, in, rep); err != nil {
			r.log.Warn().Err(err).Str("user", in.UserID).Str("channel", in.ChannelID).Msg("answer in Slack")
			outcome = "failed"
		}
	}
	if r.opts.Observe != nil {
		r.opts.Observe(in.Kind, outcome, in.acked, r.now().Sub(in.At))
	}
}

func (r *Receiver) open(ctx context.Context, in inbound, f bot.Form) error {
	v, err := blocks.Modal(f)
	if err != nil {
		return fmt.Errorf("draw a form: %w", err)
	}
	if _, err := r.c.api.OpenViewContext(ctx, in.TriggerID, v); err != nil {
		return fmt.Errorf("open a form: %w", err)
	}
	return nil
}

// say shows a card: to all in the channel or thread, or to the person alone. A
// way that Slack refuses is followed by the next.
func (r *Receiver) say(ctx context.Context, in inbound, rep bot.Reply) error {
	thread := in.ThreadTS
	if in.Kind != bot.RequestCommand && thread == "" && rep.Public {
		thread = in.MessageTS // an answer to a message stands under it
	}
	var ways []func(blocks.Message) error
	direct := func(m blocks.Message) error {
		opts := message(m)
		if thread != "" {
			opts = append(opts, slack.MsgOptionTS(thread))
		}
		_, _, err := r.c.api.PostMessageContext(ctx, in.ChannelID, opts...)
		return err
	}
	hook := func(m blocks.Message) error { return r.hook(ctx, in, rep, thread, m) }
	alone := func(m blocks.Message) error {
		opts := message(m)
		if in.ThreadTS != "" {
			opts = append(opts, slack.MsgOptionTS(in.ThreadTS))
		}
		_, err := r.c.api.PostEphemeralContext(ctx, in.ChannelID, in.UserID, opts...)
		return err
	}
	private := func(m blocks.Message) error {
		_, _, err := r.c.api.PostMessageContext(ctx, in.UserID, message(m)...)
		return err
	}
	if rep.Public && in.ChannelID != "" {
		ways = append(ways, direct)
	}
	if in.ResponseURL != "" {
		ways = append(ways, hook)
	}
	if !rep.Public && in.ChannelID != "" {
		ways = append(ways, alone)
	}
	ways = append(ways, private)
	var err error
	for _, way := range ways {
		if err = r.levels(ctx, *rep.Card, way); err == nil {
			return nil
		}
	}
	return err
}

// levels tries a way with each level of the card, and waits out a short 429.
func (r *Receiver) levels(ctx context.Context, c bot.Card, way func(blocks.Message) error) error {
	var err error
	for level := blocks.Full; level <= blocks.TextOnly; level++ {
		for range 3 {
			err = way(blocks.Render(c, level))
			f := sortFailure(err)
			if f.kind == fine {
				return nil
			}
			if f.kind != limited {
				break
			}
			pause(ctx, min(f.wait, 10*time.Second))
		}
		f := sortFailure(err)
		status, _ := err.(slack.StatusCodeError) //nolint:errorlint // a response URL answers 400 to blocks it refuses; the value is never wrapped
		if f.kind != shape && status.Code != 400 {
			return err
		}
	}
	return err
}

// hook answers at the response URL: five times within thirty minutes, of which
// we use one. It can replace only what one person saw.
func (r *Receiver) hook(ctx context.Context, in inbound, rep bot.Reply, thread string, m blocks.Message) error {
	no := false
	w := &slack.WebhookMessage{
		Text: m.Text, Parse: "none", ResponseType: slack.ResponseTypeEphemeral, ThreadTimestamp: thread,
		ReplaceOriginal: rep.Replace && in.ephemeral, UnfurlLinks: &no, UnfurlMedia: &no,
	}
	if len(m.Blocks) > 0 {
		w.Blocks = &slack.Blocks{BlockSet: m.Blocks}
	}
	if rep.Public {
		w.ResponseType = slack.ResponseTypeInChannel
	}
	return slack.PostWebhookCustomHTTPContext(ctx, in.ResponseURL, r.c.http, w)
}

// maxAckBytes is below the 20 KiB at which Slack drops an acknowledgement over
// Socket Mode.
const maxAckBytes = 18 << 10

// fitting is as many options as an acknowledgement takes.
func fitting(os []bot.Option) slack.OptionsResponse {
	for {
		res := blocks.Options(os)
		raw, err := json.Marshal(res)
		if err == nil && len(raw) <= maxAckBytes {
			return res
		}
		os = os[:len(os)/2]
	}
}
