package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/snapflame/snapflame/capture"
)

// thread is the incident in whose thread something was said; "" elsewhere.
func (m *Commander) thread(ctx context.Context, r Request) (string, error) {
	if r.ThreadTS == "" || m.o.Threads == nil {
		return "", nil
	}
	id, err := m.o.Threads.CaseOfThread(ctx, r.ChannelID, r.ThreadTS)
	if errors.Is(err, capture.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find the incident of the thread: %w", err)
	}
	return id, nil
}

// inThread completes words that leave the capture out, in the thread of an
// incident: its newest stored capture is meant, and what stands where the id
// would be is the function.
func (m *Commander) inThread(ctx context.Context, r Request, cmd Command) (Command, error) {
	id, err := m.thread(ctx, r)
	if id == "" || err != nil {
		return cmd, err
	}
	base := ""
	if cmd.Verb == VerbCompare && len(cmd.Captures) == 1 && cmd.Captures[0] == Baseline {
		base, cmd.Captures = Baseline, nil // "compare baseline"
	}
	if len(cmd.Captures) > 0 {
		_, _, err := m.shelf.Record(ctx, cmd.Captures[0])
		if err == nil || !errors.Is(err, capture.ErrNotFound) {
			return cmd, err
		}
		if cmd.Verb != VerbPeek && cmd.Verb != VerbTop && cmd.Verb != VerbDiff {
			return cmd, nil
		}
		cmd.Function = strings.TrimSpace(cmd.Captures[0] + " " + cmd.Function)
	}
	c, err := m.shelf.Case(ctx, id)
	if err != nil {
		return cmd, fmt.Errorf("read incident %s: %w", id, err)
	}
	for _, v := range slices.Backward(c.Captures) {
		if v.Record.State == capture.Stored {
			cmd.Captures = nonEmpty(v.Record.ID, base)
			break
		}
	}
	return cmd, nil
}

// workerOfThread completes words that leave the Worker out, in the thread of an
// incident. A word there that reads as a length is one: "silence 4h".
func (m *Commander) workerOfThread(ctx context.Context, r Request, cmd Command) (Command, error) {
	d, isLength := duration(cmd.Worker)
	bare := cmd.Worker == "" || isLength && cmd.Duration == 0 && cmd.Class == "" && cmd.Verb == VerbSilence
	if !bare {
		return cmd, nil
	}
	id, err := m.thread(ctx, r)
	if id == "" || err != nil {
		return cmd, err
	}
	c, err := m.shelf.Case(ctx, id)
	if err != nil {
		return cmd, fmt.Errorf("read incident %s: %w", id, err)
	}
	if worker := orText(c.Target.Script, c.Script); worker != "" {
		// Known by its own events: a name that nobody typed is not spelt wrong.
		cmd.Worker, cmd.Anyway = worker, true
		if isLength {
			cmd.Duration = d
		}
	}
	return cmd, nil
}
