package slackio_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/bot/slackio"
)

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
	t.Run("public channel, not a member, may not join", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
	t.Run("public channel, joins by itself", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, &fakeslack.Workspace{})
			b.w.AddChannel(fakeslack.Channel{ID: other, Name: "other"})
			_, stop := b.start(slackio.SenderOptions{})
			defer stop()
			put(b, 1)
			b.drain(time.Minute)
			b.expect(other, "i0.root", "i0.root/picture", "i0.root/picture")
		})
	})
	t.Run("uploads are not allowed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
	t.Run("no scope for files", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, &fakeslack.Workspace{Scopes: []string{"chat:write"}})
			_, stop := b.start(slackio.SenderOptions{})
			defer stop()
			b.put(root("i1", "a"), pic("i1"), reply("i1", "r"))
			b.drain(time.Minute)
			if tr := b.w.Transcript(); !strings.Contains(tr, "lacks the scope files:write") || len(b.shown(fakeslack.Incidents)) != 3 {
				t.Errorf("got\n%s", tr)
			}
		})
	})
	t.Run("archived, with a default channel", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
	t.Run("archived, nowhere to go", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
	t.Run("the root was deleted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
	t.Run("the blocks are refused", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
	t.Run("the token is revoked for a while", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
	t.Run("a picture without bytes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
}
