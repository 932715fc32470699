package bot

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

// quiet silences a Worker, or ends that.
func (m *Commander) quiet(ctx context.Context, r Request, cmd Command) (Reply, error) {
	if usage := cmd.Missing(); usage != nil {
		return Reply{}, usage
	}
	if err := m.permit(ctx, r, cmd.Verb, cmd.String()); err != nil {
		return Reply{}, err
	}
	if m.o.Silences == nil {
		return Reply{}, &Refusal{Reason: RefusedUnknown, Sentence: "Silences are not kept in this process."}
	}
	if cmd.Verb == VerbUnsilence {
		return m.unsilence(ctx, r, cmd)
	}
	if !strings.ContainsAny(cmd.Worker, "*?[") { // else it is a pattern
		if err := m.known(ctx, cmd); err != nil {
			return Reply{}, err
		}
	}
	cmd.Anyway = false
	if cmd.Duration == 0 {
		cmd.Duration = m.o.SilenceDefault
	}
	if cmd.Duration > m.o.SilenceMax {
		most := cmd
		most.Duration = m.o.SilenceMax
		return Reply{}, &UsageError{
			Read: cmd.String(), Topic: VerbSilence,
			Why: fmt.Sprintf("%s is longer than a silence may be (%s).", span(cmd.Duration), span(m.o.SilenceMax)),
			Try: []Suggestion{{Label: "Silence for " + span(m.o.SilenceMax), Command: most.String()}},
		}
	}
	now := m.o.Now()
	s := triggers.Silence{ID: silenceKey(cmd.Worker), Script: cmd.Worker, Until: now.Add(cmd.Duration), By: orText(clip(r.UserName, 80), r.UserID)}
	if err := m.o.Silences.Add(ctx, s); err != nil {
		return Reply{}, err
	}
	m.audit(ctx, r, cmd.Verb, cmd.String(), "silenced until "+stamp(s.Until), "")
	text := silenceWords(s, now) + " Its events open no incidents until then; open ones go on."
	return Reply{Card: &Card{
		Icon: "no_bell", Verdict: text, Text: text,
		Buttons: []Button{{Action: "pf.run", Label: "Unsilence", Value: Command{Verb: VerbUnsilence, Worker: cmd.Worker}.String()}},
	}}, nil
}

func (m *Commander) unsilence(ctx context.Context, r Request, cmd Command) (Reply, error) {
	found, err := m.o.Silences.Remove(ctx, cmd.Worker, m.o.Now())
	if err != nil {
		return Reply{}, err
	}
	if found {
		m.audit(ctx, r, cmd.Verb, cmd.String(), "unsilenced", "")
		text := cmd.Worker + " is not silenced any more."
		return Reply{Card: &Card{Icon: "bell", Verdict: text, Text: text}}, nil
	}
	usage := &UsageError{Read: cmd.String(), Why: fmt.Sprintf("`%s` is not silenced.", clip(cmd.Worker, 80)), Topic: VerbUnsilence}
	list, err := m.o.Silences.List(ctx, m.o.Now())
	if err != nil {
		return Reply{}, err
	}
	for _, s := range firstN(list, maxCandidates) {
		usage.Try = append(usage.Try, Suggestion{
			Label:   "Unsilence " + clip(s.Script, 50),
			Command: Command{Verb: VerbUnsilence, Worker: s.Script}.String(),
		})
	}
	return Reply{}, usage
}

// pause stops captures from starting, everywhere, or lets them start again.
func (m *Commander) pause(ctx context.Context, r Request, cmd Command) (Reply, error) {
	if err := m.permit(ctx, r, cmd.Verb, cmd.String()); err != nil {
		return Reply{}, err
	}
	if m.o.Switch == nil {
		return Reply{}, &Refusal{Reason: RefusedUnknown, Sentence: "Captures cannot be paused in this process; set capture.enabled to false."}
	}
	now := m.o.Now()
	if cmd.Verb == VerbResume {
		_, paused := m.o.Switch.Paused(ctx, now)
		if err := m.o.Switch.Resume(ctx); err != nil {
			return Reply{}, err
		}
		text := "Captures start again; those that waited come first."
		if p, off := m.o.Switch.Paused(ctx, now); off && p.Off {
			text = p.Sentence(now)
		} else if !paused {
			text = "Captures were not paused."
		} else {
			m.audit(ctx, r, cmd.Verb, cmd.String(), "resumed", "")
		}
		return Reply{Card: &Card{Icon: "arrow_forward", Verdict: text, Text: text}}, nil
	}
	p := Pause{By: r.UserID, Name: clip(r.UserName, 80), At: now}
	if cmd.Duration > 0 {
		p.Until = now.Add(cmd.Duration)
	}
	if err := m.o.Switch.Pause(ctx, p); err != nil {
		return Reply{}, err
	}
	m.audit(ctx, r, cmd.Verb, cmd.String(), "paused", "")
	text := p.Sentence(now) + " Incidents still open, and their captures wait."
	return Reply{Card: &Card{
		Icon: "double_vertical_bar", Verdict: text, Text: text,
		Buttons: []Button{{Action: "pf.run", Label: "Resume captures", Value: string(VerbResume)}},
	}}, nil
}

