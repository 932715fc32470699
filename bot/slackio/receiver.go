package slackio

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/slack-go/slack"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/blocks"
)

// ReceiverOptions tune a Receiver; the zero value takes signed HTTP requests
// once SigningSecret is set.
type ReceiverOptions struct {
	SigningSecret string
	// Sockets is how many Socket Mode connections are held, 0 for HTTP only. Slack
	// renews one by closing it and delivers to the others meanwhile, so one alone
	// would lose what comes then: take two. The Client needs its app token.
	Sockets int
	// Command is the slash command that is ours, "/profile"; empty takes any.
	Command string
	// Workers answer at the same time; Waiting may wait for one.
	Workers, Waiting int
	Logger           zerolog.Logger
	// Observe hears of each request: its kind, what became of it ("handled",
	// "failed", "repeated", "refused", "busy"), and how long the acknowledgement
	// and the answer took since it came. It must not block.
	Observe func(kind bot.RequestKind, outcome string, acked, answered time.Duration)
	Now     func() time.Time
}

const (
	defaultWorkers = 8
	defaultWaiting = 128
	handleFor      = time.Minute
	// answerWithin is how long a form or a select may wait for our answer, which
	// stands in the acknowledgement that Slack wants within 3 s.
	answerWithin = 2500 * time.Millisecond
	waitingForms = 32
)

// Receiver takes what people do in Slack to a Handler.
type Receiver struct {
	c    *Client
	h    Handler
	opts ReceiverOptions
	log  zerolog.Logger
	now  func() time.Time

	seen  *seen
	jobs  chan inbound
	forms chan struct{} // a slot for each form or select being answered

	mu    sync.Mutex
	up    map[int]bool // sockets that are connected
	fault error        // why the last socket ended
}

// NewReceiver makes a Receiver; its HTTP handlers work while Run does.
func NewReceiver(c *Client, h Handler, o ReceiverOptions) *Receiver {
	if o.Workers == 0 {
		o.Workers = defaultWorkers
	}
	if o.Waiting == 0 {
		o.Waiting = defaultWaiting
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Receiver{
		c: c, h: h, opts: o, log: o.Logger, now: o.Now,
		seen: newSeen(o.Now), jobs: make(chan inbound, o.Waiting), forms: make(chan struct{}, waitingForms), up: map[int]bool{},
	}
}

// Health is nil while something can come in.
func (r *Receiver) Health() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opts.Sockets == 0 {
		return nil
	}
	for _, up := range r.up {
		if up {
			return nil
		}
	}
	if r.fault != nil {
		return fmt.Errorf("no Socket Mode connection: %w", r.fault)
	}
	return errors.New("no Socket Mode connection yet")
}

// Run answers until ctx ends and all that was taken is answered.
func (r *Receiver) Run(ctx context.Context) error {
	var workers, sockets sync.WaitGroup
	quit := make(chan struct{})
	for range r.opts.Workers {
		workers.Go(func() { r.work(ctx, quit) })
	}
	for i := range r.opts.Sockets {
		sockets.Go(func() { r.socket(ctx, i) })
	}
	<-ctx.Done()
	sockets.Wait()
	close(quit)
	workers.Wait()
	for range waitingForms { // each slot that is free again is a form that was answered
		r.forms <- struct{}{}
	}
	for range waitingForms {
		<-r.forms
	}
	return ctx.Err()
}

// work answers one after the other. When the receiver stops, what was
// acknowledged is still answered.
func (r *Receiver) work(ctx context.Context, quit chan struct{}) {
	for {
		select {
		case in := <-r.jobs:
			r.answer(ctx, in)
			continue
		default:
		}
		select {
		case in := <-r.jobs:
			r.answer(ctx, in)
		case <-quit:
			return
		}
	}
}

// errBusy refuses a delivery so that Slack tries again.
var errBusy = errors.New("too many requests wait for an answer")

// take accepts a delivery. The payload, when there is one, goes into the
// acknowledgement.
func (r *Receiver) take(ctx context.Context, in inbound) (payload any, err error) {
	start := r.now()
	if in.Kind != bot.RequestSuggest && !r.seen.first("id "+in.once, seenFor) {
		r.observe(in.Kind, "repeated", start)
		return nil, nil
	}
	if in.Kind == bot.RequestSubmit || in.Kind == bot.RequestSuggest {
		return r.form(ctx, in, start)
	}
	in.acked = r.now().Sub(in.At)
	select {
	case r.jobs <- in:
		return nil, nil
	default:
		r.seen.forget("id " + in.once)
		r.observe(in.Kind, "busy", start)
		return nil, errBusy
	}
}

