package slackio_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/bot/slackio"
	"github.com/snapflame/snapflame/capture"
)

// store is queue, ledger and files in memory, with the rules of the real ones:
// one post per key, compare-and-set, a delivery is somebody's until it is given
// back.
type store struct {
	mu     sync.Mutex
	seq    uint64
	posts  map[string]*queued
	sent   map[string]bot.Sent
	revs   map[string]uint64
	files  map[string][]byte
	wake   chan struct{}
	onPut  func(bot.Sent) error
	onAck  func(string) error
	frozen bool
}

type queued struct {
	post  bot.Post
	seq   uint64
	taken bool
	after time.Time
}

func newStore() *store {
	return &store{posts: map[string]*queued{}, sent: map[string]bot.Sent{}, revs: map[string]uint64{}, files: map[string][]byte{}, wake: make(chan struct{})}
}

func (s *store) changed() { close(s.wake); s.wake = make(chan struct{}) }

func (s *store) put(posts ...bot.Post) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range posts {
		s.seq++
		q := &queued{post: p, seq: s.seq}
		if old := s.posts[p.Key]; old != nil && old.taken {
			q.after = time.Time{}.Add(1) // waits for the older one
			q.taken = false
			s.posts[p.Key+"\x00next"] = q
			continue
		}
		s.posts[p.Key] = q
	}
	s.changed()
}

func (s *store) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.posts)
}

func (s *store) Next(ctx context.Context) (slackio.Delivery, error) {
	for {
		s.mu.Lock()
		var best *queued
		now, soon := time.Now(), time.Hour
		for k, q := range s.posts {
			if q.taken || s.frozen || strings.HasSuffix(k, "\x00next") {
				continue
			}
			if d := q.after.Sub(now); d > 0 {
				soon = min(soon, d)
				continue
			}
			if best == nil || q.seq < best.seq {
				best = q
			}
		}
		wake := s.wake
		if best != nil {
			best.taken = true
			s.mu.Unlock()
			return &delivery{s, best}, nil
		}
		s.mu.Unlock()
		t := time.NewTimer(soon)
		select {
		case <-wake:
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, ctx.Err()
		}
		t.Stop()
	}
}

type delivery struct {
	s *store
	q *queued
}

func (d *delivery) Post() bot.Post { return d.q.post }

func (d *delivery) Ack(context.Context) error {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	if d.s.onAck != nil {
		if err := d.s.onAck(d.q.post.Key); err != nil {
			return err
		}
	}
	delete(d.s.posts, d.q.post.Key)
	d.s.promote(d.q.post.Key)
	return nil
}

func (d *delivery) Later(wait time.Duration) error {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	d.q.taken, d.q.after = false, time.Now().Add(wait)
	if d.s.posts[d.q.post.Key+"\x00next"] != nil {
		delete(d.s.posts, d.q.post.Key)
		d.s.promote(d.q.post.Key)
	}
	d.s.changed()
	return nil
}

func (s *store) promote(key string) {
	if n := s.posts[key+"\x00next"]; n != nil {
		delete(s.posts, key+"\x00next")
		n.after = time.Time{}
		s.posts[key] = n
	}
	s.changed()
}

// crash gives everything back, as a queue does when its taker has died.
func (s *store) crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.posts {
		q.taken = false
	}
	s.onPut, s.onAck = nil, nil
}

func (s *store) Sent(_ context.Context, key string) (bot.Sent, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revs[key] == 0 {
		return bot.Sent{}, 0, capture.ErrNotFound
	}
	return s.sent[key], s.revs[key], nil
}

func (s *store) PutSent(_ context.Context, v bot.Sent, rev uint64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.onPut != nil {
		if err := s.onPut(v); err != nil {
			return 0, err
		}
	}
	if s.revs[v.Key] != rev {
		return 0, capture.ErrConflict
	}
	s.sent[v.Key] = v
	s.revs[v.Key]++
	return s.revs[v.Key], nil
}

func (s *store) OpenFile(_ context.Context, name string) (io.ReadCloser, int64, error) {
	b, ok := s.files[name]
	if !ok {
		return nil, 0, capture.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader(b)), int64(len(b)), nil
}

