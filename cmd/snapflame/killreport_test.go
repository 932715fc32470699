package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// report says what was seen, in the log and in SNAPFLAME_REPORT.
func (m *matrix) report(settled time.Duration) {
	var b strings.Builder
	m.figures(&b, settled)
	m.write(b.String())
}

// print is report for a run that kills nothing.
func (m *matrix) print() {
	m.write(m.t.Name() + ", " + time.Now().UTC().Format(time.DateOnly) + "\n" + strings.Join(m.notes, "\n") + "\n")
}

func (m *matrix) write(text string) {
	m.t.Log("\n" + text)
	name := os.Getenv("SNAPFLAME_REPORT")
	if name == "" {
		return
	}
	if m.t.Failed() {
		_ = os.WriteFile(name+"."+m.t.Name()+".log", []byte(m.logs.String()+m.slack.Transcript()), 0o600)
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text + "\n"); err != nil {
		m.t.Fatal(err)
	}
}

// note is a line of the report.
func (m *matrix) note(format string, args ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, args...))
}

// spread is the median and the most of some seconds.
func spread(v []float64) string {
	if len(v) == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%.2f s (at most %.2f s)", median(v), slices.Max(v))
}

// resumeLimit is what a loaded machine may take; the service promises half.
const resumeLimit = 10 * time.Second

// figures is the report of a run.
func (m *matrix) figures(w io.Writer, settled time.Duration) {
	var ready, resumed, spoke []float64
	reached, byStep := 0, map[string]int{}
	for _, k := range m.kills {
		ready, resumed = append(ready, k.ready.Seconds()), append(resumed, k.resumed.Seconds())
		if k.spoke > 0 {
			spoke = append(spoke, k.spoke.Seconds())
		}
		reached += boolInt(k.reached)
		byStep[k.step]++
		if k.resumed > 5*time.Second {
			fmt.Fprintf(w, "slow: after a kill at %q it took %.1f s until %d events were handled\n", k.step, k.resumed.Seconds(), k.behind)
		}
		if !k.reached {
			fmt.Fprintf(w, "not reached in 25 s, killed then: %q\n", k.step)
		}
	}
	engine := "embedded"
	if m.env["NATS_URL"] != "" {
		engine = "external"
	}
	fmt.Fprintf(w, "%s, %s, queue %s, history %t, seed %d\n", m.t.Name(), time.Now().UTC().Format(time.DateOnly), engine, m.history, m.seed)
	for _, n := range m.notes {
		fmt.Fprintln(w, n)
	}
	if len(m.kills) > 0 {
		fmt.Fprintf(w, "%d kills, %d of them at the moment planned, over %d steps; faults %v\n", len(m.kills), reached, len(byStep), m.faults)
		fmt.Fprintf(w, "after a kill: %s until ready, then %s until the events in hand were handled, %s until Slack heard of what waited\n",
			spread(ready), spread(resumed), spread(spoke))
	}
	fmt.Fprintf(w, "%d events of %d targets, none missing, %d counted twice; messages doubled and said so: %d\n", m.events, len(m.published), m.twice, m.doubled)
	fmt.Fprintf(w, "%d requests for a profile: %d captures stored, failed and said so %v, asked again after a kill %d\n", m.asked, m.stored, m.failed, m.again)
	fmt.Fprintf(w, "all settled %.0f s after the last kill\n", settled.Seconds())
	fmt.Fprintf(w, "errors found: %t\n", m.t.Failed())
}
