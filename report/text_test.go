package report_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/pprof/profile"

	"github.com/snapflame/snapflame/report"
)

// hostile is a profile whose names try everything a terminal obeys.
func hostile(tb testing.TB) *report.Report {
	tb.Helper()
	names := []string{
		"\x1b[2J\x1b]0;owned\x07", "a\nb\rc", "\u202egnp.js\u202c", "<!channel>", "a&b<script>alert(1)</script>",
		strings.Repeat("long", 100), "漢字の関数", "e\u0301", "\x00", "\u009b31m", "bad\xff", "",
	}
	p := tiny("cpu", "nanoseconds")
	p.Sample = nil
	for i, n := range names {
		id := uint64(i + 2)
		fn := &profile.Function{ID: id, Name: n, Filename: "/x/" + n}
		loc := &profile.Location{ID: id, Line: []profile.Line{{Function: fn, Line: 1}}}
		p.Function, p.Location = append(p.Function, fn), append(p.Location, loc)
		for range 20 * (len(names) - i) {
			p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{loc, loc}, Value: []int64{1, 1_000_000}})
		}
	}
	r, err := report.Analyse(raw(tb, p), report.Options{Meta: report.Meta{Title: "\x1b[31mtitle\n", Class: "\x1b[1mC"}})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestTextIsInert(t *testing.T) {
	r := hostile(t)
	c, err := report.Compare(r, []*report.Report{analyse(t, "do-meter.cpu.pb.gz")})
	if err != nil {
		t.Fatal(err)
	}
	r.Base = c
	for _, width := range []int{0, 1, 70, 79, 120, 5000} {
		var b bytes.Buffer
		if err := report.Text(&b, r, width, false); err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Functions {
			if _, err := report.Peek(r, f.Name); err != nil {
				t.Fatalf("peek %q: %v", f.Name, err)
			}
		}
		checkInert(t, b.String())
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(line); width >= 70 && width <= 200 && n > width+3 && !strings.Contains(line, "longlong") {
				t.Errorf("width %d: %d in %q", width, n, line)
			}
		}
	}
}

func TestNumbersStayWithTheirSign(t *testing.T) {
	r := analyse(t, "long-50s.cpu.pb.gz")
	for width := 60; width < 130; width++ {
		var b bytes.Buffer
		if err := report.Text(&b, r, width, false); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(strings.TrimSpace(line), "%") {
				t.Fatalf("width %d: a line begins with %q", width, line)
			}
		}
	}
}

func TestHeadingIsWholeOverShortNames(t *testing.T) {
	r, err := report.Analyse(raw(t, tiny("cpu", "nanoseconds")), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.Text(&b, r, 100, false); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), " function  defined at\n") {
		t.Errorf("text:\n%s", b.String())
	}
}

func checkInert(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Error("invalid UTF-8")
	}
	for _, c := range s {
		if c != '\n' && (c < 0x20 || c >= 0x7f && c < 0xa0 || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069) {
			t.Fatalf("control character %U", c)
		}
	}
}

func TestColorsOnlyWhenAsked(t *testing.T) {
	var plain, colored bytes.Buffer
	r := analyse(t, "typescript.cpu.pb.gz")
	if err := report.Text(&plain, r, 80, false); err != nil {
		t.Fatal(err)
	}
	if err := report.Text(&colored, r, 80, true); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "\x1b") || !strings.Contains(colored.String(), "\x1b[33m") {
		t.Error("colours do not follow the flag")
	}
}

type failing struct{}

var errFull = errors.New("disk full")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestTextReturnsWriteErrors(t *testing.T) {
	if err := report.Text(failing{}, analyse(t, "do-meter.cpu.pb.gz"), 80, false); !errors.Is(err, errFull) {
		t.Errorf("error = %v", err)
	}
}

func TestPeek(t *testing.T) {
	r := analyse(t, "typescript.cpu.pb.gz")
	for _, f := range r.Functions {
		p, err := report.Peek(r, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		var callers, callees float64
		for _, e := range p.Callers {
			callers += e.Share
		}
		for _, e := range p.Callees {
			callees += e.Share
		}
		if !near(callers, p.Total) || !near(callees+p.Self, p.Total) {
			t.Errorf("%s: callers %v, self %v + callees %v, total %v", f.Name, callers, p.Self, callees, p.Total)
		}
		if len(p.Functions) == 1 && (!near(p.Self, f.SelfShare) || !near(p.Total, f.TotalShare)) {
			t.Errorf("%s: peek %v %v, report %v %v", f.Name, p.Self, p.Total, f.SelfShare, f.TotalShare)
		}
	}
	for want, ask := range map[string]string{"ensureSchema": "ENSURESCHEMA", "genericJsonReplacer": " genericjson "} {
		if p, err := report.Peek(r, ask); err != nil || p.Name != want {
			t.Errorf("%q: %v %v", ask, p, err)
		}
	}
	for _, ask := range []string{"", "no such", "ring"} {
		if _, err := report.Peek(r, ask); !errors.Is(err, report.ErrNoFunction) {
			t.Errorf("%q: %v", ask, err)
		}
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

func TestMerge(t *testing.T) {
	a, b := analyse(t, "gateway-hash.cpu.pb.gz"), analyse(t, "gateway-replacer.cpu.pb.gz")
	m, err := report.Merge([]*report.Report{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if m.Captures != 2 || m.Samples != a.Samples+b.Samples || m.BusyNS != a.BusyNS+b.BusyNS || m.RemovedNS != a.RemovedNS+b.RemovedNS ||
		m.IdleNS != a.IdleNS+b.IdleNS || m.ProgramNS != a.ProgramNS+b.ProgramNS || m.DurationNS != a.DurationNS+b.DurationNS {
		t.Errorf("sums: %+v", m)
	}
	if m.Tree.Nodes[0].Total != m.BusyNS {
		t.Errorf("tree %d, busy %d", m.Tree.Nodes[0].Total, m.BusyNS)
	}
	f := m.Functions[0]
	if f.Name != "genericJsonReplacer" || f.Spread == nil || f.Spread.Low != 0 || !near(f.Spread.High, shareOf(b, "genericJsonReplacer")) {
		t.Errorf("first function %+v %+v", f, f.Spread)
	}
	again, err := report.Merge([]*report.Report{m, a})
	if err != nil || again.Captures != 3 || again.BusyNS != 2*a.BusyNS+b.BusyNS {
		t.Errorf("merging a merged one: %v %+v", err, again)
	}
	if alone, err := report.Merge([]*report.Report{a}); err != nil || alone.Functions[0].Spread != nil {
		t.Errorf("one alone: %v", err)
	}
	if _, err := report.Merge([]*report.Report{a, analyse(t, "heap-do.pb.gz")}); !errors.Is(err, report.ErrDifferentUse) {
		t.Errorf("cpu and heap: %v", err)
	}
	if _, err := report.Merge(nil); !errors.Is(err, report.ErrNoBase) {
		t.Errorf("nothing: %v", err)
	}
	for name, ch := range compare(t, m, m) {
		if ch.Verdict != report.NoClearChange {
			t.Errorf("%s changed against itself: %+v", name, ch)
		}
	}
}

func shareOf(r *report.Report, name string) float64 {
	for _, f := range r.Functions {
		if f.Name == name {
			return f.SelfShare
		}
	}
	return -1
}