// bench is a sender against a fake workspace, in simulated time.
type bench struct {
	*testing.T
	*store
	w     *fakeslack.Workspace
	notes []slackio.Note
	mu    sync.Mutex
}

func newBench(t *testing.T, w *fakeslack.Workspace) *bench {
	t.Helper()
	b := &bench{T: t, store: newStore(), w: w}
	var img bytes.Buffer
	if err := png.Encode(&img, image.NewGray(image.Rect(0, 0, 16, 4))); err != nil {
		t.Fatal(err)
	}
	b.files["p1"] = img.Bytes()
	return b
}

// start runs a sender and returns what stops it.
func (b *bench) start(o slackio.SenderOptions) (*slackio.Sender, func()) {
	c := slackio.NewClient(fakeslack.BotToken, slackio.ClientOptions{APIURL: "http://slack.test/api/", HTTP: &http.Client{Transport: b.w.Transport(), Timeout: 15 * time.Second}})
	o.Observe = func(n slackio.Note) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.notes = append(b.notes, n)
	}
	s := slackio.NewSender(c, b.store, b.store, b.store, o)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Run(ctx)
	}()
	return s, func() { cancel(); <-done }
}

func (b *bench) count(r slackio.Reason) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, note := range b.notes {
		if note.Reason == r {
			n++
		}
	}
	return n
}

// drain lets simulated time pass until the queue is empty.
func (b *bench) drain(limit time.Duration) {
	b.Helper()
	end := time.Now().Add(limit)
	for b.left() > 0 {
		if time.Now().After(end) {
			b.Fatalf("%d posts are left after %s; notes %+v", b.left(), limit, b.notes[max(0, len(b.notes)-6):])
		}
		time.Sleep(50 * time.Millisecond)
	}
	synctest.Wait()
}

// shown is a channel as text: keys in order, replies behind their thread's key.
func (b *bench) shown(channel string) []string {
	var out []string
	keys := map[string]string{}
	for _, m := range b.w.Messages(channel) {
		k := m.Key()
		if len(m.Files) > 0 {
			k = "picture"
		}
		if k == "" {
			k = m.Text
		}
		keys[m.TS] = k
		if m.ThreadTS != "" {
			k = keys[m.ThreadTS] + "/" + k
		}
		out = append(out, k)
	}
	return out
}

func (b *bench) expect(channel string, want ...string) {
	b.Helper()
	if got := b.shown(channel); !slices.Equal(got, want) {
		b.Errorf("the channel shows %q, want %q\n%s", got, want, b.w.Transcript())
	}
	if v := b.w.Violations(); len(v) > 0 {
		b.Errorf("violations: %q", v)
	}
}

