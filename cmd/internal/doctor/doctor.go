package doctor

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Level is how a finding ends.
type Level string

// The levels. Only Bad makes the command fail.
const (
	OK   Level = "ok"
	Note Level = "note" // works, but not everything
	Bad  Level = "bad"
)

// Finding is what one check found: a sentence that, unless all is well, says
// what is wrong and the fix.
type Finding struct {
	Level Level
	Text  string
}

func ok(format string, args ...any) Finding   { return Finding{OK, fmt.Sprintf(format, args...)} }
func note(format string, args ...any) Finding { return Finding{Note, fmt.Sprintf(format, args...)} }
func bad(format string, args ...any) Finding  { return Finding{Bad, fmt.Sprintf(format, args...)} }

// Check is one thing that can be wrong.
type Check struct {
	Name string // kebab-case
	Run  func(ctx context.Context) Finding
}

// patience is how long one check may take.
const patience = 15 * time.Second

// Run runs all checks at once, prints a line for each in their order and
// returns how many are bad.
func Run(ctx context.Context, w io.Writer, checks []Check) (failed int) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found := make([]Finding, len(checks))
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() { found[i] = c.Run(ctx) })
	}
	wg.Wait()
	width := 0
	for _, c := range checks {
		width = max(width, len(c.Name))
	}
	for i, f := range found {
		if f.Level == Bad {
			failed++
		}
		fmt.Fprintf(w, "%-4s  %-*s  %s\n", f.Level, width, checks[i].Name, oneLine(f.Text))
	}
	return failed
}

// oneLine keeps foreign answers from breaking or steering the output.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 400 {
		s = string(r[:399]) + "…"
	}
	return s
}
