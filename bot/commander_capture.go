package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

// capture starts one, if the person may and the words name a target. In the
// thread of an incident it is one more capture of that incident.
func (m *Commander) capture(ctx context.Context, r Request, cmd Command) (Reply, error) {
	if err := m.permit(ctx, r, cmd.Verb, cmd.String()); err != nil {
		return Reply{}, err
	}
	if p, paused := m.o.Switch.Paused(ctx, m.o.Now()); paused {
		return Reply{}, p.refusal(m.o.Now())
	}
	incident, err := m.thread(ctx, r)
	if err != nil {
		return Reply{}, err
	}
	if _, isLength := duration(cmd.Worker); isLength && incident != "" && cmd.Duration == 0 && cmd.Class == "" && cmd.Object == "" {
		// "heap 5s" in the thread of an incident: its target, that long.
		cmd, usage := ParseCommand(string(cmd.Verb) + " it " + cmd.Worker)
		if usage != nil {
			usage.Read = strings.Replace(usage.Read, " it ", " ", 1)
			for i, s := range usage.Try {
				usage.Try[i].Command = strings.Replace(s.Command, " it ", " ", 1)
			}
			return Reply{}, usage
		}
		cmd.Worker = ""
		return m.again(ctx, r, cmd, incident)
	}
	if cmd.Worker == "" && incident != "" {
		return m.again(ctx, r, cmd, incident)
	}
	if usage := cmd.Missing(); usage != nil {
		return Reply{}, usage
	}
	if err := m.known(ctx, cmd); err != nil {
		return Reply{}, err
	}
	if reply, stop, err := m.beforeAsking(ctx, cmd); stop || err != nil {
		return reply, err
	}
	target := targetOf(cmd)
	if incident != "" {
		if c, err := m.shelf.Case(ctx, incident); err == nil && c.covers(target) {
			return m.again(ctx, r, cmd, incident)
		}
	}
	c, id, err := m.desk.Ask(ctx, Asked{
		Target: target, OnlyVersion: cmd.Version != "", Type: cmd.Type(), Duration: cmd.Duration, RequestedBy: r.UserID, Name: r.UserName, Channel: r.ChannelID, ThreadTS: threadOf(r),
	})
	return m.started(ctx, r, cmd, c, id, err)
}

// threadOf is where the answer to a mention belongs: its thread, or a thread
// under it. A slash command has none (Slack does not take them in threads).
func threadOf(r Request) string {
	if r.Kind == RequestMention && r.ThreadTS == "" {
		return r.MessageTS
	}
	return r.ThreadTS
}

// covers says whether the target is the case's own.
func (c Case) covers(t capture.Target) bool {
	own, ok := c.captureTarget()
	return ok && own.Key() == t.Key()
}

func targetOf(cmd Command) capture.Target {
	t := capture.Target{Kind: capture.Worker, Script: cmd.Script(), VersionID: cmd.Version}
	if cmd.Object != "" {
		t.Kind, t.Class, t.ObjectID = capture.DurableObject, cmd.Class, cmd.Object
	}
	return t
}

func (m *Commander) again(ctx context.Context, r Request, cmd Command, incident string) (Reply, error) {
	a := Asked{Type: cmd.Type(), Duration: cmd.Duration, RequestedBy: r.UserID}
	if cmd.Version != "" {
		a.Target, a.OnlyVersion = targetOf(cmd), true
	}
	c, id, err := m.desk.Again(ctx, incident, a)
	return m.started(ctx, r, cmd, c, id, err)
}

// started answers that a capture is on its way, and writes it down.
func (m *Commander) started(ctx context.Context, r Request, cmd Command, c Case, id string, err error) (Reply, error) {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		m.audit(ctx, r, cmd.Verb, cmd.String(), "refused: "+string(refusal.Reason), refusal.Capture)
		return Reply{}, err
	}
	if errors.Is(err, capture.ErrNotFound) {
		return Reply{}, &Refusal{Reason: RefusedUnknown, Sentence: "That incident is not kept any more. Ask for the capture by the Worker's name."}
	}
	if err != nil {
		m.audit(ctx, r, cmd.Verb, cmd.String(), "failed", "")
		return Reply{}, err
	}
	m.audit(ctx, r, cmd.Verb, cmd.String(), "started", id)
	v := c.Captures[c.view(id)]
	text := fmt.Sprintf("%s capture %s of %s for %s: its thread says how it goes.",
		upperFirst(typeWords(v.Record.Type)), id, captureWords(v.Record.Target), span(v.Record.Duration))
	card := Card{Icon: "hourglass_flowing_sand", Verdict: text, Text: text}
	card.Buttons = link(nil, "Open incident", m.o.Writer.incidentURL(c.ID), false)
	return Reply{Card: &card}, nil
}

