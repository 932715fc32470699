package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/snapflame/snapflame/triggers"
)

func explainCommand(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [FILE]",
		Short: "Say for each event what the rules would do, and why",
		Long: "explain reads events (JSON, JSON array or NDJSON; standard input without FILE or with -) and prints\n" +
			"one JSON line for each. It judges every event alone, as if no incident were open and every count in a\n" +
			"window were met, and calls nothing. What is no event is told on standard error.",
		Example: "  snapflame explain events.ndjson\n  wrangler tail room-api --format json | snapflame explain",
		Args:    atMost("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			file := "-"
			if len(args) > 0 {
				file = args[0]
			}
			return sh.explain(file)
		},
	}
}

func (sh *shell) explain(file string) error {
	c, err := sh.load()
	if err != nil {
		return err
	}
	rules, err := c.CompileRules()
	if err != nil {
		return err
	}
	in, err := sh.open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	x := explainer{sh: sh, rules: rules, file: inputName(file)}
	if err := eachValue(in, x.value); err != nil {
		return fmt.Errorf("%s: %w", x.file, err)
	}
	switch {
	case x.lines > 0:
		return nil
	case x.bad > 0:
		return fmt.Errorf("%s: nothing in it is an event: %s", x.file, x.held[0]+more(x.bad-1))
	case x.n == 0:
		return fmt.Errorf("%s: empty; give events as JSON, a JSON array or NDJSON", x.file)
	}
	return nil // OTLP exports without records are no events, and no mistake
}

// explainer numbers events and what should have been one alike, so that n is
// the place in the file.
type explainer struct {
	sh    *shell
	rules *triggers.Rules
	file  string
	n     int
	lines int
	bad   int
	held  []string // what was wrong before the first event: it may be all there is
}

// heldMost bounds what is held.
const heldMost = 100

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more like it)", n)
}

// wrong tells of what is no event. Before the first event it waits: a file
// without any is one error and not a list of them.
func (x *explainer) wrong(what string) {
	x.bad++
	if x.lines > 0 {
		fmt.Fprintf(x.sh.stderr, "snapflame: %s: %s\n", x.file, what)
	} else if len(x.held) < heldMost {
		x.held = append(x.held, what)
	}
}

// right tells what waited, once it is clear that the file holds events.
func (x *explainer) right() {
	x.lines++
	for _, what := range x.held {
		fmt.Fprintf(x.sh.stderr, "snapflame: %s: %s\n", x.file, what)
	}
	x.held = nil
}

// value explains the events of one value. A fault knows its place among the
// parts of the value, which are otherwise one event each.
func (x *explainer) value(raw []byte) error {
	events, err := triggers.Decode("", raw)
	faults, _ := errors.AsType[triggers.DecodeErrors](err)
	for at := 0; len(events)+len(faults) > 0; at++ {
		x.n++
		if len(faults) > 0 && (faults[0].Index <= at || len(events) == 0) {
			x.wrong(fmt.Sprintf("event %d %s", x.n, clip(oneLine(faults[0].Detail), 300)))
			faults = faults[1:]
			continue
		}
		x.right()
		d := triggers.Decide(events[0], triggers.State{Rules: x.rules}, time.Now())
		if err := x.sh.printJSON(d.Explain(x.n)); err != nil {
			return err
		}
		events = events[1:]
	}
	return nil
}
