package bot

import (
	"fmt"
	"strings"
	"time"

	"github.com/snapflame/snapflame/report"
)

// maxSummaryRows is how many functions a case keeps of a report: a case is one
// value of the store and is read on every change. The page reads the profile.
const maxSummaryRows = 12

// Summarise keeps the part of a report that a thread and a list show. headline
// is the verdict in one sentence, captures how many were merged, baseline what
// it was compared with, in words (empty: with nothing).
func Summarise(r *report.Report, headline string, captures int, baseline string) Summary {
	s := Summary{
		Verdict: string(r.Verdict), Headline: headline, Samples: r.Samples, GCShare: r.GCShare, Captures: captures,
		Busy: time.Duration(r.BusyNS), Removed: time.Duration(r.RemovedNS), Bytes: r.BusyBytes, Baseline: baseline,
	}
	s.Window = windowWords(r, captures)
	changed := changesByFunction(r.Base)
	for _, f := range r.Functions[:min(maxSummaryRows, len(r.Functions))] {
		s.Top = append(s.Top, Row{
			Name: clip(f.Name, 200), File: clip(f.File, 300), Line: f.Line, Self: f.SelfShare, Total: f.TotalShare,
			Change: changed[functionKey{f.Name, f.File}],
		})
	}
	for _, f := range r.Findings {
		s.Findings = append(s.Findings, clip(strings.TrimSpace(f.Text+" "+f.Next), 600))
	}
	if r.Base != nil {
		for _, c := range r.Base.Changes {
			if c.Verdict != report.NoClearChange && len(s.Changes) < maxRows {
				s.Changes = append(s.Changes, changeWords(c))
			}
		}
	}
	return s
}

// windowWords names what a figure stands on; no figure is shown without it.
func windowWords(r *report.Report, captures int) string {
	d := r.Meta.Duration
	if d == 0 {
		d = time.Duration(r.DurationNS)
	}
	parts := []string{span(d), "1 isolate", number(r.Samples) + " samples"}
	if captures > 1 {
		parts[0] = fmt.Sprintf("%d captures of %s", captures, span(d))
		parts[1] = fmt.Sprintf("up to %d isolates", captures)
	}
	if removed := time.Duration(r.RemovedNS); removed >= 10*time.Millisecond {
		parts = append(parts, span(removed)+" waiting removed")
	}
	if r.Merged {
		parts = append(parts, "samples merged per stack: approximate")
	}
	return strings.Join(parts, ", ")
}

type functionKey struct{ name, file string }

func changesByFunction(c *report.Comparison) map[functionKey]string {
	if c == nil {
		return nil
	}
	m := make(map[functionKey]string, len(c.Changes))
	for _, ch := range c.Changes {
		switch ch.Verdict {
		case report.NoClearChange:
			m[functionKey{ch.Name, ch.File}] = "no clear change"
		default:
			m[functionKey{ch.Name, ch.File}] = fmt.Sprintf("%s %+.1f pp", ch.Verdict, (ch.After-ch.Before)*100)
		}
	}
	return m
}

// changeWords says a change with the interval that allows to call it one.
func changeWords(c report.Change) string {
	return fmt.Sprintf("%s %s: %s → %s of busy (%+.1f pp, 95 %% interval %+.1f to %+.1f)",
		clip(c.Name, 120), c.Verdict, percent(c.Before), percent(c.After), (c.After-c.Before)*100, c.Low*100, c.High*100)
}