func sim(t *testing.T, name string, f func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func root(key, text string) bot.Post {
	return bot.Post{Key: key + ".root", Channel: fakeslack.Incidents, Kind: bot.PostMessage, At: time.Now(), Card: bot.Card{Text: text, Title: text, Verdict: "v"}}
}

func reply(key, name string) bot.Post {
	return bot.Post{Key: key + "." + name, Thread: key + ".root", Channel: fakeslack.Incidents, Kind: bot.PostMessage, At: time.Now(), Card: bot.Card{Text: name, Verdict: name}}
}

func pic(key string) bot.Post {
	return bot.Post{
		Key: key + ".png.1", Thread: key + ".root", Channel: fakeslack.Incidents, Kind: bot.PostFile, At: time.Now(),
		File: &bot.File{Object: "p1", Name: "flamegraph.png", Title: "Flamegraph", Alt: "record 88 %"}, Card: bot.Card{Text: "record takes 88 %"},
	}
}

func TestThreadIsSentInOrder(t *testing.T) {
	sim(t, "queue order", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{ShareDelay: 2 * time.Second})
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		b.put(root("i1", "one"))
		time.Sleep(time.Millisecond)
		b.put(reply("i1", "report"))
		time.Sleep(time.Millisecond)
		b.put(pic("i1"))
		b.drain(time.Minute)
		time.Sleep(3 * time.Second)
		b.expect(fakeslack.Incidents, "i1.root", "i1.root/i1.report", "i1.root/picture")
	})
	sim(t, "the root was edited before it was sent", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{})
		r := reply("i1", "a")
		time.Sleep(time.Millisecond)
		q := reply("i1", "b")
		time.Sleep(time.Millisecond)
		b.put(r, q, root("i1", "edited"))
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		b.drain(time.Minute)
		b.expect(fakeslack.Incidents, "i1.root", "i1.root/i1.a", "i1.root/i1.b")
	})
	sim(t, "more replies than may be held", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{})
		var want []string
		for i := range 12 {
			b.put(reply("i1", fmt.Sprintf("r%02d", i)))
			want = append(want, fmt.Sprintf("i1.root/i1.r%02d", i))
			time.Sleep(time.Millisecond)
		}
		b.put(root("i1", "late"))
		_, stop := b.start(slackio.SenderOptions{Hold: 4})
		defer stop()
		b.drain(5 * time.Minute)
		got := b.shown(fakeslack.Incidents)
		slices.Sort(got)
		if !slices.Equal(got, append([]string{"i1.root"}, want...)) {
			t.Errorf("got %q", got)
		}
	})
	sim(t, "another channel is not held up", func(t *testing.T) {
		w := &fakeslack.Workspace{}
		w.AddChannel(fakeslack.Channel{ID: "C0OTHER0000", Name: "other", Member: true})
		b := newBench(t, w)
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		for i := range 30 {
			b.put(root(fmt.Sprintf("i%02d", i), "busy"))
		}
		synctest.Wait()
		p := root("x", "quiet")
		p.Channel = "C0OTHER0000"
		b.put(p)
		start := time.Now()
		synctest.Wait()
		b.expect("C0OTHER0000", "x.root")
		if d := time.Since(start); d != 0 {
			t.Errorf("it took %s of simulated time, want none", d)
		}
	})
}

func TestPaceOfAChannel(t *testing.T) {
	sim(t, "a burst and then one a second", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{Burst: 4})
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		var want []string
		for i := range 20 {
			b.put(root(fmt.Sprintf("i%02d", i), "x"))
			want = append(want, fmt.Sprintf("i%02d.root", i))
		}
		b.drain(time.Minute)
		b.expect(fakeslack.Incidents, want...)
		for _, c := range b.w.Log() {
			if c.Error == "ratelimited" {
				t.Fatalf("Slack had to say 429 at %s", c.At)
			}
		}
	})
}

func TestEdits(t *testing.T) {
	sim(t, "the newest wins and nothing is sent twice", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{})
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		first := root("i1", "first")
		b.put(first)
		b.drain(time.Minute)
		time.Sleep(time.Second)
		second := root("i1", "second")
		b.put(second)
		b.drain(time.Minute)
		b.put(second) // redelivered
		b.drain(time.Minute)
		b.put(first) // an older revision, late
		b.drain(time.Minute)
		m := b.w.Messages(fakeslack.Incidents)
		if len(m) != 1 || m[0].Text != "second" || len(m[0].Edits) != 1 || m[0].Blocks == nil {
			t.Errorf("got %+v", m)
		}
		if got := b.count(slackio.ReasonUnchanged); got != 2 {
			t.Errorf("%d posts found unchanged, want 2", got)
		}
	})
	sim(t, "once is once", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{})
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		p := root("i1", "a")
		p.Once = true
		b.put(p)
		b.drain(time.Minute)
		p.Card.Text = "b"
		b.put(p)
		b.drain(time.Minute)
		if m := b.w.Messages(fakeslack.Incidents); len(m) != 1 || m[0].Text != "a" {
			t.Errorf("got %+v", m)
		}
	})
	sim(t, "edits wait out a 429 and the newest comes", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{})
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		b.put(root("i1", "v0"))
		b.drain(time.Minute)
		b.w.Fail("chat.update", 1, fakeslack.Fault{Status: 429, RetryAfter: 30 * time.Second})
		for i := range 10 {
			time.Sleep(time.Second)
			b.put(root("i1", fmt.Sprintf("v%d", i+1)))
		}
		b.drain(2 * time.Minute)
		m := b.w.Messages(fakeslack.Incidents)
		if m[0].Text != "v10" || len(m[0].Edits) > 2 {
			t.Errorf("got %q after %d edits, want v10 after one or two", m[0].Text, len(m[0].Edits))
		}
	})
}

