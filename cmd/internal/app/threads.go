package app

import (
	"context"
	"strings"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/slackio"
	"github.com/snapflame/snapflame/cmd/internal/jet"
	"github.com/snapflame/snapflame/report"
)

// threads knows which incident a thread is about: what people say in a thread
// names the thread, and the ledger only knows the way from the incident to it.
type threads struct {
	*jet.SentLedger
	state *jet.State
}

var (
	_ slackio.Ledger = threads{}
	_ bot.Threads    = threads{}
)

func newThreads(j *jet.Jet) threads { return threads{j.SentLedger(), j.State()} }

func threadKey(channel, ts string) string { return "thread." + channel + "." + ts }

// PutSent implements slackio.Ledger. The way back is written before the place
// itself: a crash in between leaves a way that leads to the right incident.
func (t threads) PutSent(ctx context.Context, s bot.Sent, rev uint64) (uint64, error) {
	incident, root := strings.CutSuffix(s.Key, ".root")
	if root && s.TS != "" {
		key := threadKey(s.Channel, s.TS)
		var known string
		if at, err := t.state.Get(ctx, key, &known); err != nil || known != incident {
			if _, err := t.state.Put(ctx, key, incident, at); err != nil {
				return 0, err
			}
		}
	}
	return t.SentLedger.PutSent(ctx, s, rev)
}

// CaseOfThread implements bot.Threads.
func (t threads) CaseOfThread(ctx context.Context, channel, ts string) (string, error) {
	var incident string
	_, err := t.state.Get(ctx, threadKey(channel, ts), &incident)
	return incident, err
}

// figures reads stored profiles again for commands.
type figures struct{ a *analyst }

var _ bot.Figures = figures{}

// Report implements bot.Figures.
func (f figures) Report(ctx context.Context, id, base string) (*report.Report, error) {
	if base != bot.Baseline {
		return f.a.Report(ctx, id, base)
	}
	return f.a.withBaselines(ctx, id)
}
