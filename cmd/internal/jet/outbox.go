package jet

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/snapflame/snapflame/bot"
)

var _ bot.Outbox = (*Outbox)(nil)

// postTries bounds how often one post is handed out; Later counts. With waits
// of seconds that is more than a day of Slack being away.
const postTries = 20_000

// Outbox holds the messages owed to Slack, the latest per key, in the order in
// which they were put. Only one process at a time should take from it (see
// Lease); within it, a key is never handed out twice at once: a newer post of a
// key whose older one is being sent waits for that.
type Outbox struct {
	j    *Jet
	hint *hint

	mu     sync.Mutex
	flight map[string]*flight // key → what is being sent
	turn   chan struct{}
}

// flight is a key that is being sent, and the newer post that waits for it.
type flight struct{ next *Post }

// Outbox is the messages owed to Slack, for bot (Put) and slackio (Next).
func (j *Jet) Outbox() *Outbox { return j.outbox }

// Put implements bot.Outbox.
func (o *Outbox) Put(ctx context.Context, p bot.Post) error {
	key, err := encodeKey(p.Key)
	if err != nil {
		return fmt.Errorf("put post: %w", err)
	}
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("put post %s: %w", p.Key, err)
	}
	if err := o.j.await(ctx); err != nil {
		return err
	}
	if _, err := o.j.send(ctx, &nats.Msg{Subject: outboxSubject + key, Data: data}, nuid.Next()); err != nil {
		return fmt.Errorf("put post %s: %w", p.Key, err)
	}
	o.hint.give()
	return nil
}

// Post is one post in the sender's hands. It is kept alive until Ack or Later,
// or until its keep-alive fails; Touch is for a sender that wants to know.
type Post struct {
	o    *Outbox
	key  string // as in the subject
	m    *nats.Msg
	post bot.Post
	quit chan struct{}
	once sync.Once
}

// Next returns the next post, nil when wait has passed.
func (o *Outbox) Next(ctx context.Context, wait time.Duration) (*Post, error) {
	if err := o.j.await(ctx); err != nil {
		return nil, err
	}
	var got *Post
	err := o.j.look(ctx, wait, o.hint, o.turn, func() (bool, error) {
		for {
			m, err := o.j.one(ctx, outboxStream, outboxConsumer)
			if m == nil || err != nil {
				return false, err
			}
			if got = o.claim(ctx, m); got != nil {
				return true, nil
			}
		}
	})
	return got, err
}

// claim makes a delivery the one of its key, or lets it wait for that one.
func (o *Outbox) claim(ctx context.Context, m *nats.Msg) *Post {
	md, _ := readMeta(m.Reply)
	p := &Post{o: o, m: m, key: m.Subject[min(len(outboxSubject), len(m.Subject)):], quit: make(chan struct{})}
	if err := json.Unmarshal(m.Data, &p.post); err != nil {
		o.j.buryMsg(ctx, outboxStream, m, md, "not a post: "+err.Error())
		return nil
	}
	if md.delivered >= postTries {
		o.j.buryMsg(ctx, outboxStream, m, md, "handed out "+itoa(md.delivered)+" times without an end")
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if f := o.flight[p.key]; f != nil {
		if f.next != nil {
			f.next.putBack()
		}
		f.next = p
		o.j.wg.Go(p.live)
		return nil
	}
	o.flight[p.key] = &flight{}
	o.j.wg.Go(p.live)
	return p
}

// live keeps the post ours.
func (p *Post) live() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-p.o.j.done:
			return
		case <-t.C:
			_ = p.Touch()
		}
	}
}

// Post is what to send.
func (p *Post) Post() bot.Post { return p.post }

// Touch keeps the post ours for another five seconds; it is done every second
// without being asked.
func (p *Post) Touch() error { return p.o.j.tell(p.m.Reply, []byte(ackProgress)) }

// Ack removes this post from the outbox, for certain when it returns. A newer
// one of its key stays.
func (p *Post) Ack(ctx context.Context) error {
	return p.settle(func() error { return p.o.j.confirm(ctx, p.m.Reply, []byte(ackAck)) })
}

// Later gives the post back, to come again at or after the delay, unless a
// newer one of its key has come meanwhile: then that comes at once.
func (p *Post) Later(delay time.Duration) error {
	return p.settle(func() error { return p.o.j.tell(p.m.Reply, nak(delay)) })
}

func (p *Post) settle(answer func() error) error {
	first, err := p.end(answer)
	if !first {
		return nil
	}
	o := p.o
	o.mu.Lock()
	f := o.flight[p.key]
	delete(o.flight, p.key)
	o.mu.Unlock()
	if f != nil && f.next != nil {
		// Back to the server, which hands it out at once: one way in, one order.
		f.next.putBack()
		o.hint.give()
	}
	return err
}

func (p *Post) putBack() {
	_, _ = p.end(func() error { return p.o.j.tell(p.m.Reply, nak(0)) })
}

// end answers once.
func (p *Post) end(answer func() error) (first bool, err error) {
	p.once.Do(func() {
		first = true
		close(p.quit)
		err = answer()
	})
	return first, err
}
