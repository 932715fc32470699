package slackio_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/bot/slackio"
)

// BenchmarkRoot is the time from a post in the queue to the message in Slack,
// over loopback HTTP. The yardstick beside it is the bare call.
func BenchmarkRoot(b *testing.B) {
	w := &fakeslack.Workspace{}
	base, err := w.Start(b.Context(), "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	c := slackio.NewClient(fakeslack.BotToken, slackio.ClientOptions{APIURL: base})
	b.Run("bare call", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.Home(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("post", func(b *testing.B) {
		q := newStore()
		arrived := make(chan struct{}, 1)
		s := slackio.NewSender(c, q, q, q, slackio.SenderOptions{Logger: zerolog.Nop(), Observe: func(n slackio.Note) {
			if n.Reason == slackio.ReasonSent {
				arrived <- struct{}{}
			}
		}})
		done := make(chan struct{})
		go func() { defer close(done); _ = s.Run(b.Context()) }()
		n := 0
		for b.Loop() {
			// A channel each, or the pace of one would be measured.
			id := "C0BENCH" + strconv.Itoa(n)
			w.AddChannel(fakeslack.Channel{ID: id, Name: id, Member: true})
			n++
			p := incident()
			p.Key, p.Channel, p.At, p.Card.Mention = id+".root", id, time.Now(), ""
			p.Kind = bot.PostMessage
			q.put(p)
			<-arrived
		}
	})
}