func TestEveryMethodRateLimited(t *testing.T) {
	for _, method := range []string{"chat.postMessage", "files.getUploadURLExternal", "upload", "files.completeUploadExternal", "chat.update"} {
		sim(t, method, func(t *testing.T) {
			b := newBench(t, &fakeslack.Workspace{})
			b.w.Fail(method, 2, fakeslack.Fault{Status: 429, RetryAfter: 7 * time.Second})
			_, stop := b.start(slackio.SenderOptions{})
			defer stop()
			start := time.Now()
			b.put(root("i1", "a"), pic("i1"))
			time.Sleep(time.Second)
			b.put(root("i1", "b"))
			b.drain(2 * time.Minute)
			b.expect(fakeslack.Incidents, "i1.root", "i1.root/picture")
			if m := b.w.Messages(fakeslack.Incidents)[0]; m.Text != "b" {
				t.Errorf("the root says %q, want b", m.Text)
			}
			if d := time.Since(start); d < 14*time.Second {
				t.Errorf("it took %s; Retry-After was 7 s twice", d)
			}
			early := 0
			var last time.Time
			for _, c := range b.w.Log() {
				if c.Method == method {
					if !last.IsZero() && c.At.Sub(last) < 7*time.Second {
						early++
					}
					last = time.Time{}
					if c.Status == 429 {
						last = c.At
					}
				}
			}
			if early > 0 {
				t.Errorf("%d calls came before Retry-After had passed", early)
			}
		})
	}
}

func TestLostAnswers(t *testing.T) {
	withHistory := append(fakeslack.DefaultScopes(), "channels:history")
	faults := map[string]fakeslack.Fault{
		"reset before": {Reset: fakeslack.Before}, "reset after": {Reset: fakeslack.After}, "502": {Status: 502}, "internal error": {Error: "internal_error"},
	}
	for name, f := range faults {
		sim(t, name+", history readable", func(t *testing.T) {
			b := newBench(t, &fakeslack.Workspace{Scopes: withHistory})
			b.w.Fail("chat.postMessage", 1, f)
			_, stop := b.start(slackio.SenderOptions{})
			defer stop()
			b.put(root("i1", "a"), reply("i1", "r"))
			b.drain(time.Minute)
			b.expect(fakeslack.Incidents, "i1.root", "i1.root/i1.r")
			if strings.Contains(b.w.Transcript(), "sent twice") {
				t.Error("the message says that it may stand twice, but the history told")
			}
		})
		sim(t, name+", history closed", func(t *testing.T) {
			b := newBench(t, &fakeslack.Workspace{})
			b.w.Fail("chat.postMessage", 1, f)
			_, stop := b.start(slackio.SenderOptions{})
			defer stop()
			b.put(root("i1", "a"))
			b.drain(time.Minute)
			want := []string{"i1.root"}
			if f.Reset == fakeslack.After {
				want = append(want, "i1.root")
			}
			b.expect(fakeslack.Incidents, want...)
			if n := strings.Count(b.w.Transcript(), "sent twice perhaps"); n != 1 {
				t.Errorf("the note stands %d times, want once:\n%s", n, b.w.Transcript())
			}
		})
		sim(t, name+", a reply", func(t *testing.T) {
			b := newBench(t, &fakeslack.Workspace{Scopes: withHistory})
			_, stop := b.start(slackio.SenderOptions{})
			defer stop()
			b.put(root("i1", "a"))
			b.drain(time.Minute)
			b.w.Fail("chat.postMessage", 1, f)
			b.put(reply("i1", "r"))
			b.drain(time.Minute)
			b.expect(fakeslack.Incidents, "i1.root", "i1.root/i1.r")
		})
		sim(t, name+", a picture", func(t *testing.T) {
			for _, scopes := range [][]string{withHistory, nil} {
				b := newBench(t, &fakeslack.Workspace{Scopes: scopes})
				b.w.Fail("files.completeUploadExternal", 1, f)
				_, stop := b.start(slackio.SenderOptions{})
				b.put(root("i1", "a"), pic("i1"))
				b.drain(time.Minute)
				got := b.shown(fakeslack.Incidents)
				if len(got) > 3 || len(got) < 2 || (scopes != nil && len(got) != 2) {
					t.Errorf("history %v: %q", scopes != nil, got)
				}
				stop()
			}
		})
	}
	sim(t, "a second loss in the dark is given up", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{})
		b.w.Fail("chat.postMessage", -1, fakeslack.Fault{Reset: fakeslack.After})
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		b.put(root("i1", "a"))
		b.drain(time.Minute)
		b.expect(fakeslack.Incidents, "i1.root", "i1.root")
		if b.count(slackio.ReasonDead) != 1 {
			t.Errorf("notes %+v, want the post given up", b.notes)
		}
	})
}