// status says what runs, what waits and for what, what is silenced, and how the
// service does.
func (m *Commander) status(ctx context.Context) (Reply, error) {
	cards, text, err := m.state(ctx)
	if err != nil {
		return Reply{}, err
	}
	card := Card{Title: "Status", Icon: "satellite_antenna", Text: text, Verdict: text}
	for _, c := range cards {
		card.Sections = append(card.Sections, c.Sections...)
		card.Buttons = append(card.Buttons, c.Buttons...)
	}
	return Reply{Card: &card}, nil
}

// state is the cards that status and the App Home share, and a sentence.
func (m *Commander) state(ctx context.Context) (cards []Card, text string, err error) {
	now := m.o.Now()
	var s Status
	if m.o.Statuses != nil {
		if s, err = m.o.Statuses.Status(ctx); err != nil {
			return nil, "", fmt.Errorf("read the status: %w", err)
		}
	}
	running := Card{Text: "Running now", Sections: []Section{{Heading: "Running now", Lines: progressLines(s.Running, now)}}}
	waiting := Section{Heading: "Waiting, most urgent first", Lines: progressLines(s.Waiting, now)}
	if s.PerHour > 0 {
		waiting.Text = fmt.Sprintf("%d of %d captures of this hour are used.", s.UsedHour, s.PerHour)
	}
	if now.Before(s.BlockedUntil) {
		waiting.Text += " Cloudflare's rate limit holds until " + clock(s.BlockedUntil) + " UTC."
	}
	cards = append(cards, running, Card{Text: "Waiting", Sections: []Section{waiting}})
	text = fmt.Sprintf("%d running, %d waiting.", len(s.Running), len(s.Waiting))
	if p, paused := m.o.Switch.Paused(ctx, now); paused {
		text = p.Sentence(now) + " " + text
		cards = append(cards, Card{Text: p.Sentence(now), Sections: []Section{{Heading: "Paused", Text: p.Sentence(now)}}, Buttons: p.resume()})
	}
	silences, err := m.silenceCard(ctx, now)
	if err != nil {
		return nil, "", err
	}
	cards = append(cards, silences)
	health := Section{Heading: "Health"}
	words := []string{text}
	for _, c := range s.Health {
		mark := "ok"
		if !c.OK {
			mark = "NOT OK"
			words = append(words, c.Name+": "+c.Text)
		}
		if c.OK && c.Text == mark {
			c.Text = ""
		}
		health.Lines = append(health.Lines, c.Name+": "+mark+suffixed(", ", c.Text))
	}
	if len(health.Lines) == 0 {
		health.Text = "Nothing is reported in this process."
	}
	return append(cards, Card{Text: "Health", Sections: []Section{health}}), strings.Join(words, " "), nil
}

// progressLines says where captures stand, with what they profile.
func progressLines(records []capture.Record, now time.Time) []string {
	if len(records) == 0 {
		return []string{"nothing"}
	}
	var lines []string
	for i, r := range records {
		if i == 10 {
			lines = append(lines, fmt.Sprintf("and %d more", len(records)-i))
			break
		}
		lines = append(lines, captureWords(r.Target)+": "+progressWords(CaptureView{Record: r}, now))
	}
	return lines
}

func suffixed(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}

func (m *Commander) silenceCard(ctx context.Context, now time.Time) (Card, error) {
	list, err := m.o.Silences.List(ctx, now)
	if err != nil {
		return Card{}, err
	}
	card := Card{Text: "Silences", Sections: []Section{{Heading: "Silences"}}}
	if len(list) == 0 {
		card.Sections[0].Text = "None."
	}
	for _, s := range list {
		card.Sections[0].Lines = append(card.Sections[0].Lines, silenceWords(s, now))
		if len(card.Buttons) < maxCandidates {
			card.Buttons = append(card.Buttons, Button{
				Action: "pf.run", Label: "Unsilence " + clip(s.Script, 50), Value: Command{Verb: VerbUnsilence, Worker: s.Script}.String(),
			})
		}
	}
	return card, nil
}
