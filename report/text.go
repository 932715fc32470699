package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Text writes a report for a terminal of a width in columns (0 is 80): what it
// is, the top functions with bars, findings, comparison.
func Text(w io.Writer, r *Report, width int, color bool) error {
	t := newTerminal(w, width, color)
	t.head(r)
	if len(r.Functions) > 0 {
		t.printf("\n")
		t.table(r, Top(r, textRows))
	}
	if len(r.Modules) > 1 {
		t.printf("\n")
		t.modules(r)
	}
	if len(r.Findings) > 0 {
		t.printf("\n%s\n", t.paint(ansiBold, "Findings"))
		for _, f := range r.Findings {
			t.wrap("  • ", "    ", visible(f.Text))
			if f.Next != "" {
				t.wrap("    → ", "      ", visible(f.Next))
			}
		}
	}
	if r.Base != nil {
		t.printf("\n")
		t.comparison(r.Type, r.Base)
	}
	if len(r.Notes) > 0 {
		t.printf("\n")
		for _, n := range r.Notes {
			t.wrap("  note: ", "        ", visible(n))
		}
	}
	return t.err
}

const textRows = 15

func (t *terminal) line(parts ...string) {
	t.printf("%s\n", strings.TrimRight(strings.Join(parts[:2], "")+"  "+parts[2], " "))
}

func (t *terminal) head(r *Report) {
	if r.Meta.Title != "" {
		t.printf("%s\n", t.paint(ansiBold, fit(visible(r.Meta.Title), min(t.width, columns(r.Meta.Title)))))
	}
	what := []string{string(r.Type), thousands(r.Samples) + " samples"}
	if r.Samples == 1 {
		what[1] = "1 sample"
	}
	if r.DurationNS > 0 {
		what[1] += " in " + seconds(r.DurationNS)
	}
	if r.Captures > 1 {
		what = append(what, fmt.Sprintf("%d captures", r.Captures))
	}
	what = append(what, verdictText(r))
	t.wrap("", "  ", strings.Join(what, " · "))
	if r.Type == Heap && len(r.parts) > 0 && r.parts[0].live {
		t.printf("still in use %s (not all that was allocated)\n", size(r.BusyBytes))
		return
	}
	if r.Type == Heap {
		t.printf("allocated in the window %s (not what is kept)\n", size(r.BusyBytes))
		return
	}
	t.wrap("", "  ", fmt.Sprintf("busy %s · waits removed %s · idle %s · native %s · garbage collector %s",
		lasted(r.BusyNS), lasted(r.RemovedNS), lasted(r.IdleNS), lasted(r.ProgramNS), percent(r.GCShare)))
}

// lasted keeps short times apart from none.
func lasted(ns int64) string {
	if ns < 1e9 {
		return strconv.FormatInt((ns+5e5)/1e6, 10) + " ms"
	}
	return strconv.FormatFloat(float64(ns)/1e9, 'f', 2, 64) + " s"
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func verdictText(r *Report) string {
	switch r.Verdict {
	case Empty:
		return "empty: nothing to see"
	case Weak:
		return "weak: too few samples to tell shares apart"
	default:
		return string(r.Verdict)
	}
}

func (t *terminal) table(r *Report, rows []Function) {
	nameWidth := columns("function")
	for _, f := range rows {
		nameWidth = max(nameWidth, columns(visible(f.Name)))
	}
	nameWidth = min(nameWidth, max(t.width/4, 12))
	barWidth := 0
	if t.width >= 60 {
		barWidth = min(t.width/5, 30)
	}
	spread := r.Captures > 1
	head := "    self    total  "
	if spread {
		head += "      spread  "
	}
	t.printf("%s\n", t.paint(ansiDim, strings.TrimRight(head+fit("", barWidth)+fit("", min(barWidth, 2))+fit("function", nameWidth)+"  defined at", " ")))
	most := 0.0
	for _, f := range rows {
		most = max(most, f.SelfShare)
	}
	for _, f := range rows {
		left := fmt.Sprintf("%8s %8s  ", percent(f.SelfShare), percent(f.TotalShare))
		used := columns(left) + nameWidth + 2
		if spread {
			s := ""
			if f.Spread != nil {
				s = fmt.Sprintf("%.1f–%.1f %%", 100*f.Spread.Low, 100*f.Spread.High)
			}
			left += strings.Repeat(" ", max(0, 12-columns(s))) + s + "  "
			used += 14
		}
		if barWidth > 0 {
			part := 0.0
			if most > 0 {
				part = f.SelfShare / most
			}
			left += t.paint(kindColor(f.Kind), fit(bar(part, barWidth), barWidth)) + "  "
			used += barWidth + 2
		}
		t.line(left, t.paint(kindColor(f.Kind), fit(visible(f.Name), nameWidth)), fitEnd(where(f.File, f.Line), t.width-used))
	}
	if n := len(r.Functions) - len(rows); n > 0 {
		t.printf("%s\n", t.paint(ansiDim, fmt.Sprintf("  … and %s, each under %s", plural(int64(n), "function"), percentUp(r.Functions[len(rows)].SelfShare))))
	}
}

// percentUp rounds up, so that "each under" is true.
func percentUp(x float64) string { return strconv.FormatFloat(100*x+0.1, 'f', 1, 64) + " %" }

func (t *terminal) modules(r *Report) {
	t.printf("%s\n", t.paint(ansiDim, "    self    total  file or npm package (with the built-ins it calls)"))
	for i, m := range r.Modules {
		if i == 8 || m.SelfShare < 0.005 {
			break
		}
		t.printf("%8s %8s  %s\n", percent(m.SelfShare), percent(m.TotalShare), t.paint(kindColor(m.Kind), fitEnd(visible(m.Name), t.width-19)))
	}
}

func where(file string, line int64) string {
	file = plainFile(file)
	switch {
	case file == "":
		return ""
	case line > 0:
		return visible(file) + ":" + strconv.FormatInt(line, 10)
	default:
		return visible(file)
	}
}

func (t *terminal) comparison(typ Type, c *Comparison) {
	title := fmt.Sprintf("Against %s, share %s", plural(int64(c.Captures), "baseline"), of(typ))
	t.printf("%s\n", t.paint(ansiBold, title))
	unclear := 0
	for _, ch := range c.Changes {
		if ch.Verdict == NoClearChange {
			unclear++
			continue
		}
		mark, code := "▲", ansiRed
		if ch.After < ch.Before {
			mark, code = "▼", ansiBlue
		}
		t.printf("  %s %s\n", t.paint(code, mark+" "+fit(string(ch.Verdict), 7)), fit(visible(ch.Name), min(columns(visible(ch.Name)), t.width-12)))
		t.wrap("            ", "            ", ch.Figures(typ))
	}
	switch {
	case len(c.Changes) == 0:
		t.printf("  nothing of 1 %% and more to compare\n")
	case unclear == len(c.Changes):
		t.printf("  no clear change in %s of 1 %% and more\n", plural(int64(unclear), "function"))
	case unclear > 0:
		t.printf("  no clear change in %s\n", plural(int64(unclear), "other"))
	}
	for _, n := range c.Notes {
		t.wrap("  note: ", "        ", n)
	}
}

// Figures is a change in words: "3.1 % -> 18.4 % of busy CPU (+15.3 points,
// 95 % CI +11.2 to +19.4)".
func (c Change) Figures(t Type) string {
	return fmt.Sprintf("%s -> %s %s (%+.1f points, 95 %% CI %+.1f to %+.1f)",
		percent(c.Before), percent(c.After), of(t), 100*(c.After-c.Before), 100*c.Low, 100*c.High)
}