func TestKilledBetweenSendAndRecord(t *testing.T) {
	withHistory := append(fakeslack.DefaultScopes(), "channels:history")
	points := map[string]func(*store, int){
		"after the claim": func(s *store, n int) { s.onPut = refuseAfter(n*2-1, nil) },
		"after the send": func(s *store, n int) {
			s.onPut = refuseAfter(n*2-1, func(v bot.Sent) bool { return v.TS != "" || !v.SentAt.IsZero() })
		},
		"before the ack": func(s *store, _ int) { s.onAck = func(string) error { return context.DeadlineExceeded } },
	}
	for name, arm := range points {
		sim(t, name, func(t *testing.T) {
			b := newBench(t, &fakeslack.Workspace{Scopes: withHistory})
			arm(b.store, 1)
			_, stop := b.start(slackio.SenderOptions{})
			b.put(root("i1", "a"), reply("i1", "r"), pic("i1"))
			time.Sleep(3 * time.Second)
			stop()
			b.crash()
			_, stop = b.start(slackio.SenderOptions{})
			defer stop()
			b.drain(time.Minute)
			got := b.shown(fakeslack.Incidents)
			slices.Sort(got)
			if want := []string{"i1.root", "i1.root/i1.r", "i1.root/picture"}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// refuseAfter makes the ledger fail for ever from the n-th matching write on:
// to the sender that is the moment it dies.
func refuseAfter(n int, match func(bot.Sent) bool) func(bot.Sent) error {
	seen := 0
	return func(v bot.Sent) error {
		if match == nil || match(v) {
			seen++
		}
		if (match == nil && seen > n) || (match != nil && seen >= n && match(v)) {
			return context.DeadlineExceeded
		}
		return nil
	}
}

func TestOutageOfAnHour(t *testing.T) {
	sim(t, "everything arrives afterwards, in order, once", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{Burst: 4})
		s, stop := b.start(slackio.SenderOptions{})
		defer stop()
		b.put(root("i00", "before"))
		b.drain(time.Minute)
		b.w.Outage(true)
		want := []string{"i00.root"}
		var replies []string
		for i := range 30 {
			k := fmt.Sprintf("j%02d", i)
			b.put(root(k, "first"))
			time.Sleep(time.Minute)
			b.put(reply(k, "report"))
			time.Sleep(time.Minute)
			b.put(root(k, "last"))
			want = append(want, k+".root")
			replies = append(replies, k+".root/"+k+".report")
		}
		if s.Health() == nil {
			t.Error("the sender thinks it is healthy")
		}
		calls := len(b.w.Log())
		if calls > 300 {
			t.Errorf("%d calls in an hour of outage", calls)
		}
		b.w.Outage(false)
		b.drain(10 * time.Minute)
		got := b.shown(fakeslack.Incidents)
		var roots, rest []string
		for _, g := range got {
			if strings.Contains(g, "/") {
				rest = append(rest, g)
			} else {
				roots = append(roots, g)
			}
		}
		if !slices.Equal(roots, want) {
			t.Errorf("roots %q\nwant  %q", roots, want)
		}
		slices.Sort(rest)
		if !slices.Equal(rest, replies) {
			t.Errorf("replies %q\nwant %q", rest, replies)
		}
		for _, m := range b.w.Messages(fakeslack.Incidents) {
			if m.ThreadTS == "" && m.Text != "last" && m.Text != "before" {
				t.Errorf("%s says %q, want the newest", m.Key(), m.Text)
			}
		}
		if s.Health() != nil {
			t.Errorf("afterwards: %v", s.Health())
		}
	})
	sim(t, "connections are refused", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{Scopes: append(fakeslack.DefaultScopes(), "channels:history")})
		b.w.Fail("*", -1, fakeslack.Fault{Reset: fakeslack.Before})
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		b.put(root("i1", "a"), reply("i1", "r"))
		time.Sleep(time.Hour)
		b.w.Heal()
		b.drain(5 * time.Minute)
		b.expect(fakeslack.Incidents, "i1.root", "i1.root/i1.r")
	})
}

