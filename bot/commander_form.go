package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/snapflame/snapflame/capture"
)

// The ids of the form's inputs.
const (
	inputWorker   = "worker"
	inputType     = "type"
	inputDuration = "duration"
	inputObject   = "object"
	inputVersion  = "version"
)

// maxSuggestions is what Slack takes of an external select.
const maxSuggestions = 100

// formState is where the form was opened: its answer belongs there. Slack gives
// it back as it was; it is not secret and not trusted with more than a place.
type formState struct {
	Channel string `json:"c,omitempty"`
	Thread  string `json:"t,omitempty"`
}

// form asks for a capture in a window. Opened by a shortcut on a message, the
// capture reports into that message's thread.
func (m *Commander) form(_ context.Context, r Request, cmd Command) Reply {
	state := formState{Channel: r.ChannelID, Thread: r.ThreadTS}
	if r.Kind == RequestShortcut && state.Thread == "" {
		state.Thread = r.MessageTS
	}
	raw, _ := json.Marshal(state) //nolint:errchkjson // two strings always encode
	hint := "The capture gets its own thread in this channel."
	if state.Thread != "" {
		hint = "The capture reports into this thread."
	}
	if state.Channel == "" {
		hint = "The capture gets its own thread in the default channel."
	}
	return Reply{Form: &Form{
		Title: "Profile a Worker", Submit: "Capture", State: string(raw),
		Inputs: []Input{
			{ID: inputWorker, Label: "Worker", Kind: "suggest", Hint: hint, Initial: cmd.Script()},
			{ID: inputType, Label: "Profile", Kind: "select", Initial: "cpu", Options: []Option{
				{Label: "CPU: where time goes", Value: "cpu"}, {Label: "Heap: what is allocated", Value: "heap"},
			}},
			{ID: inputDuration, Label: "Length", Kind: "select", Initial: "10s", Options: []Option{
				{Label: "5 seconds", Value: "5s"},
				{Label: "10 seconds", Value: "10s"},
				{Label: "20 seconds", Value: "20s"},
				{Label: "30 seconds", Value: "30s"},
				{Label: "50 seconds, the most", Value: "50s"},
			}},
			{ID: inputObject, Label: "Durable Object id", Kind: "text", Optional: true, Hint: "64 hexadecimal digits; empty profiles the Worker itself"},
			{ID: inputVersion, Label: "Version", Kind: "text", Optional: true, Hint: "empty: the version with most traffic"},
		},
	}}
}

// submit reads the form as the words it stands for, so that there is one
// grammar; a mistake is told at its input.
func (m *Commander) submit(ctx context.Context, r Request) (Reply, error) {
	var state formState
	if err := json.Unmarshal([]byte(r.Value), &state); err != nil && r.Value != "" {
		return Reply{Errors: map[string]string{inputWorker: "This form is from another version of snapflame. Open it again."}}, nil
	}
	r.ChannelID, r.ThreadTS = orText(state.Channel, r.ChannelID), state.Thread
	get := func(id string) string { return strings.TrimSpace(r.Values[id]) }
	worker := get(inputWorker)
	if worker == "" {
		return Reply{Errors: map[string]string{inputWorker: "Choose a Worker."}}, nil
	}
	var words strings.Builder
	words.WriteString(orText(get(inputType), "cpu") + " " + quote(worker))
	cmd, mistake := ParseCommand(words.String())
	if mistake != nil {
		return wrongInput(inputWorker, mistake), nil
	}
	for _, in := range []struct{ id, flag string }{{inputDuration, ""}, {inputObject, "object="}, {inputVersion, "version="}} {
		value := get(in.id)
		if value == "" {
			continue
		}
		words.WriteString(" " + in.flag + quoteFlag(in.flag, value))
		if cmd, mistake = ParseCommand(words.String()); mistake != nil {
			return wrongInput(in.id, mistake), nil
		}
	}
	// The list that the Worker was chosen from is the one that would be asked.
	cmd.Anyway = true
	reply, err := m.capture(ctx, r, cmd)
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return Reply{Errors: map[string]string{inputWorker: refusal.Sentence}}, nil
	}
	if usage, ok := errors.AsType[*UsageError](err); ok {
		return Reply{Errors: map[string]string{inputObject: usage.Why}}, nil
	}
	return reply, err
}

func wrongInput(id string, mistake *UsageError) Reply {
	return Reply{Errors: map[string]string{id: mistake.Why}}
}

