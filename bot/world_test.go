package bot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/report"
)

// world is a Commander with everything it asks, in memory, at a clock of its own.
type world struct {
	*store
	t       *testing.T
	now     time.Time
	desk    *bot.Desk
	m       *bot.Commander
	permit  bot.Permit
	workers []string
	whole   bool // the list of Workers is complete
	threads map[string]string
	status  bot.Status
	objects []bot.ObjectRow
	reports map[string]*report.Report
	rows    []bot.DecisionRow
	fail    error // of Report
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{store: newStore(), t: t, now: start, threads: map[string]string{}, reports: map[string]*report.Report{}, whole: true}
	w.workers = []string{"checkout", "checkout-eu", "room-api", "edge-gateway", "shop-production"}
	newID := ids()
	w.desk, w.m = w.replica(newID)
	return w
}

// replica is another process on the same store.
func (w *world) replica(newID func() string) (*bot.Desk, *bot.Commander) {
	clock := func() time.Time { return w.now }
	p := &process{s: w.store}
	silences := bot.NewSilences(states{w.store})
	d := bot.NewDesk(p, p, p, bot.DeskOptions{
		NewID: newID, State: states{w.store}, Analyst: analyst(conclusive), Now: clock, Silences: silences,
		Writer: bot.Writer{Links: links{}}, Routing: bot.Routing{Channel: "C0DEFAULT"},
	})
	m := bot.NewCommander(d, w, bot.CommanderOptions{
		Writer: bot.Writer{Links: links{}}, Permit: func() bot.Permit { return w.permit }, Silences: silences,
		Switch: bot.NewSwitch(states{w.store}, nil), Audit: bot.NewAudit(states{w.store}), Figures: w, Workers: w, Objects: w,
		Decisions: w, Threads: w, Statuses: w, Now: clock,
		Routing: func() bot.Routing {
			return bot.Routing{Channel: "C0DEFAULT", Routes: []bot.Route{{Class: "exceeded_memory", Script: "checkout*", Channel: "C0MEM"}}}
		},
	})
	return d, m
}

func (w *world) records() (all []capture.Record) {
	add := func(raw []byte) {
		for _, v := range decode(raw).Captures {
			all = append(all, v.Record)
		}
	}
	for _, e := range w.open {
		add(e.raw)
	}
	for _, raw := range w.archive {
		add(raw)
	}
	slices.SortFunc(all, func(a, b capture.Record) int { return strings.Compare(b.ID, a.ID) })
	return all
}

func (w *world) ListCases(context.Context, bot.CaseQuery) ([]bot.CaseRow, string, uint64, error) {
	return nil, "", 0, nil
}

func (w *world) ListCaptures(_ context.Context, _, script string, limit int, _ string) (out []capture.Record, next string, err error) {
	for _, r := range w.records() {
		if (script == "" || r.Target.Script == script) && len(out) < limit {
			out = append(out, r)
		}
	}
	return out, "", nil
}

func (w *world) Record(_ context.Context, id string) (capture.Record, uint64, error) {
	for _, r := range w.records() {
		if r.ID == id {
			return r, 1, nil
		}
	}
	return capture.Record{}, 0, capture.ErrNotFound
}

func (w *world) Report(_ context.Context, id, base string) (*report.Report, error) {
	if w.fail != nil {
		return nil, w.fail
	}
	r, ok := w.reports[id+"|"+base]
	if !ok {
		return nil, capture.ErrNotFound
	}
	if r == nil {
		return nil, &bot.Refusal{Reason: "unlike", Sentence: "CPU cannot be compared with heap."}
	}
	return r, nil
}

func (w *world) Workers(_ context.Context, query string, limit int) (names []string, complete bool, err error) {
	for _, n := range w.workers {
		if strings.Contains(n, query) && len(names) < limit {
			names = append(names, n)
		}
	}
	return names, w.whole, nil
}

func (w *world) Objects(context.Context, string, int) (bot.ObjectList, error) {
	return bot.ObjectList{Since: start.Add(-time.Hour), Window: "5 min", Objects: w.objects}, nil
}

func (w *world) Decisions(_ context.Context, script string, _ int) ([]bot.DecisionRow, error) {
	if script != "edge-gateway" {
		return nil, nil
	}
	return w.rows, nil
}

func (w *world) CaseOfThread(_ context.Context, _, ts string) (string, error) {
	id, ok := w.threads[ts]
	if !ok {
		return "", capture.ErrNotFound
	}
	return id, nil
}

func (w *world) Status(context.Context) (bot.Status, error) { return w.status, nil }

func (w *world) say(text string) bot.Reply {
	w.t.Helper()
	return w.do(bot.Request{Kind: bot.RequestCommand, Text: text})
}

func (w *world) click(action, value string) bot.Reply {
	w.t.Helper()
	return w.do(bot.Request{Kind: bot.RequestClick, ActionID: action, Value: value})
}

// do asks as Alice in #ops, unless the request says otherwise.
func (w *world) do(r bot.Request) bot.Reply {
	w.t.Helper()
	if r.UserID == "" {
		r.UserID = "U0ALICE"
	}
	if r.ChannelID == "" && r.Kind != bot.RequestHome {
		r.ChannelID = "C0OPS"
	}
	got, err := w.m.Handle(w.t.Context(), r)
	if err != nil {
		w.t.Fatalf("%s %q: %v", r.Kind, r.Text+r.ActionID, err)
	}
	if got.Card != nil {
		checkCard(w.t, r.Text+r.ActionID, *got.Card)
		for _, b := range got.Card.Buttons {
			if b.Action != "pf.run" {
				continue
			}
			if _, usage := bot.ParseCommand(b.Value); usage != nil {
				w.t.Errorf("%q offers %q, which is no command: %s", r.Text, b.Value, usage.Why)
			}
		}
	}
	return got
}

// finish runs the queued captures to the end.
func (w *world) finish() {
	w.t.Helper()
	for key, job := range w.queue {
		delete(w.queue, key)
		finish(w.t.Context(), w.t, w.desk, job)
	}
	w.now = w.now.Add(11 * time.Second)
}

func (w *world) queued() (jobs []capture.Job) {
	for _, j := range w.queue {
		jobs = append(jobs, j)
	}
	return jobs
}

// said is the whole of a reply, as the person sees it.
func said(r bot.Reply) string {
	var b bytes.Buffer
	if r.Public {
		b.WriteString("(for all)\n")
	}
	if r.Card != nil {
		b.WriteString(transcript(*r.Card))
	}
	if r.Form != nil {
		fmt.Fprintf(&b, "FORM %s [%s] %s\n", r.Form.Title, r.Form.Submit, r.Form.State)
		for _, in := range r.Form.Inputs {
			fmt.Fprintf(&b, "  %-8s %-20s %-8s %q optional=%v %s\n", in.ID, in.Label, in.Kind, in.Initial, in.Optional, in.Hint)
		}
	}
	for id, e := range r.Errors {
		fmt.Fprintf(&b, "ERROR %s: %s\n", id, e)
	}
	for _, o := range r.Options {
		fmt.Fprintf(&b, "OPTION %s = %s\n", o.Label, o.Value)
	}
	if r.Home != nil {
		for _, c := range r.Home.Cards {
			b.WriteString(transcript(c) + "\n")
		}
	}
	return b.String()
}

var errSlack = errors.New("slack does not answer")

type groups map[string][]string

func (g groups) InGroup(_ context.Context, user, group string) (bool, error) {
	if group == "S0BROKEN" {
		return false, errSlack
	}
	return slices.Contains(g[group], user), nil
}
