package slackio

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/slack-go/slack/socketmode"

	"github.com/snapflame/snapflame/bot"
)

const (
	socketReadLimit = 4 << 20
	socketAgain     = 5 * time.Second
	socketAgainMost = 5 * time.Minute
)

// socket keeps one Socket Mode connection until ctx ends. The library renews it
// when Slack asks; it gives up on a token that is refused, which an operator may
// repair while we run.
func (r *Receiver) socket(ctx context.Context, i int) {
	wait := socketAgain
	for ctx.Err() == nil {
		start := r.now()
		err := r.connect(ctx, i)
		if ctx.Err() != nil {
			return
		}
		if r.now().Sub(start) > time.Minute {
			wait = socketAgain
		}
		r.mark(i, false, errors.New(fix(sortFailure(err).code, "connections:write")))
		r.log.Warn().Err(err).Int("connection", i).Dur("again_in", wait).Msg("socket mode ended")
		pause(ctx, wait)
		wait = min(wait*2, socketAgainMost)
	}
}

// mark notes the state of a connection and logs what is news of it: a library
// that tries again by itself says nothing, and a bot without a connection looks
// well until somebody types.
func (r *Receiver) mark(i int, up bool, fault error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.up[i] = up
	switch {
	case up && r.fault != nil:
		r.fault = nil
		r.log.Info().Msg("socket mode connected")
	case fault != nil && (r.fault == nil || r.fault.Error() != fault.Error()):
		r.fault = fault
		r.log.Warn().Err(fault).Msg("no socket mode connection")
	}
}

// connect runs one client of the library with a reader of its events.
func (r *Receiver) connect(ctx context.Context, i int) error {
	sm := socketmode.New(r.c.api, socketmode.OptionReadLimit(socketReadLimit), socketmode.OptionLog(quiet{}))
	done := make(chan struct{})
	var reading, answering sync.WaitGroup
	reading.Go(func() {
		for {
			select {
			case e := <-sm.Events:
				r.event(ctx, sm, i, e, &answering)
			case <-done:
				return
			}
		}
	})
	err := sm.RunContext(ctx)
	close(done)
	reading.Wait()
	answering.Wait()
	r.mark(i, false, nil)
	return err
}

// event takes one event off the wire. It must not wait: the reader of the
// socket stands behind it.
func (r *Receiver) event(ctx context.Context, sm *socketmode.Client, i int, e socketmode.Event, answering *sync.WaitGroup) {
	switch e.Type {
	case socketmode.EventTypeHello:
		r.mark(i, true, nil)
		return
	case socketmode.EventTypeConnecting:
		r.mark(i, false, nil)
		return
	case socketmode.EventTypeInvalidAuth:
		r.mark(i, false, errors.New("SLACK_APP_TOKEN is refused: it must begin with xapp- and have the scope connections:write"))
		return
	case socketmode.EventTypeConnectionError:
		r.mark(i, false, errors.New("slack cannot be reached"))
		return
	case socketmode.EventTypeErrorBadMessage:
		r.unknown(ctx, sm, e, answering)
		return
	case socketmode.EventTypeSlashCommand, socketmode.EventTypeInteractive, socketmode.EventTypeEventsAPI:
	default:
		return // errors of reading and writing: the library connects again
	}
	d := map[socketmode.EventType]door{
		socketmode.EventTypeSlashCommand: doorCommand, socketmode.EventTypeInteractive: doorInteraction, socketmode.EventTypeEventsAPI: doorEvent,
	}[e.Type]
	if e.Request == nil {
		return
	}
	r.envelope(ctx, sm, d, *e.Request, answering)
}

func (r *Receiver) envelope(ctx context.Context, sm *socketmode.Client, d door, req socketmode.Request, answering *sync.WaitGroup) {
	in, err := parse(d, req.Payload, nil, r.now())
	if err != nil {
		r.ack(ctx, sm, req.EnvelopeID, nil)
		if !errors.Is(err, errNotForUs) {
			r.log.Warn().Err(err).Msg("socket mode")
		}
		return
	}
	in.retry = req.RetryAttempt
	if in.Kind == bot.RequestSubmit || in.Kind == bot.RequestSuggest {
		answering.Go(func() {
			payload, err := r.take(ctx, in)
			if !errors.Is(err, errBusy) {
				r.ack(ctx, sm, req.EnvelopeID, payload)
			}
		})
		return
	}
	_, err = r.take(ctx, in)
	switch {
	case errors.Is(err, errBusy) && in.Kind == bot.RequestCommand:
		r.ack(ctx, sm, req.EnvelopeID, busy())
	case errors.Is(err, errBusy): // not acknowledged: Slack delivers it again
	default:
		r.ack(ctx, sm, req.EnvelopeID, nil)
	}
}

func (r *Receiver) ack(ctx context.Context, sm *socketmode.Client, id string, payload any) {
	kept, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := sm.AckCtx(kept, id, payload); err != nil {
		r.log.Warn().Err(err).Msg("acknowledge over socket mode")
	}
}

// unknown acknowledges what the library cannot read, or reads by ourselves:
// otherwise Slack would deliver it again and again.
func (r *Receiver) unknown(ctx context.Context, sm *socketmode.Client, e socketmode.Event, answering *sync.WaitGroup) {
	bad, ok := e.Data.(*socketmode.ErrorBadMessage)
	if !ok {
		return
	}
	var req socketmode.Request
	if json.Unmarshal(bad.Message, &req) != nil || req.EnvelopeID == "" {
		return
	}
	d, known := map[string]door{
		socketmode.RequestTypeSlashCommands: doorCommand, socketmode.RequestTypeInteractive: doorInteraction, socketmode.RequestTypeEventsAPI: doorEvent,
	}[req.Type]
	if !known {
		r.ack(ctx, sm, req.EnvelopeID, nil)
		return
	}
	r.envelope(ctx, sm, d, req, answering)
}

// quiet takes the library's own log lines; at its level of detail they hold
// addresses with tickets, so only their number matters.
type quiet struct{}

func (q quiet) Output(int, string) error { return nil }
