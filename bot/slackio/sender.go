package slackio

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/snapflame/snapflame/bot"
)

// SenderOptions tune a Sender; the zero value is right.
type SenderOptions struct {
	// Fallback is the channel id for threads whose own channel takes nothing.
	Fallback string
	// Hold is how many posts are in hand at once.
	Hold int
	// MaxAge is how old a post may become before it is dropped, a day.
	MaxAge time.Duration
	Logger zerolog.Logger
	// Observe hears of every delivery. It must not block.
	Observe func(Note)
	Now     func() time.Time
}

const (
	defaultHold   = 200
	defaultMaxAge = 24 * time.Hour
	// settleAfter is how long after a claim the absence of its message is
	// believed: a request of a process that died may still be on its way.
	settleAfter = 2 * time.Second
	// parkFor is how long replies wait in hand for the first message of their
	// thread, which stands behind them in the queue when it was edited meanwhile.
	parkFor = 2 * time.Second
	// grace is how long a call that has begun may go on when the sender stops,
	// so that stopping makes no question of it.
	grace = 5 * time.Second
)

// Sender brings posts to Slack. One must run at a time; that another might have
// died a moment ago is provided for.
type Sender struct {
	c      *Client
	queue  Queue
	ledger Ledger
	files  Files
	opts   SenderOptions
	log    zerolog.Logger
	now    func() time.Time

	traffic *traffic
	driving sync.WaitGroup // lanes that run
	knocks  sync.WaitGroup

	mu     sync.Mutex
	lanes  map[string]*lane
	held   int
	seq    uint64
	moved  chan struct{} // closed when a post left our hands
	pull   context.CancelFunc
	joined map[string]bool // channels that we tried to join
	locked error           // the token was refused; nil again after a success
}

// NewSender makes a Sender; Run starts it.
func NewSender(c *Client, q Queue, l Ledger, f Files, o SenderOptions) *Sender {
	if o.Hold == 0 {
		o.Hold = defaultHold
	}
	if o.MaxAge == 0 {
		o.MaxAge = defaultMaxAge
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Sender{
		c: c, queue: q, ledger: l, files: f, opts: o, log: o.Logger, now: o.Now,
		traffic: newTraffic(o.Now), lanes: map[string]*lane{}, moved: make(chan struct{}), joined: map[string]bool{},
	}
	s.traffic.onShut = s.stopPulling
	return s
}

// Health is nil while messages can be sent, else why not.
func (s *Sender) Health() error {
	if why := s.traffic.state().why; why != nil {
		return why
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.locked
}

// lock remembers why the token does not work, beyond the pause after which the
// next post tries; nil forgets it.
func (s *Sender) lock(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locked = why
}

// Run sends until ctx ends, and returns when nothing is in hand any more.
func (s *Sender) Run(ctx context.Context) error {
	sweep := time.NewTicker(parkFor / 4)
	defer sweep.Stop()
	swept := make(chan struct{})
	stop := make(chan struct{})
	go func() {
		defer close(swept)
		for {
			select {
			case <-stop:
				return
			case <-sweep.C:
				s.unpark(false)
			}
		}
	}()
	for ctx.Err() == nil {
		if err := s.round(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errShut) {
			s.log.Warn().Err(err).Msg("take the next post")
			pause(ctx, time.Second)
		}
	}
	s.driving.Wait()
	s.knocks.Wait()
	close(stop)
	<-swept
	s.giveBack()
	return ctx.Err()
}

// round takes one post, or waits while the gate is shut. While it is, nothing
// is in hand: what comes when it opens again is the newest, in order.
func (s *Sender) round(ctx context.Context) error {
	if g := s.traffic.state(); g.why != nil {
		s.driving.Wait()
		s.giveBack()
		select {
		case <-g.opened:
		case <-ctx.Done():
		}
		return nil
	}
	if s.stopped() {
		s.giveBack() // the gate shut and opened again since
	}
	if !s.room(ctx) {
		return nil
	}
	pull, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.pull = cancel
	s.mu.Unlock()
	if s.traffic.state().why != nil { // shut before it could cancel us
		return nil
	}
	d, err := s.queue.Next(pull)
	if err != nil {
		if pull.Err() != nil {
			return errShut
		}
		return fmt.Errorf("take the next post: %w", err)
	}
	if d != nil {
		s.push(ctx, d)
	}
	return nil
}

func (s *Sender) stopPulling() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pull != nil {
		s.pull()
	}
}

// room waits until another post may be held. When all that is held waits for
// threads that are not begun, it goes back: what begins them is further behind.
func (s *Sender) room(ctx context.Context) bool {
	for {
		s.mu.Lock()
		moved, full := s.moved, s.held >= s.opts.Hold
		busy := false
		for _, l := range s.lanes {
			busy = busy || l.running
		}
		s.mu.Unlock()
		if !full {
			return true
		}
		if s.traffic.state().why != nil {
			return false
		}
		if !busy {
			s.unpark(true)
			continue
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return false
		}
	}
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// note logs and counts what happened.
func (s *Sender) note(r Reason, p bot.Post, detail string) {
	n := Note{Reason: r, Key: p.Key, Channel: p.Channel, Detail: detail}
	if !p.At.IsZero() {
		n.Took = s.now().Sub(p.At)
	}
	level := zerolog.DebugLevel
	switch r {
	case ReasonUnchanged, ReasonReconciled:
	case ReasonSent, ReasonEdited, ReasonUploaded, ReasonResent:
		s.lock(nil)
	default:
		level = zerolog.WarnLevel
	}
	s.log.WithLevel(level).Str("reason", string(r)).Str("key", p.Key).Str("channel", p.Channel).Str("incident", p.IncidentID).Str("detail", detail).Msg("slack delivery")
	if s.opts.Observe != nil {
		s.opts.Observe(n)
	}
}