func (r *Receiver) observe(k bot.RequestKind, outcome string, start time.Time) {
	if r.opts.Observe != nil {
		d := r.now().Sub(start)
		r.opts.Observe(k, outcome, d, d)
	}
}

// form answers in the acknowledgement. A handler that is not done in time goes
// on, and what it says reaches the person as a message.
func (r *Receiver) form(ctx context.Context, in inbound, start time.Time) (any, error) {
	select {
	case r.forms <- struct{}{}:
	default:
		r.seen.forget("id " + in.once)
		r.observe(in.Kind, "busy", start)
		return nil, errBusy
	}
	type result struct {
		rep bot.Reply
		err error
	}
	done := make(chan result, 1)
	late := make(chan struct{})
	go func() {
		defer func() { <-r.forms }()
		kept, cancel := context.WithTimeout(context.WithoutCancel(ctx), handleFor)
		defer cancel()
		rep, err := r.handle(kept, in)
		in.acked = min(r.now().Sub(in.At), answerWithin)
		select {
		case <-late:
			r.reply(kept, in, rep, err)
		case done <- result{rep, err}:
			// The card goes out as a message, the rest was in the acknowledgement.
			rep.Form, rep.Options, rep.Errors = nil, nil, nil
			r.reply(kept, in, rep, err)
		}
	}()
	t := time.NewTimer(answerWithin)
	defer t.Stop()
	select {
	case res := <-done:
		return acknowledgement(in, res.rep)
	case <-t.C:
	case <-ctx.Done():
	}
	close(late)
	return nil, nil
}

// acknowledgement is what a reply puts into the answer to a form or a select.
func acknowledgement(in inbound, rep bot.Reply) (any, error) {
	switch {
	case in.Kind == bot.RequestSuggest:
		return fitting(rep.Options), nil
	case len(rep.Errors) > 0:
		return slack.NewErrorsViewSubmissionResponse(rep.Errors), nil
	case rep.Form != nil:
		v, err := blocks.Modal(*rep.Form)
		if err != nil {
			return nil, fmt.Errorf("draw the next form: %w", err)
		}
		return slack.NewUpdateViewSubmissionResponse(&v), nil
	}
	return nil, nil
}

// handle calls the Handler and outlives its panics: one request must not take
// the service down.
func (r *Receiver) handle(ctx context.Context, in inbound) (rep bot.Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return r.h.Handle(ctx, in.Request)
}

// answer handles one request from the queue and tells the person.
func (r *Receiver) answer(ctx context.Context, in inbound) {
	start := r.now()
	kept, cancel := context.WithTimeout(context.WithoutCancel(ctx), handleFor)
	defer cancel()
	if in.Kind == bot.RequestCommand && r.opts.Command != "" && in.ActionID != r.opts.Command {
		r.reply(kept, in, note("This bot answers to "+r.opts.Command+". The app's settings in Slack send it "+in.ActionID+" too: set slack.command, or remove that command there."), nil)
		return
	}
	if in.Kind == bot.RequestCommand {
		in.ActionID = ""
	}
	if in.stale {
		r.reply(kept, in, note("This button is from another version of the bot. Type the command, or use a newer message."), nil)
		return
	}
	if in.Kind == bot.RequestClick {
		key := "click " + in.ChannelID + in.MessageTS + in.ActionID + in.Value + in.UserID
		if !r.seen.first(key, clickFor) {
			r.reply(kept, in, note("You clicked this within the last minute; the answer to that click counts. Click again in a minute if you want more."), nil)
			r.observe(in.Kind, "repeated", start)
			return
		}
	}
	rep, err := r.handle(kept, in)
	r.reply(kept, in, rep, err)
}

func note(text string) bot.Reply { return bot.Reply{Card: &bot.Card{Text: text, Verdict: text}} }

// failure is the reply to a person when the Handler failed: an id to quote, and
// nothing of the error itself.
func (r *Receiver) failure(in inbound, err error) bot.Reply {
	id := "e-" + rand.Text()[:8]
	r.log.Error().Err(err).Str("error_id", id).Str("kind", string(in.Kind)).Str("user", in.UserID).Str("channel", in.ChannelID).Msg("answer a request")
	return note("That did not work because of a fault on our side. Try again; if it stays, quote " + id + ".")
}
