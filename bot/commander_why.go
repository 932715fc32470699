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

// why tells how an incident came about and what was decided since, or what was
// decided lately about a Worker, ignored events included.
func (m *Commander) why(ctx context.Context, r Request, cmd Command) (Reply, error) {
	if cmd.Incident == "" {
		id, err := m.thread(ctx, r)
		if err != nil {
			return Reply{}, err
		}
		cmd.Incident = id
	}
	if usage := cmd.Missing(); usage != nil {
		return Reply{}, usage
	}
	c, err := m.findCase(ctx, strings.ToLower(cmd.Incident))
	if err == nil {
		card := m.o.Writer.Why(c, m.o.Now())
		return Reply{Card: &card}, nil
	}
	if !errors.Is(err, capture.ErrNotFound) {
		return Reply{}, fmt.Errorf("read incident %s: %w", cmd.Incident, err)
	}
	var rows []DecisionRow
	if m.o.Decisions != nil {
		if rows, err = m.o.Decisions.Decisions(ctx, cmd.Incident, 10); err != nil {
			return Reply{}, fmt.Errorf("read the decisions about %s: %w", cmd.Incident, err)
		}
	}
	if len(rows) == 0 {
		return Reply{}, &UsageError{
			Read: cmd.String(), Topic: VerbWhy, Example: example(VerbWhy),
			Why: fmt.Sprintf("I know neither an incident `%s` nor a Worker of that name with recent events.", clip(cmd.Incident, 60)),
		}
	}
	return Reply{Card: decisionsCard(cmd.Incident, rows)}, nil
}

// findCase takes an incident's id or the id of one of its captures.
func (m *Commander) findCase(ctx context.Context, id string) (Case, error) {
	c, err := m.shelf.Case(ctx, id)
	if errors.Is(err, capture.ErrNotFound) {
		if incident := incidentOf(id); incident != id {
			return m.shelf.Case(ctx, incident)
		}
	}
	return c, err
}

// incidentOf is the incident of a capture's id.
func incidentOf(capture string) string {
	if i := strings.LastIndexByte(capture, '-'); i > 0 {
		return capture[:i]
	}
	return capture
}

func decisionsCard(worker string, rows []DecisionRow) *Card {
	card := &Card{Title: "Decisions about " + worker, Icon: "scales", Text: "The last decisions about " + worker + ": " + strconv.Itoa(len(rows)) + "."}
	s := Section{Heading: "Newest first, times are UTC"}
	for _, d := range rows {
		line := d.At.UTC().Format(time.TimeOnly) + " " + string(d.Decision) + ": " + d.Reason
		if d.Incident != "" {
			line += " (incident " + d.Incident + ")"
		}
		s.Lines = append(s.Lines, line)
	}
	card.Sections = []Section{s}
	return card
}