func quoteFlag(flag, value string) string {
	if flag == "" {
		return value // a duration: quoted it would be a name
	}
	return quote(value)
}

// suggest answers while a Worker's name is typed.
func (m *Commander) suggest(ctx context.Context, r Request) (Reply, error) {
	if m.o.Workers == nil {
		return Reply{Options: []Option{}}, nil
	}
	names, _, err := m.o.Workers.Workers(ctx, r.Query, maxSuggestions)
	if err != nil {
		return Reply{}, fmt.Errorf("look for Workers: %w", err)
	}
	if len(names) == 0 && len(r.Query) > 1 {
		all, _, err := m.o.Workers.Workers(ctx, "", maxKnown)
		if err != nil {
			return Reply{}, fmt.Errorf("look for Workers: %w", err)
		}
		names = Nearest(r.Query, all, 10)
	}
	options := []Option{}
	for _, n := range firstN(names, maxSuggestions) {
		options = append(options, Option{Label: clip(n, 75), Value: n})
	}
	return Reply{Options: options}, nil
}

// home is what the App Home tab shows.
func (m *Commander) home(ctx context.Context, _ Request) (Reply, error) {
	cards, text, err := m.state(ctx)
	if err != nil {
		return Reply{}, err
	}
	top := Card{
		Title: "snapflame", Icon: "fire", Text: text, Verdict: text,
		Buttons: []Button{
			{Action: "pf.form", Label: "New capture", Primary: true},
			{Action: "pf.run", Label: "Help", Value: string(VerbHelp)},
		},
	}
	home := Home{Cards: append([]Card{top}, cards[:len(cards)-1]...)}
	records, _, err := m.shelf.ListCaptures(ctx, "", "", 10, "")
	if err != nil {
		return Reply{}, fmt.Errorf("list captures: %w", err)
	}
	home.Cards = append(home.Cards, m.lastCaptures(records))
	if m.o.Routing != nil {
		home.Cards = append(home.Cards, routingCard(m.o.Routing()))
	}
	if card, ok := m.auditCard(ctx); ok {
		home.Cards = append(home.Cards, card)
	}
	home.Cards = append(home.Cards, cards[len(cards)-1]) // health
	return Reply{Home: &home}, nil
}

func (m *Commander) lastCaptures(records []capture.Record) Card {
	card := Card{Text: "Last captures", Sections: []Section{{Heading: "Last captures"}}}
	if len(records) == 0 {
		card.Sections[0].Text = "None yet."
	}
	for _, rec := range records {
		at := rec.QueuedAt
		if !rec.StartedAt.IsZero() {
			at = rec.StartedAt
		}
		card.Sections[0].Lines = append(card.Sections[0].Lines,
			fmt.Sprintf("%s %s %s of %s: %s", at.UTC().Format("01-02 15:04"), rec.ID, typeWords(rec.Type), orText(captureWords(rec.Target), "n/a"), rec.State))
		if rec.State == capture.Stored && len(card.Buttons) < maxCandidates {
			if url := m.o.Writer.captureURL(rec.ID); url != "" {
				card.Buttons = link(card.Buttons, "Open "+rec.ID, url, false)
			} else {
				card.Buttons = append(card.Buttons, Button{Action: "pf.run", Label: "Show " + rec.ID, Value: "show " + rec.ID})
			}
		}
	}
	return card
}

func routingCard(r Routing) Card {
	s := Section{Heading: "Routing"}
	for _, one := range r.Routes {
		s.Lines = append(s.Lines, fmt.Sprintf("class %s, script %s, environment %s: channel %s",
			orText(string(one.Class), "any"), orText(one.Script, "any"), orText(one.Environment, "any"), orText(one.Channel, "default")))
	}
	s.Lines = append(s.Lines, "everything else: channel "+orText(r.Channel, "not set"))
	return Card{Text: "Routing", Sections: []Section{s}}
}

// auditCard is the newest of the trail; without one it is left out.
func (m *Commander) auditCard(ctx context.Context) (Card, bool) {
	entries, err := m.o.Audit.List(ctx, 10)
	if err != nil || len(entries) == 0 {
		return Card{}, false
	}
	s := Section{Heading: "Who did what, newest first"}
	for _, e := range entries {
		s.Lines = append(s.Lines, fmt.Sprintf("%s %s: %s (%s)", e.At.UTC().Format("01-02 15:04"), e.User, e.What, e.Outcome))
	}
	return Card{Text: "Audit", Sections: []Section{s}}, true
}