func TestWhatStillWorksIsDoneAndSaidOnce(t *testing.T) {
	const other = "C0OTHER0000"
	put := func(b *bench, n int) {
		for i := range n {
			k := fmt.Sprintf("i%d", i)
			r, p, q := root(k, "a"), pic(k), pic(k)
			r.Channel, p.Channel, q.Channel = other, other, other
			q.Key += "b"
			b.put(r, p, q)
		}
	}
	sim(t, "public channel, not a member, may not join", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{Scopes: []string{"chat:write", "chat:write.public", "files:write"}})
		b.w.AddChannel(fakeslack.Channel{ID: other, Name: "other"})
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		put(b, 1)
		b.drain(time.Minute)
		b.expect(other, "i0.root", "i0.root/i0.root.note.picture")
		if !strings.Contains(b.w.Transcript(), "/invite") {
			t.Errorf("nobody is told to invite the bot:\n%s", b.w.Transcript())
		}
	})
	sim(t, "public channel, joins by itself", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{})
		b.w.AddChannel(fakeslack.Channel{ID: other, Name: "other"})
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		put(b, 1)
		b.drain(time.Minute)
		b.expect(other, "i0.root", "i0.root/picture", "i0.root/picture")
	})
	sim(t, "uploads are not allowed", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{})
		b.w.Fail("files.getUploadURLExternal", -1, fakeslack.Fault{Error: "file_uploads_disabled"})
		b.w.AddChannel(fakeslack.Channel{ID: other, Name: "other", Member: true})
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		put(b, 2)
		b.drain(time.Minute)
		if n := strings.Count(b.w.Transcript(), "does not allow uploads"); n != 2 {
			t.Errorf("said %d times in two threads:\n%s", n, b.w.Transcript())
		}
	})
	sim(t, "no scope for files", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{Scopes: []string{"chat:write"}})
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		b.put(root("i1", "a"), pic("i1"), reply("i1", "r"))
		b.drain(time.Minute)
		if tr := b.w.Transcript(); !strings.Contains(tr, "lacks the scope files:write") || len(b.shown(fakeslack.Incidents)) != 3 {
			t.Errorf("got\n%s", tr)
		}
	})
	sim(t, "archived, with a default channel", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{})
		b.w.AddChannel(fakeslack.Channel{ID: other, Name: "other", Member: true, Archived: true})
		_, stop := b.start(slackio.SenderOptions{Fallback: fakeslack.Incidents})
		defer stop()
		r, q := root("i1", "a"), reply("i1", "r")
		r.Channel, q.Channel = other, other
		b.put(r, q)
		b.drain(time.Minute)
		b.expect(fakeslack.Incidents, "i1.root", "i1.root/i1.r")
		if n := strings.Count(b.w.Transcript(), "the channel is archived"); n != 1 {
			t.Errorf("the reason stands %d times:\n%s", n, b.w.Transcript())
		}
	})
	sim(t, "archived, nowhere to go", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{})
		b.w.AddChannel(fakeslack.Channel{ID: other, Name: "other", Member: true, Archived: true})
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		put(b, 1)
		b.drain(time.Minute)
		if n := len(b.w.Log()); n != 1 {
			t.Errorf("%d calls, want one refused post", n)
		}
	})
	sim(t, "the root was deleted", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{})
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		b.put(root("i1", "a"))
		b.drain(time.Minute)
		b.w.Delete(fakeslack.Incidents, b.w.Messages(fakeslack.Incidents)[0].TS)
		b.put(reply("i1", "r"))
		b.drain(time.Minute)
		b.expect(fakeslack.Incidents, "i1.root", "i1.root/i1.r")
		time.Sleep(time.Second)
		b.put(root("i1", "newest"))
		b.drain(time.Minute)
		b.expect(fakeslack.Incidents, "i1.root", "i1.root/i1.r")
		if tr := b.w.Transcript(); !strings.Contains(tr, "newest") || !strings.Contains(tr, "was deleted") {
			t.Errorf("got\n%s", tr)
		}
		for _, m := range b.w.Messages(fakeslack.Incidents) {
			if m.ThreadTS == "" {
				b.w.Delete(fakeslack.Incidents, m.TS)
			}
		}
		time.Sleep(time.Second)
		b.put(root("i1", "again"), reply("i1", "s"))
		b.drain(time.Minute)
		if got := b.shown(fakeslack.Incidents); len(got) != 1 {
			t.Errorf("after the second deletion the channel shows %q", got)
		}
	})
	sim(t, "the blocks are refused", func(t *testing.T) {
		for i, code := range []string{"invalid_blocks", "msg_blocks_too_long", "msg_too_long"} {
			b := newBench(t, &fakeslack.Workspace{})
			b.w.Fail("chat.postMessage", 3, fakeslack.Fault{Error: code})
			_, stop := b.start(slackio.SenderOptions{})
			b.put(root("i1", "a"))
			b.drain(time.Minute)
			m := b.w.Messages(fakeslack.Incidents)
			if len(m) != 1 || m[0].Blocks != nil || !strings.Contains(m[0].Text, "a") || b.count(slackio.ReasonSimpler) != 3 {
				t.Errorf("%d %s: got %+v", i, code, m)
			}
			stop()
		}
	})
	sim(t, "the token is revoked for a while", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{})
		b.w.Fail("*", -1, fakeslack.Fault{Error: "token_revoked"})
		s, stop := b.start(slackio.SenderOptions{})
		defer stop()
		b.put(root("i1", "a"))
		time.Sleep(10 * time.Minute)
		if err := s.Health(); err == nil || !strings.Contains(err.Error(), "SLACK_BOT_TOKEN") {
			t.Errorf("health: %v", err)
		}
		if n := len(b.w.Log()); n > 25 {
			t.Errorf("%d calls with a revoked token", n)
		}
		b.w.Heal()
		b.drain(time.Minute)
		b.expect(fakeslack.Incidents, "i1.root")
	})
	sim(t, "a picture without bytes", func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{})
		b.files["p1"] = nil
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		b.put(root("i1", "a"), pic("i1"))
		b.drain(time.Minute)
		for _, c := range b.w.Log() {
			if strings.HasPrefix(c.Method, "files.") {
				t.Errorf("%s was called for nothing", c.Method)
			}
		}
	})
}

