package slackio_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/bot/slackio"
)

func TestLostAnswers(t *testing.T) {
	withHistory := append(fakeslack.DefaultScopes(), "channels:history")
	faults := map[string]fakeslack.Fault{
		"reset before": {Reset: fakeslack.Before}, "reset after": {Reset: fakeslack.After}, "502": {Status: 502}, "internal error": {Error: "internal_error"},
	}
	for name, f := range faults {
		t.Run(name+", history readable", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
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
		})
		t.Run(name+", history closed", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
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
		})
		t.Run(name+", a reply", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
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
		})
		t.Run(name+", a picture", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
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
		})
	}
	t.Run("a thread begins at the third try in the dark", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, &fakeslack.Workspace{})
			b.w.Fail("chat.postMessage", 2, fakeslack.Fault{Reset: fakeslack.After})
			_, stop := b.start(slackio.SenderOptions{})
			defer stop()
			b.put(root("i1", "a"), reply("i1", "r"))
			b.drain(time.Minute)
			got := b.shown(fakeslack.Incidents)
			if len(got) != 4 || got[3] != "i1.root/i1.r" || !strings.Contains(b.w.Transcript(), "sent 3 times perhaps") {
				t.Errorf("got %q, want three first messages and the reply\n%s", got, b.w.Transcript())
			}
		})
	})
	t.Run("what is lost over and over is given up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, &fakeslack.Workspace{})
			b.w.Fail("chat.postMessage", -1, fakeslack.Fault{Reset: fakeslack.After})
			_, stop := b.start(slackio.SenderOptions{})
			defer stop()
			b.put(root("i1", "a"))
			b.drain(time.Minute)
			b.expect(fakeslack.Incidents, "i1.root", "i1.root", "i1.root", "i1.root", "i1.root")
			if b.count(slackio.ReasonDead) != 1 {
				t.Errorf("notes %+v, want the post given up", b.notes)
			}
		})
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
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
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
		})
	}
}

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
	t.Run("everything arrives afterwards, in order, once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
	t.Run("connections are refused", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
}

func TestRandomFaults(t *testing.T) {
	for seed := range 60 {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
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
		})
	}
}
