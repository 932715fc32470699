package slackio_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/bot/slackio"
)

// store is queue, ledger and files in memory, with the rules of the real ones:
// one post per key, compare-and-set, a delivery is somebody's until it is given
// back.
// crash gives everything back, as a queue does when its taker has died.
// bench is a sender against a fake workspace, in simulated time.
// start runs a sender and returns what stops it.
// drain lets simulated time pass until the queue is empty.
// shown is a channel as text: keys in order, replies behind their thread's key.
func TestThreadIsSentInOrder(t *testing.T) {
	t.Run("queue order", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
	t.Run("the root was edited before it was sent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
	t.Run("more replies than may be held", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
	t.Run("a later thread begins before the reports of earlier ones", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, &fakeslack.Workspace{Burst: 4})
			_, stop := b.start(slackio.SenderOptions{})
			defer stop()
			for i := range 8 {
				b.put(root(fmt.Sprintf("i%02d", i), "x"), reply(fmt.Sprintf("i%02d", i), "report"))
			}
			synctest.Wait() // what was free to go has gone
			before := len(b.w.Log())
			for i := range 20 {
				b.put(root(fmt.Sprintf("j%02d", i), "x"))
			}
			// Edits of what stands behind its thread's own replies must not hold anybody up.
			for i := range 8 {
				b.put(root(fmt.Sprintf("i%02d", i), "edited"))
			}
			b.drain(5 * time.Minute)
			var posts []string
			for _, c := range b.w.Log() {
				if c.Method == "chat.postMessage" && c.Effect {
					posts = append(posts, c.Key)
				}
			}
			last := slices.IndexFunc(posts, func(k string) bool { return k == "j19.root" })
			early := 0
			for _, k := range posts[:last] {
				if strings.HasSuffix(k, "report") {
					early++
				}
			}
			if early > before+1 { // those of the burst, and the one that was on its way
				t.Errorf("%d reports before the last first message: %q", early, posts)
			}
			if len(posts) != 36 {
				t.Errorf("%d posts, want 36: %q", len(posts), posts)
			}
		})
	})
	t.Run("another channel is not held up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
}

func TestPaceOfAChannel(t *testing.T) {
	t.Run("a burst and then one a second", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
}

func TestEdits(t *testing.T) {
	t.Run("the newest wins and nothing is sent twice", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
	t.Run("once is once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
	t.Run("edits wait out a 429 and the newest comes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
}

func TestEveryMethodRateLimited(t *testing.T) {
	for _, method := range []string{"chat.postMessage", "files.getUploadURLExternal", "upload", "files.completeUploadExternal", "chat.update"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
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
		})
	}
}

// refuseAfter makes the ledger fail for ever from the n-th matching write on:
// to the sender that is the moment it dies.
// TestRandomFaults throws everything at a sender and looks at what people see.
func TestGoldenTranscript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &fakeslack.Workspace{AllowMentions: []string{"<!here>"}, ShareDelay: time.Second})
		_, stop := b.start(slackio.SenderOptions{})
		defer stop()
		b.put(incident())
		time.Sleep(2 * time.Second)
		b.put(report("i1"), pic("i1"))
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