// TestRandomFaults throws everything at a sender and looks at what people see.
func TestRandomFaults(t *testing.T) {
	for seed := range 60 {
		sim(t, fmt.Sprint(seed), func(t *testing.T) {
			b := newBench(t, &fakeslack.Workspace{Scopes: append(fakeslack.DefaultScopes(), "channels:history"), Burst: 4})
			n := uint64(seed)*2654435761 + 12345
			var mu sync.Mutex
			random := func(k int) int {
				mu.Lock()
				defer mu.Unlock()
				n = n*6364136223846793005 + 1442695040888963407
				return int(n>>33) % k
			}
			b.w.Hook = func(c fakeslack.Call) *fakeslack.Fault {
				if c.Method == "auth.test" || random(4) > 0 {
					return nil
				}
				kinds := 7
				if c.Method == "upload" {
					kinds = 6 // its answer has no error codes
				}
				return &[]fakeslack.Fault{
					{Status: 429, RetryAfter: time.Second}, {Status: 503}, {Status: 500}, {Reset: fakeslack.Before}, {Reset: fakeslack.After}, {Delay: 20 * time.Second}, {Error: "internal_error"},
				}[random(kinds)]
			}
			_, stop := b.start(slackio.SenderOptions{})
			want := map[string]bool{}
			for i := range 8 {
				k := fmt.Sprintf("i%d", i)
				b.put(root(k, "a"), reply(k, "r"), pic(k))
				want[k+".root"], want[k+".root/"+k+".r"] = true, true
				time.Sleep(time.Duration(random(5000)) * time.Millisecond)
				if random(3) == 0 {
					stop()
					b.crash()
					_, stop = b.start(slackio.SenderOptions{})
				}
				b.put(root(k, "newest"))
			}
			b.drain(2 * time.Hour)
			stop()
			pictures := 0
			for _, g := range b.shown(fakeslack.Incidents) {
				switch {
				case strings.HasSuffix(g, "/picture"):
					pictures++
				case !want[g]:
					t.Errorf("%q is there twice or unasked", g)
				}
				delete(want, g)
			}
			if len(want) > 0 {
				t.Errorf("missing: %v", want)
			}
			if pictures != 8 {
				t.Errorf("%d pictures, want 8", pictures)
			}
		})
	}
}

