package slackio

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
)

// next is what a lane does after a try: go on (the post is done), try again
// after a wait, wait for the first message of the thread, or stop.
type next struct {
	wait time.Duration
	park bool
	stop bool
}

// over tells that the post needs nothing more.
func (n next) over() bool { return n == next{} }

// again is the wait after a failure of ours (the ledger, the store).
const again = time.Second

// attempt is one post with what the ledger knows of it.
type attempt struct {
	*item
	sent   bot.Sent
	rev    uint64
	parent string // ts of the thread, empty for a first message
	root   bot.Sent
}

// deliver brings one post as far as it goes now.
func (s *Sender) deliver(ctx context.Context, it *item) next {
	if !it.post.At.IsZero() && s.now().Sub(it.post.At) > s.opts.MaxAge {
		s.note(ReasonDead, it.post, "older than a day")
		return s.finish(ctx, it)
	}
	a := &attempt{item: it}
	var err error
	if a.sent, a.rev, err = s.known(ctx, it.post.Key); err != nil {
		return s.trouble(ctx, it, err)
	}
	if a.sent.Dead {
		return s.finish(ctx, it)
	}
	if n, ok := s.place(ctx, a); !ok {
		return n
	}
	switch {
	case it.post.Kind == bot.PostFile:
		return s.upload(ctx, a)
	case a.sent.TS != "":
		return s.edit(ctx, a)
	case !a.sent.ClaimedAt.IsZero():
		return s.settle(ctx, a)
	}
	return s.send(ctx, a)
}

// known reads the ledger; a post that was never claimed is no error.
func (s *Sender) known(ctx context.Context, key string) (bot.Sent, uint64, error) {
	sent, rev, err := s.ledger.Sent(ctx, key)
	if errors.Is(err, capture.ErrNotFound) {
		return bot.Sent{Key: key}, 0, nil
	}
	if err != nil {
		return sent, rev, fmt.Errorf("look up %s: %w", key, err)
	}
	return sent, rev, nil
}

// place finds the thread and the channel that a post belongs to. The thread
// decides: it may stand in another channel than the post was meant for.
func (s *Sender) place(ctx context.Context, a *attempt) (next, bool) {
	switch {
	case a.post.Thread != "" && a.post.Thread != a.post.Key:
		root, _, err := s.known(ctx, a.post.Thread)
		switch {
		case err != nil:
			return s.trouble(ctx, a.item, err), false
		case root.Dead:
			s.note(ReasonDead, a.post, "its thread could not be begun: "+root.Note)
			return s.finish(ctx, a.item), false
		case root.TS == "":
			return next{park: true}, false
		}
		a.root, a.parent, a.post.Channel = root, root.TS, root.Channel
		s.begun(a.post.Thread)
	case a.post.ThreadTS != "":
		a.parent = a.post.ThreadTS
	case a.sent.Channel != "":
		a.post.Channel = a.sent.Channel
	}
	return next{}, true
}

// finish removes the post from the queue.
func (s *Sender) finish(ctx context.Context, it *item) next {
	kept, cancel := s.grace(ctx)
	defer cancel()
	if err := it.d.Ack(kept); err != nil {
		// It comes again and is found sent.
		s.log.Debug().Err(err).Str("key", it.post.Key).Msg("acknowledge a post")
	}
	return next{}
}

// grace outlives the sender by a little, for what must not stop half-way.
func (s *Sender) grace(ctx context.Context) (context.Context, context.CancelFunc) {
	kept, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-kept.Done():
		}
	})
	return kept, func() { stop(); cancel() }
}

// trouble is a failure on our side: the post waits, in order.
func (s *Sender) trouble(ctx context.Context, it *item, err error) next {
	if ctx.Err() != nil {
		return next{stop: true}
	}
	s.log.Warn().Err(err).Str("key", it.post.Key).Msg("slack delivery waits")
	return next{wait: again}
}

// put writes the ledger. On a conflict somebody else has moved the post on:
// the attempt starts over.
func (s *Sender) put(ctx context.Context, a *attempt) error {
	a.sent.Key = a.post.Key
	rev, err := s.ledger.PutSent(ctx, a.sent, a.rev)
	if err != nil {
		return fmt.Errorf("record %s: %w", a.post.Key, err)
	}
	a.rev = rev
	return nil
}

// keep records the outcome of a call that had an effect. Losing it would make
// a question of it, so it is tried for a while and past conflicts.
func (s *Sender) keep(ctx context.Context, a *attempt) error {
	var err error
	for range 5 {
		if err = s.put(ctx, a); err == nil {
			return nil
		}
		if _, rev, e := s.known(ctx, a.post.Key); e == nil {
			a.rev = rev
		}
		pause(ctx, 200*time.Millisecond)
	}
	return err
}

// doubt records that a call's effect is not known as of now: the time to settle
// counts from the end of the call, which may have taken long.
func (s *Sender) doubt(ctx, kept context.Context, a *attempt, f failure) next {
	a.sent.ClaimedAt = s.now()
	if err := s.keep(kept, a); err != nil {
		s.log.Debug().Err(err).Str("key", a.post.Key).Msg("record a doubt")
	}
	s.shut(ctx, a.post, ReasonDown, f)
	return next{stop: true}
}

// failed sorts what a call's failure means for the traffic, and tells whether
// the post just waits. Whoever gets false decides by the failure's kind.
func (s *Sender) failed(ctx context.Context, method string, a *attempt, f failure) (next, bool) {
	switch f.kind {
	case limited:
		s.note(ReasonLimited, a.post, method+" for "+f.wait.String())
		s.traffic.block(method, f.wait)
		return next{wait: time.Millisecond}, true
	case down, ambiguous:
		s.shut(ctx, a.post, ReasonDown, f)
		return next{stop: true}, true
	case locked:
		s.shut(ctx, a.post, ReasonLocked, f)
		return next{stop: true}, true
	default:
		return next{}, false
	}
}

// shut closes the gate and begins to knock: Slack is asked whether it is back,
// less and less often, and everything waits.
func (s *Sender) shut(ctx context.Context, p bot.Post, r Reason, f failure) {
	why := fmt.Errorf("slack is not reachable (%s)", f.code)
	if r == ReasonLocked {
		why = errors.New(fix(f.code, f.scope))
		s.lock(why)
	}
	if ctx.Err() != nil || !s.traffic.shut(why) {
		return
	}
	s.note(r, p, why.Error())
	s.knocks.Go(func() { s.knock(ctx, r) })
}

const (
	firstKnock  = time.Second
	lastKnock   = 30 * time.Second
	lockedKnock = 30 * time.Second
)

func (s *Sender) knock(ctx context.Context, r Reason) {
	defer s.traffic.open()
	wait := firstKnock
	if r == ReasonLocked {
		// A missing scope does not show in auth.test: the next post tries.
		pause(ctx, lockedKnock)
		return
	}
	for {
		pause(ctx, wait)
		if ctx.Err() != nil {
			return
		}
		_, err := s.c.api.AuthTestContext(ctx)
		f := sortFailure(err)
		switch f.kind {
		case down, ambiguous:
			wait = min(wait*2, lastKnock)
		case limited:
			wait = f.wait
		default:
			return
		}
	}
}

// digest tells one content from another.
func digest(p bot.Post) string {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(struct {
		Card bot.Card
		File *bot.File
	}{p.Card, p.File}); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
