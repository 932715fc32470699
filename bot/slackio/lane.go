package slackio

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/snapflame/snapflame/bot"
)

// lane is the posts in hand of one thread, in the order to send them.
type lane struct {
	items   []*item
	running bool
	stopped bool      // by the gate, with posts left
	begun   bool      // its first message is in the channel
	parked  time.Time // since when the first item waits for its thread
}

// rootsFirst is how many posts that came later a thread's first message may
// still go before. Slack takes one message a second in a channel: in a storm of
// thirty incidents the last would else be announced after the reports of the
// first. Bounded, so that no report waits for ever.
const rootsFirst = 60

type item struct {
	d       Delivery
	post    bot.Post
	order   uint64
	uploads int       // of its picture, in this process
	seen    time.Time // when a claim of the future was found
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
	it := &item{d: d, post: d.Post(), order: 2 * s.seq}
	name := thread(it.post)
	if it.post.Key != name {
		it.order += 2*rootsFirst + 1 // odd, so that no two are the same
	}
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
	if it.post.Key == name && !l.begun {
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

// begun notes that a reply of the thread can be sent. What is in hand of its
// first message is an edit then, and nobody waits for it: it may stand behind a
// reply that waits itself.
func (s *Sender) begun(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[name]
	if l == nil || l.begun {
		return
	}
	l.begun = true
	for _, it := range l.items {
		if it.post.Key == name {
			s.traffic.forget(it.order)
		}
	}
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
