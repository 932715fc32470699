package slackio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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

// lane is the posts in hand of one thread, in the order to send them.
type lane struct {
	items   []*item
	running bool
	stopped bool      // by the gate, with posts left
	parked  time.Time // since when the first item waits for its thread
}

type item struct {
	d       Delivery
	post    bot.Post
	order   uint64
	uploads int // of its picture, in this process
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

// thread names the lane of a post: the key of its first message.
func thread(p bot.Post) string {
	switch {
	case p.Thread != "":
		return p.Thread
	case p.ThreadTS != "":
		return p.Channel + "/" + p.ThreadTS
	}
	return p.Key
}

func (s *Sender) push(ctx context.Context, d Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	it := &item{d: d, post: d.Post(), order: s.seq}
	name := thread(it.post)
	l := s.lanes[name]
	if l == nil {
		l = &lane{}
		s.lanes[name] = l
	}
	// The first message of a thread goes first, the rest by age: a reply that is
	// edited before it was sent stands at the end of the queue.
	at, _ := slices.BinarySearchFunc(l.items, it, func(a, b *item) int {
		aRoot, bRoot := a.post.Key == name, b.post.Key == name
		switch {
		case aRoot != bRoot && aRoot:
			return -1
		case aRoot != bRoot:
			return 1
		}
		return cmp.Or(a.post.At.Compare(b.post.At), cmp.Compare(a.order, b.order))
	})
	if at == 0 && l.running {
		at = 1 // the first is being sent
	}
	l.items = slices.Insert(l.items, at, it)
	if it.post.Key == name {
		s.traffic.expect(it.post.Channel, it.order)
	}
	s.held++
	if !l.running {
		l.running, l.stopped, l.parked = true, false, time.Time{}
		s.driving.Go(func() { s.drive(ctx, name, l) })
	}
}

// drive sends a lane's posts one after the other.
func (s *Sender) drive(ctx context.Context, name string, l *lane) {
	for {
		s.mu.Lock()
		if len(l.items) == 0 {
			l.running = false
			delete(s.lanes, name)
			s.leave()
			s.mu.Unlock()
			return
		}
		it := l.items[0]
		s.mu.Unlock()
		next := s.deliver(ctx, it)
		s.traffic.forget(it.order)
		switch {
		case next.stop || (!next.over() && ctx.Err() != nil):
			s.mu.Lock()
			l.running, l.stopped = false, true
			for _, left := range l.items {
				s.traffic.forget(left.order)
			}
			s.leave()
			s.mu.Unlock()
			s.stopPulling() // round gives back what is left
			return
		case next.park:
			s.mu.Lock()
			if len(l.items) > 0 && l.items[0] == it && s.waitsForRoot(l, name) {
				l.running, l.parked = false, s.now()
				s.leave()
				s.mu.Unlock()
				return
			}
			s.mu.Unlock()
		case next.wait > 0:
			pause(ctx, next.wait)
		default:
			s.drop(l, it)
		}
	}
}

// waitsForRoot tells that the first message of the thread is not in hand; the
// caller holds mu. When it came while a reply was tried, it goes first now.
func (s *Sender) waitsForRoot(l *lane, name string) bool {
	i := slices.IndexFunc(l.items, func(it *item) bool { return it.post.Key == name })
	if i > 0 {
		root := l.items[i]
		l.items = slices.Insert(slices.Delete(l.items, i, i+1), 0, root)
	}
	return i < 0
}

func (s *Sender) drop(l *lane, it *item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(l.items, it); i >= 0 {
		l.items = slices.Delete(l.items, i, i+1)
		s.held--
		s.leave()
	}
}

// leave wakes room; the caller holds mu.
func (s *Sender) leave() {
	close(s.moved)
	s.moved = make(chan struct{})
}

// unpark gives the posts of threads that do not begin back to the queue.
func (s *Sender) unpark(all bool) {
	s.mu.Lock()
	var back []*item
	for name, l := range s.lanes {
		if !l.running && !l.parked.IsZero() && (all || s.now().Sub(l.parked) >= parkFor) {
			back = append(back, l.items...)
			s.held -= len(l.items)
			delete(s.lanes, name)
		}
	}
	if len(back) > 0 {
		s.leave()
	}
	s.mu.Unlock()
	s.later(back, parkFor)
}

func (s *Sender) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		if l.stopped {
			return true
		}
	}
	return false
}

// giveBack returns the posts of all threads at rest, oldest first.
func (s *Sender) giveBack() {
	s.mu.Lock()
	var back []*item
	for name, l := range s.lanes {
		if !l.running {
			back = append(back, l.items...)
			s.held -= len(l.items)
			delete(s.lanes, name)
		}
	}
	s.leave()
	s.mu.Unlock()
	s.later(back, 0)
}

func (s *Sender) later(back []*item, delay time.Duration) {
	slices.SortFunc(back, func(a, b *item) int { return cmp.Compare(a.order, b.order) })
	for _, it := range back {
		s.traffic.forget(it.order)
		if err := it.d.Later(delay); err != nil {
			s.log.Debug().Err(err).Str("key", it.post.Key).Msg("give a post back; it comes again by itself")
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
