package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// Commander answers what people say and click: one grammar for the slash
// command, mentions, buttons, shortcuts and the form. It never waits for a
// capture: it writes the wish down and answers.
//
// A mistake of the person is a Reply that only the person sees. An error is the
// service's own.
type Commander struct {
	desk  *Desk
	shelf Shelf
	o     CommanderOptions
}

// CommanderOptions are what a Commander asks. What is nil is said to be
// missing where it would be needed.
type CommanderOptions struct {
	Writer    Writer
	Permit    func() Permit // asked each time, so that a reload takes effect; nil: everyone
	Silences  *Silences
	Switch    *Switch
	Audit     *Audit
	Figures   Figures
	Workers   Workers
	Objects   Objects
	Decisions Decisions
	Threads   Threads
	Statuses  Statuses
	Routing   func() Routing // for the App Home; nil: not shown
	// SilenceDefault is used when no duration is given (default 1 h),
	// SilenceMax the longest (default 7 days).
	SilenceDefault, SilenceMax time.Duration
	Now                        func() time.Time
	Log                        zerolog.Logger
}

// NewCommander answers from the shelf and starts captures through the desk.
func NewCommander(desk *Desk, shelf Shelf, o CommanderOptions) *Commander {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Permit == nil {
		o.Permit = func() Permit { return Permit{} }
	}
	if o.SilenceDefault <= 0 {
		o.SilenceDefault = time.Hour
	}
	if o.SilenceMax <= 0 {
		o.SilenceMax = 7 * 24 * time.Hour
	}
	return &Commander{desk: desk, shelf: shelf, o: o}
}

// Name is the slash command, for texts.
func (m *Commander) Name() string { return m.o.Writer.command() }

// Handle answers one request.
func (m *Commander) Handle(ctx context.Context, r Request) (Reply, error) {
	reply, err := m.handle(ctx, r)
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return m.refused(refusal), nil
	}
	if usage, ok := errors.AsType[*UsageError](err); ok {
		return m.mistake(usage), nil
	}
	if err != nil {
		return Reply{}, fmt.Errorf("answer a %s: %w", r.Kind, err)
	}
	return reply, nil
}

func (m *Commander) handle(ctx context.Context, r Request) (Reply, error) {
	switch r.Kind {
	case RequestCommand, RequestMention:
		return m.say(ctx, r, r.Text)
	case RequestClick:
		return m.click(ctx, r)
	case RequestShortcut:
		return m.form(ctx, r, Command{}), nil
	case RequestSubmit:
		return m.submit(ctx, r)
	case RequestSuggest:
		return m.suggest(ctx, r)
	case RequestHome:
		return m.home(ctx, r)
	default:
		return Reply{}, fmt.Errorf("unknown kind of request %q", r.Kind)
	}
}

// say does what the words say.
func (m *Commander) say(ctx context.Context, r Request, text string) (Reply, error) {
	cmd, usage := ParseCommand(text)
	if usage != nil {
		return Reply{}, usage
	}
	reply, err := m.run(ctx, r, cmd)
	if r.Kind == RequestMention && reply.Card != nil && err == nil && looksAt(cmd.Verb) {
		reply.Public = true // said before all, answered before all
	}
	return reply, err
}

// looksAt says whether the verb only looks at what is stored.
func looksAt(v Verb) bool {
	switch v {
	case VerbObjects, VerbList, VerbShow, VerbCompare, VerbTop, VerbPeek, VerbDiff, VerbWhy, VerbStatus:
		return true
	default:
		return false
	}
}

