package pages

import (
	"fmt"
	"net/http"
	"strings"
)

// markdown exports an incident for a post-mortem.
func (p *pages) markdown(w http.ResponseWriter, r *http.Request) {
	c, err := p.Cases.Case(r.Context(), r.PathValue("id"))
	if p.fail(w, err, "incident") {
		return
	}
	p.Audit(r, "export", c.ID)
	b := p.incidentBody(r.Context(), c)
	headers(w)
	w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="incident-`+c.ID+`.md"`)
	_, _ = w.Write([]byte(Markdown(b)))
}

// Markdown writes the incident as a document. Names are untrusted: each stands
// in a code span that it cannot leave.
func Markdown(b incidentBody) string {
	var m strings.Builder
	c := b.Case
	fmt.Fprintf(&m, "# %s: %s\n\n", code(targetWords(c.Target, c.Script)), classWords(c.Class))
	if c.Quote != "" {
		fmt.Fprintf(&m, "> %s\n\n", code(c.Quote))
	}
	fmt.Fprintf(&m, "| | |\n| --- | --- |\n| Incident | %s |\n| First event | %s |\n| Last event | %s |\n| Closed | %s |\n| Events | about %s |\n| Reported by | %s |\n| Target | %s |\n| Rule | %s |\n",
		code(c.ID), stamp(c.OpenedAt), stamp(c.LastAt), stamp(c.ClosedAt), number(c.Count), code(c.Script), attributionWords(c), code(c.Rule))
	if b.Thread != "" {
		fmt.Fprintf(&m, "| Slack | <%s> |\n", strings.NewReplacer("<", "%3C", ">", "%3E", "|", "%7C").Replace(b.Thread))
	}
	m.WriteString("\n")
	markdownCaptures(&m, b.Captures)
	m.WriteString("## Errors per minute\n\n| Minute (UTC) | Errors | Captures |\n| --- | ---: | --- |\n")
	for _, n := range b.Minutes {
		fmt.Fprintf(&m, "| %s | %s | %s |\n", n.At.UTC().Format("2006-01-02 15:04"), number(n.Count), touched(n.Captures))
	}
	for _, g := range b.Groups {
		fmt.Fprintf(&m, "\n## %s\n\n| | Events | Share |\n| --- | ---: | ---: |\n", g.Name)
		for _, r := range g.Rows {
			fmt.Fprintf(&m, "| %s | %s | %s |\n", code(r.Name), number(r.Count), percent(r.Share))
		}
	}
	m.WriteString("\n## Decisions\n\n")
	for _, e := range c.Log {
		fmt.Fprintf(&m, "- %s %s: %s\n", stamp(e.At), code(e.Reason), code(e.Text))
	}
	return m.String()
}

func markdownCaptures(m *strings.Builder, cards []captureCard) {
	for _, cc := range cards {
		r := cc.Record
		fmt.Fprintf(m, "## %s capture %s: %s\n\n", strings.ToUpper(string(r.Type)), code(r.ID), stateWords(r))
		if cc.Why != "" {
			fmt.Fprintf(m, "%s\n\n", code(cc.Why))
		}
		if cc.Ran {
			fmt.Fprintf(m, "Ran %s for %s. Errors inside its window: %s, in the minute before: %s, after: %s (each to 10 s). Confidence %s.\n\n",
				stamp(r.StartedAt), span(r.Duration), number(cc.Around.Inside), number(cc.Around.Before), number(cc.Around.After), cc.Around.Confidence)
		}
		s := cc.Summary
		if s == nil {
			continue
		}
		fmt.Fprintf(m, "%s\n\n%s\n\n", code(s.Headline), s.Window)
		if len(s.Top) > 0 {
			m.WriteString("| Function | Defined at | Self | Total |\n| --- | --- | ---: | ---: |\n")
			for _, row := range s.Top {
				fmt.Fprintf(m, "| %s | %s | %s | %s |\n", code(row.Name), code(fmt.Sprintf("%s:%d", row.File, row.Line)), percent(row.Self), percent(row.Total))
			}
			m.WriteString("\n")
		}
		for _, f := range s.Findings {
			fmt.Fprintf(m, "- %s\n", code(f))
		}
		m.WriteString("\n")
	}
}

func touched(ts []Touch) string {
	var parts []string
	for _, t := range ts {
		if t.Overlap > 0 {
			parts = append(parts, fmt.Sprintf("%s (overlaps %s)", code(t.View.Record.ID), span(t.Overlap)))
		} else {
			parts = append(parts, fmt.Sprintf("%s (%s away)", code(t.View.Record.ID), span(t.Distance)))
		}
	}
	return strings.Join(parts, ", ")
}

// code is a code span that holds any text: backticks and bars are replaced, and
// so are line breaks, which would end a table row.
func code(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '`':
			return '\''
		case r == '|':
			return '¦'
		case r < ' ' || r == 0x7f:
			return ' '
		}
		return r
	}, s)
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return "`" + s + "`"
}
