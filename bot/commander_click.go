package bot

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/snapflame/snapflame/capture"
)

// click does what a button or select says. Its value holds ids, or the words of
// a command; either is read and permitted as if it had been typed.
func (m *Commander) click(ctx context.Context, r Request) (Reply, error) {
	switch r.ActionID {
	case "pf.open":
		return Reply{}, nil // the link did it
	case "pf.again", "pf.heap", "pf.cpu":
		return m.clickAgain(ctx, r)
	case "pf.pick":
		return m.clickPick(ctx, r)
	case "pf.silence":
		return m.clickSilence(ctx, r)
	case "pf.why":
		return m.why(ctx, r, Command{Verb: VerbWhy, Incident: r.Value})
	case "pf.compare":
		return m.look(ctx, Command{Verb: VerbCompare, Captures: []string{r.Value}})
	case "pf.form":
		return m.form(ctx, r, Command{}), nil
	case "pf.run":
		return m.say(ctx, r, r.Value)
	default:
		return Reply{}, &Refusal{Reason: RefusedUnknown, Sentence: "This button is from another version of snapflame and does nothing any more. Say `" + m.o.Writer.command() + " help`."}
	}
}

// clickAgain takes another capture in the thread of the one that was clicked:
// of the same type, or of the other.
func (m *Commander) clickAgain(ctx context.Context, r Request) (Reply, error) {
	rec, _, err := m.shelf.Record(ctx, r.Value)
	if errors.Is(err, capture.ErrNotFound) {
		return Reply{}, m.noCapture(ctx, Command{Verb: VerbShow, Captures: []string{r.Value}}, 0)
	}
	if err != nil {
		return Reply{}, fmt.Errorf("read capture %s: %w", r.Value, err)
	}
	cmd := Command{Verb: VerbCPU}
	if r.ActionID == "pf.heap" || r.ActionID == "pf.again" && rec.Type == capture.Heap {
		cmd.Verb = VerbHeap
	}
	if err := m.permitCapture(ctx, r, cmd.Verb, cmd.String()+" again after "+rec.ID); err != nil {
		return Reply{}, err
	}
	target := rec.Target
	target.VersionID = "" // whatever is deployed now: that is the question
	cmd.Worker, cmd.Class, cmd.Object = target.Script, target.Class, target.ObjectID
	c, id, err := m.desk.Again(ctx, rec.IncidentID, Asked{Target: target, Type: cmd.Type(), Duration: rec.Duration, RequestedBy: r.UserID})
	return m.started(ctx, r, cmd, c, id, err)
}

// permitCapture checks person, place and pause.
func (m *Commander) permitCapture(ctx context.Context, r Request, verb Verb, what string) error {
	if err := m.permit(ctx, r, verb, what); err != nil {
		return err
	}
	if p, paused := m.o.Switch.Paused(ctx, m.o.Now()); paused {
		return p.refusal(m.o.Now())
	}
	return nil
}

func (m *Commander) clickPick(ctx context.Context, r Request) (Reply, error) {
	incident, index, _ := strings.Cut(r.Value, ":")
	n, err := strconv.Atoi(index)
	if err != nil {
		return Reply{}, &Refusal{Reason: RefusedUnknown, Sentence: "That candidate is no longer offered."}
	}
	if err := m.permitCapture(ctx, r, VerbCPU, "pick candidate "+index+" of "+incident); err != nil {
		return Reply{}, err
	}
	c, id, err := m.desk.Pick(ctx, incident, n, r.UserID)
	return m.started(ctx, r, Command{Verb: VerbCPU, Incident: incident}, c, id, err)
}

// clickSilence silences the Worker of an incident.
func (m *Commander) clickSilence(ctx context.Context, r Request) (Reply, error) {
	incident, length, _ := strings.Cut(r.Value, ":")
	d, err := time.ParseDuration(length)
	if err != nil || d <= 0 {
		return Reply{}, &Refusal{Reason: RefusedUnknown, Sentence: "That length is no longer offered."}
	}
	c, err := m.shelf.Case(ctx, incident)
	if errors.Is(err, capture.ErrNotFound) {
		return Reply{}, &Refusal{Reason: RefusedUnknown, Sentence: "That incident is not kept any more. Silence the Worker by its name."}
	}
	if err != nil {
		return Reply{}, fmt.Errorf("read incident %s: %w", incident, err)
	}
	worker := orText(c.Target.Script, c.Script)
	if worker == "" {
		return Reply{}, &Refusal{Reason: RefusedNoTarget, Sentence: "The incident names no Worker, so there is nothing to silence."}
	}
	// Known by its own events: a name that nobody typed is not spelt wrong.
	reply, err := m.quiet(ctx, r, Command{Verb: VerbSilence, Worker: worker, Duration: d, Anyway: true})
	if err != nil {
		return Reply{}, err
	}
	if err := m.desk.Note(ctx, incident, "silenced", worker+" silenced for "+span(d)+" by "+r.UserID); err != nil {
		m.o.Log.Warn().Err(err).Str("incident", incident).Msg("silence not noted in the incident")
	}
	return reply, nil
}