func (m *Commander) run(ctx context.Context, r Request, cmd Command) (Reply, error) {
	switch cmd.Verb {
	case VerbForm:
		if r.Kind == RequestMention { // a mention has no trigger to open a form with
			return m.help(Command{Verb: VerbHelp}), nil
		}
		return m.form(ctx, r, cmd), nil
	case VerbCPU, VerbHeap:
		return m.capture(ctx, r, cmd)
	case VerbObjects:
		cmd, err := m.workerOfThread(ctx, r, cmd)
		if err != nil {
			return Reply{}, err
		}
		return m.objects(ctx, cmd)
	case VerbList:
		return m.list(ctx, cmd)
	case VerbShow, VerbTop, VerbPeek, VerbCompare, VerbDiff:
		cmd, err := m.inThread(ctx, r, cmd)
		if err != nil {
			return Reply{}, err
		}
		return m.look(ctx, cmd)
	case VerbWhy:
		return m.why(ctx, r, cmd)
	case VerbSilence, VerbUnsilence:
		cmd, err := m.workerOfThread(ctx, r, cmd)
		if err != nil {
			return Reply{}, err
		}
		return m.quiet(ctx, r, cmd)
	case VerbPause, VerbResume:
		return m.pause(ctx, r, cmd)
	case VerbStatus:
		return m.status(ctx)
	default:
		return m.help(cmd), nil
	}
}

// permit refuses what the person may not do, and writes that down.
func (m *Commander) permit(ctx context.Context, r Request, verb Verb, what string) error {
	refusal := m.o.Permit().Check(ctx, r)
	if refusal == nil {
		return nil
	}
	m.audit(ctx, r, verb, what, "refused: "+string(refusal.Reason), "")
	return refusal
}

// audit writes the trail. A trail that cannot be written is an error in the
// log, with the entry in it; it stops nobody at 3 am.
func (m *Commander) audit(ctx context.Context, r Request, verb Verb, what, outcome, id string) {
	e := AuditEntry{
		At: m.o.Now(), User: r.UserID, Channel: r.ChannelID, Action: string(verb), What: what, Outcome: outcome, Capture: id,
	}
	err := m.o.Audit.Add(ctx, e)
	level := zerolog.InfoLevel
	if err != nil {
		level = zerolog.ErrorLevel
	}
	m.o.Log.WithLevel(level).Err(err).Str("user", e.User).Str("channel", e.Channel).Str("action", e.Action).Str("what", e.What).
		Str("outcome", e.Outcome).Str("capture", id).Msg("asked by a person")
}

func refsLabel(r RefusalReason) string {
	if r == RefusedChannel {
		return "Where it can"
	}
	return "Who may"
}

// refused explains a refusal, with the way on where there is one.
func (m *Commander) refused(r *Refusal) Reply {
	card := Card{Icon: "no_entry_sign", Verdict: r.Sentence, Text: r.Sentence}
	if len(r.Refs) > 0 {
		card.Fields = []Field{{Label: refsLabel(r.Reason), Value: strings.Join(r.Refs, ", "), Refs: r.Refs}}
	}
	if r.Reason == RefusedBusy {
		card.Icon = "hourglass_flowing_sand"
	}
	if r.Reason == RefusedPaused {
		card.Icon = "double_vertical_bar"
		card.Buttons = append(card.Buttons, Button{Action: "pf.run", Label: "Resume captures", Value: string(VerbResume)})
	}
	card.Buttons = link(card.Buttons, "Open incident", m.o.Writer.incidentURL(r.Incident), false)
	if r.Incident != "" {
		card.Buttons = append(card.Buttons, Button{Action: "pf.why", Label: "Why", Value: r.Incident})
	}
	return Reply{Card: &card}
}

// mistake tells what was read, why it does not work, and what was meant.
func (m *Commander) mistake(e *UsageError) Reply {
	card := Card{Icon: "grey_question", Verdict: e.Why, Text: e.Why}
	if e.Read != "" {
		card.Fields = append(card.Fields, Field{Label: "I read", Value: e.Read, Code: true})
	}
	if e.Example != "" {
		card.Fields = append(card.Fields, Field{Label: "For example", Value: m.o.Writer.command() + " " + e.Example, Code: true})
	}
	for _, s := range e.Try {
		card.Buttons = append(card.Buttons, Button{Action: "pf.run", Label: clip(s.Label, 70), Value: s.Command})
	}
	topic := string(VerbHelp)
	if e.Topic != "" && e.Topic != VerbHelp {
		topic += " " + string(e.Topic)
	}
	if !slices.ContainsFunc(e.Try, func(s Suggestion) bool { return s.Command == topic }) {
		card.Buttons = append(card.Buttons, Button{Action: "pf.run", Label: "Help", Value: topic})
	}
	return Reply{Card: &card}
}
