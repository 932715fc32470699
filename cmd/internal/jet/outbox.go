package jet

import (
	"context"
	"encoding/json"
	"errors"
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
	ask  *asker
	turn chan struct{} // one waiter at a time asks the server

	mu     sync.Mutex
	flight map[string]*Post // key → what is being sent
	ready  []*Post          // waited for one that is done, and come next
}

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

// Post is one post in the sender's hands for five seconds, and for five more
// with every Touch.
type Post struct {
	o    *Outbox
	key  string // as in the subject
	m    *nats.Msg
	post bot.Post
	once sync.Once

	// Guarded by Outbox.mu.
	next    *Post // a newer one of the key, waiting for this
	touched time.Time
}

// Next returns the next post, nil when wait has passed.
func (o *Outbox) Next(ctx context.Context, wait time.Duration) (*Post, error) {
	if err := o.j.await(ctx); err != nil {
		return nil, err
	}
	var got *Post
	err := o.j.look(ctx, wait, o.hint, o.turn, func() (bool, error) {
		if got = o.waited(); got != nil {
			return true, nil
		}
		for {
			m, err := o.ask.one(ctx, outboxStream, outboxConsumer)
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
	p := &Post{o: o, m: m, key: m.Subject[min(len(outboxSubject), len(m.Subject)):], touched: time.Now()}
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
	if f := o.flight[p.key]; f != nil && f.held() {
		f.next = p // in the place of an older one, which the server no longer has
		return nil
	}
	o.flight[p.key] = p
	return p
}

// held reports whether the server still counts the post as ours. A sender that
// stopped without an answer does not keep its key. The caller holds mu.
func (p *Post) held() bool { return time.Since(p.touched) < askStale }

// waited is a post whose predecessor is done.
func (o *Outbox) waited() *Post {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.ready) > 0 {
		p := o.ready[0]
		o.ready = o.ready[1:]
		if f := o.flight[p.key]; p.held() && f == nil {
			o.flight[p.key] = p
			return p
		}
	}
	return nil
}

// Post is what to send.
func (p *Post) Post() bot.Post { return p.post }

// Touch keeps the post ours for another five seconds.
func (p *Post) Touch() error {
	p.o.mu.Lock()
	now := time.Now()
	p.touched = now
	replies := []string{p.m.Reply}
	if p.next != nil {
		p.next.touched = now
		replies = append(replies, p.next.m.Reply)
	}
	p.o.mu.Unlock()
	var err error
	for _, r := range replies {
		err = errors.Join(err, p.o.j.tell(r, []byte(ackProgress)))
	}
	return err
}

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

// settle answers once, and lets the next one of the key come.
func (p *Post) settle(answer func() error) error {
	var err error
	p.once.Do(func() {
		err = answer()
		o := p.o
		o.mu.Lock()
		if o.flight[p.key] == p {
			delete(o.flight, p.key)
		}
		if p.next != nil {
			o.ready = append(o.ready, p.next)
		}
		o.mu.Unlock()
		o.hint.give()
	})
	return err
}
