package slackio_test

import (
	"bytes"
	"context"
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

// incident and report are what a real thread holds, with hostile names.
func incident() bot.Post {
	r := root("i1", "")
	r.Card = bot.Card{
		Text: "edge-gateway: MeterObject 9f2c41d7 is overloaded, 412 errors", Title: "Overloaded: MeterObject 9f2c41d7", Icon: "rotating_light", Mention: "here",
		Verdict: "412 errors in 3 minutes; CPU profile is being taken", Quote: "Durable Object is overloaded. Requests queued for too long.",
		Fields:  []bot.Field{{Label: "Worker", Value: "edge-gateway", Code: true}, {Label: "Object", Value: "9f2c41d7", Code: true}, {Label: "Version", Value: "<!channel>", Code: true}, {Label: "Errors", Value: "▁▂▅▇ 412"}},
		Context: []string{"incident i1", "rule overloaded"},
		Buttons: []bot.Button{{Action: "pf.why", Label: "Why", Value: "i1"}, {Action: "pf.silence", Label: "Silence", Options: []bot.Option{{Label: "1 hour", Value: "i1.1h"}}}},
	}
	return r
}

func report(key string) bot.Post {
	q := reply(key, "report.c1")
	q.Card = bot.Card{
		Text: "record takes 88.7 % of busy CPU", Verdict: "record takes 88.7 % of busy CPU",
		Table: &bot.Table{
			Header: []string{"Function", "Self", "Total", "Change"}, Right: []bool{false, true, true, true},
			Rows: [][]string{{"record", "88.7 %", "90.0 %", "grew"}, {"a&b<script>alert(1)</script>", "4.9 %", "4.9 %", ""}},
		},
		Sections: []bot.Section{{Heading: "Findings", Lines: []string{"One function dominates: look at meter.ts:12.", "GC takes 4.9 %."}}},
		Context:  []string{"10 s, 1 isolate, 3,821 samples, 2.4 s waiting removed"},
		Buttons:  []bot.Button{{Action: "pf.open", Label: "Open flamegraph", URL: "https://snapflame.example/captures/c1?sig=x", Primary: true}, {Action: "pf.again", Label: "Capture again", Value: "c1"}},
	}
	return q
}
