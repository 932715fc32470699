package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/snapflame/snapflame/report"
)

const (
	topFunctions = 15
	barWidth     = 20
	nameWidth    = 32
	placeWidth   = 44
)

// printReport writes a report for people: what it is, who took the time, what
// it means. Names are untrusted and go through printable.
func printReport(w io.Writer, r *report.Report) error {
	var b strings.Builder
	printHead(&b, r)
	printFunctions(&b, r)
	printFindings(&b, r)
	if r.Base != nil {
		printChanges(&b, r.Base)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", printable(n))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printHead(b *strings.Builder, r *report.Report) {
	fmt.Fprintf(b, "%s: %s profile, %s samples, %s\n", printable(r.Meta.Title), r.Type, thousands(r.Samples), r.Verdict)
	if r.Type == report.Heap {
		fmt.Fprintf(b, "allocated in the window: %s (what was allocated, not what is kept)\n", size(r.BusyBytes))
		return
	}
	fmt.Fprintf(b, "busy %s (garbage collector %s), native %s, idle %s, waits removed %s", span(r.BusyNS), percent(r.GCShare),
		span(r.ProgramNS), span(r.IdleNS), span(r.RemovedNS))
	if r.DurationNS > 0 {
		fmt.Fprintf(b, ", window %s", span(r.DurationNS))
	}
	b.WriteByte('\n')
}

func printFunctions(b *strings.Builder, r *report.Report) {
	if len(r.Functions) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%7s %7s  %-*s %-*s %s\n", "self", "total", barWidth, "", nameWidth, "function", "defined at")
	for _, f := range r.Functions[:min(topFunctions, len(r.Functions))] {
		fmt.Fprintf(b, "%7s %7s  %-*s %-*s %s\n", percent(f.SelfShare), percent(f.TotalShare), barWidth, bar(f.SelfShare),
			nameWidth, clip(printable(f.Name), nameWidth), place(f))
	}
	if n := len(r.Functions) - topFunctions; n > 0 {
		rest := 0.0
		for _, f := range r.Functions[topFunctions:] {
			rest += f.SelfShare
		}
		fmt.Fprintf(b, "%7s          %-*s %d more\n", percent(rest), barWidth, bar(rest), n)
	}
}

func place(f report.Function) string {
	if f.File == "" {
		return string(f.Kind)
	}
	p := printable(f.File)
	if f.Line > 0 {
		p = fmt.Sprintf("%s:%d", p, f.Line)
	}
	return clipLeft(p, placeWidth)
}

func printFindings(b *strings.Builder, r *report.Report) {
	if len(r.Findings) == 0 {
		return
	}
	b.WriteString("\nfindings\n")
	for _, f := range r.Findings {
		fmt.Fprintf(b, "  - %s (%s)\n", printable(f.Text), printable(f.ID))
	}
}

func printChanges(b *strings.Builder, c *report.Comparison) {
	of := "1 baseline"
	if c.Captures != 1 {
		of = fmt.Sprintf("%d baselines", c.Captures)
	}
	fmt.Fprintf(b, "\ncompared with %s (points of busy CPU, 95 %% interval)\n", of)
	quiet, shown := 0, 0
	for _, ch := range c.Changes {
		if ch.Verdict == report.NoClearChange {
			quiet++
			continue
		}
		if shown++; shown > topFunctions {
			continue
		}
		fmt.Fprintf(b, "  %-7s %7s → %-7s %6s to %-6s  %-*s %s\n", ch.Verdict, percent(ch.Before), percent(ch.After),
			points(ch.Low), points(ch.High), nameWidth, clip(printable(ch.Name), nameWidth), clipLeft(printable(ch.File), placeWidth))
	}
	if n := shown - topFunctions; n > 0 {
		fmt.Fprintf(b, "  %d more changes\n", n)
	}
	if quiet > 0 {
		fmt.Fprintf(b, "  no clear change: %d\n", quiet)
	}
	for _, n := range c.Notes {
		fmt.Fprintf(b, "  %s\n", printable(n))
	}
}

// bar draws a share in eighths of a character.
func bar(share float64) string {
	n := int(share*barWidth*8 + 0.5)
	n = max(0, min(n, barWidth*8))
	s := strings.Repeat("█", n/8)
	if n%8 > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[n%8-1])
	}
	return s
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func points(share float64) string { return fmt.Sprintf("%+.1f", 100*share) }

func span(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.0f ms", float64(d)/1e6)
	case d > 0:
		return fmt.Sprintf("%.0f µs", float64(d)/1e3)
	}
	return "0 s"
}

func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