func TestGoldenTranscript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{AllowMentions: []string{"<!here>"}, ShareDelay: time.Second})
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		r := root("i1", "edge-gateway: MeterObject 9f2c41d7 is overloaded")
		r.Card = bot.Card{
			Text: "edge-gateway: MeterObject 9f2c41d7 is overloaded, 412 errors", Title: "Overloaded: MeterObject 9f2c41d7", Icon: "rotating_light", Mention: "here",
			Verdict: "412 errors in 3 minutes; CPU profile is being taken", Quote: "Durable Object is overloaded. Requests queued for too long.",
			Fields:  []bot.Field{{Label: "Worker", Value: "edge-gateway", Code: true}, {Label: "Object", Value: "9f2c41d7", Code: true}, {Label: "Version", Value: "<!channel>", Code: true}, {Label: "Errors", Value: "▁▂▅▇ 412"}},
			Context: []string{"incident i1", "rule overloaded"},
			Buttons: []bot.Button{{Action: "pf.why", Label: "Why", Value: "i1"}, {Action: "pf.silence", Label: "Silence", Options: []bot.Option{{Label: "1 hour", Value: "i1.1h"}}}},
		}
		b.put(r)
		time.Sleep(2 * time.Second)
		q := reply("i1", "report.c1")
		q.Card = bot.Card{
			Text: "record takes 88.7 % of busy CPU", Verdict: "record takes 88.7 % of busy CPU",
			Table:    &bot.Table{Header: []string{"Function", "Self", "Total", "Change"}, Right: []bool{false, true, true, true}, Rows: [][]string{{"record", "88.7 %", "90.0 %", "grew"}, {"a&b<script>", "4.9 %", "4.9 %", ""}}},
			Sections: []bot.Section{{Heading: "Findings", Lines: []string{"One function dominates: look at meter.ts:12.", "GC takes 4.9 %."}}},
			Context:  []string{"10 s, 1 isolate, 3,821 samples, 2.4 s waiting removed"},
			Buttons:  []bot.Button{{Action: "pf.open", Label: "Open flamegraph", URL: "https://snapflame.example/captures/c1?sig=x", Primary: true}, {Action: "pf.again", Label: "Capture again", Value: "c1"}},
		}
		b.put(q, pic("i1"))
		time.Sleep(2 * time.Second)
		b.drain(time.Minute)
		b.expect(fakeslack.Incidents, "i1.root", "i1.root/i1.report.c1", "i1.root/picture")
		golden(t, "thread.txt", b.w.Transcript())
	})
}

func TestMetadataHoldsIDsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{})
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		b.put(root("i1", "secret words"))
		b.drain(time.Minute)
		var md map[string]any
		if err := json.Unmarshal(b.w.Messages(fakeslack.Incidents)[0].Metadata, &md); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(md); got != "map[event_payload:map[key:i1.root] event_type:snapflame_post]" {
			t.Errorf("got %s", got)
		}
	})
}