func captureWords(t capture.Target) string {
	return targetWords(triggerTarget(t), t.Script)
}

// beforeAsking stops where a person should decide first: a silenced Worker, a
// class without an object.
func (m *Commander) beforeAsking(ctx context.Context, cmd Command) (Reply, bool, error) {
	if cmd.Class != "" && cmd.Object == "" {
		return Reply{}, true, m.pickObject(ctx, cmd)
	}
	if cmd.Anyway {
		return Reply{}, false, nil
	}
	now := m.o.Now()
	asked := triggers.Decision{Target: triggers.Target{Script: cmd.Script(), Entrypoint: cmd.Class, ObjectID: cmd.Object}}
	s, silenced := m.o.Silences.Match(ctx, asked, now)
	if !silenced {
		return Reply{}, false, nil
	}
	cmd.Anyway = true
	text := silenceWords(s, now) + " Nothing is captured by itself meanwhile."
	return Reply{Card: &Card{Icon: "no_bell", Verdict: text, Text: text, Buttons: []Button{
		{Action: "pf.run", Label: "Capture anyway", Value: cmd.String(), Primary: true},
		{Action: "pf.run", Label: "Unsilence", Value: Command{Verb: VerbUnsilence, Worker: s.Script}.String()},
	}}}, true, nil
}

// pickObject offers the busiest objects of a class: a capture is of one.
func (m *Commander) pickObject(ctx context.Context, cmd Command) error {
	usage := &UsageError{
		Read: cmd.String(), Topic: cmd.Verb, Example: example(VerbHeap),
		Why: fmt.Sprintf("A Durable Object is profiled one at a time: which object of `%s`? Its id stands in logs and in the evidence of an incident.", cmd.Class),
	}
	if m.o.Objects == nil {
		return usage
	}
	list, err := m.o.Objects.Objects(ctx, cmd.Script(), 50)
	if err != nil {
		return fmt.Errorf("list the objects of %s: %w", cmd.Script(), err)
	}
	for _, o := range list.Objects {
		if strings.EqualFold(o.Entrypoint, cmd.Class) && len(usage.Try) < maxCandidates {
			c := cmd
			c.Object = o.ObjectID
			usage.Try = append(usage.Try, Suggestion{Label: short(o.ObjectID) + ": " + loadWords(o), Command: c.String()})
		}
	}
	return usage
}

func loadWords(o ObjectRow) string {
	return fmt.Sprintf("%s requests, %s ms CPU", number(o.Requests), number(o.CPUMS))
}

// known asks back when no Worker has the name, which at night is a slip of the
// finger more often than a Worker nobody has heard of.
func (m *Commander) known(ctx context.Context, cmd Command) error {
	if cmd.Anyway || m.o.Workers == nil {
		return nil
	}
	name := cmd.Script()
	ctx, cancel := context.WithTimeout(ctx, knownWait)
	defer cancel()
	names, complete, err := m.o.Workers.Workers(ctx, "", maxKnown)
	if err != nil || len(names) == 0 || slices.Contains(names, name) {
		return nil // a list that cannot be had must not stop a capture
	}
	if found, _, err := m.o.Workers.Workers(ctx, name, maxKnown); err != nil || slices.Contains(found, name) {
		return nil // made since the list was read, or beyond its bound
	}
	near := Nearest(name, names, 3)
	if len(near) == 0 && !complete {
		return nil
	}
	usage := &UsageError{
		Read: cmd.String(), Topic: cmd.Verb,
		Why: fmt.Sprintf("I don't know a Worker named `%s`.", clip(name, 80)),
	}
	for _, n := range near {
		c := cmd
		c.Worker, c.Environment = n, ""
		usage.Try = append(usage.Try, Suggestion{Label: clip(n, 60), Command: c.String()})
	}
	if cmd.Verb == VerbCPU || cmd.Verb == VerbHeap {
		cmd.Anyway = true
		usage.Try = append(usage.Try, Suggestion{Label: clip(name, 40) + " is right, capture it", Command: cmd.String()})
	}
	return usage
}

const (
	maxKnown = 5000 // names that are looked through
	// knownWait is how long the list may take: Cloudflare hangs when captures
	// are wanted most.
	knownWait = 2 * time.Second
)
