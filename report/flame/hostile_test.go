package flame_test

import (
	"bytes"
	"encoding/json"
	"image/png"
	"math"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/report/flame"
)

// hostileNames are what V8 may be made to report as a function's name.
var hostileNames = []string{
	"<!channel>",
	"a&b<script>alert(1)</script>",
	`"><img src=x onerror=document.title='owned'>`,
	"</script><script>document.title='owned'</script>",
	"</title></text></svg><script>1</script>",
	"]]><!--",
	"{{.Title}} ${document.title='owned'} `x`",
	"\u202egnp.exe\u202c",
	"\u2066isolate\u2069",
	"nul\x00middle",
	"bell\a escape\x1b[31m",
	"line\nbreak\r\u2028sep",
	"bad\xff\xfe bytes\xc3",
	"zero\u200bwidth\ufeff",
	"tag\U000e0041\ue000",
	"z\u0351\u0352\u0353\u0354\u0355\u0356algo",
	"漢字 שלום 🔥",
	strings.Repeat("x", 100_000),
	strings.Repeat("🔥", 50_000),
	"   ",
	"__proto__",
	"constructor",
}

func hostile(tb testing.TB) *report.Report {
	tb.Helper()
	paths := make([]string, 0, len(hostileNames))
	r := grown(tb, "main 1")
	for range hostileNames {
		paths = append(paths, "x")
	}
	tree := &report.Tree{Unit: "nanoseconds", Nodes: []report.Node{{Frame: -1, Parent: -1, Total: int64(len(paths)) * 1e9}}}
	r.Functions = nil
	for i, n := range hostileNames {
		f := report.Frame{Name: n, File: n, Line: int64(i), Kind: report.Kind(n), Module: n}
		tree.Frames = append(tree.Frames, f)
		tree.Nodes = append(tree.Nodes, report.Node{Frame: int32(i), Self: 1e9, Total: 1e9})
		r.Functions = append(r.Functions, report.Function{Name: n, File: n, Line: int64(i), SelfShare: 1 / float64(len(hostileNames))})
		r.Findings = append(r.Findings, report.Finding{ID: n, Text: n, Next: n})
		r.Notes = append(r.Notes, n)
	}
	r.Tree = tree
	r.Base = &report.Comparison{Captures: 1}
	for _, n := range hostileNames {
		r.Base.Changes = append(r.Base.Changes, report.Change{Name: n, File: n, After: 0.05, Verdict: report.New})
	}
	return r
}

// everywhere puts one name wherever untrusted text can stand.
func everywhere(r *report.Report, n string) *report.Report {
	r.Meta = report.Meta{Title: n, Script: n, Class: n, ObjectID: n, VersionID: n, CaptureID: n, Note: n}
	r.Functions[0].Name, r.Functions[0].SelfShare = n, 0.5
	r.Base.Changes[0] = report.Change{Name: n, File: n, After: 0.9, Verdict: report.New}
	return r
}

func TestHostileNamesAreInert(t *testing.T) {
	for _, n := range hostileNames {
		r := everywhere(hostile(t), n)
		var b bytes.Buffer
		if err := flame.DiffPNG(&b, r); err != nil {
			t.Fatal(err)
		}
		decode(t, b.Bytes())

		b.Reset()
		if err := flame.SVG(&b, r); err != nil {
			t.Fatal(err)
		}
		parse(t, b.Bytes())
		harmless(t, n, b.Bytes())

		b.Reset()
		if err := flame.HTML(&b, r); err != nil {
			t.Fatal(err)
		}
		harmless(t, n, b.Bytes())
		page := strings.ToLower(b.String())
		if got := strings.Count(page, "<script"); got != 2 {
			t.Errorf("%.30q: the page has %d script elements, want its 2", n, got)
		}
		if strings.Contains(page, "<img") || strings.Contains(page, "onerror=document.title='owned'>") {
			t.Errorf("%.30q: the page holds markup out of a name", n)
		}

		for what, s := range map[string]string{"headline": flame.Headline(r), "alt": flame.Alt(r)} {
			harmless(t, n+" in "+what, []byte(s))
		}
	}
}

// harmless refuses text that hides or reorders text, and anything unbounded.
func harmless(t *testing.T, name string, b []byte) {
	t.Helper()
	if len(b) > 300_000 {
		t.Errorf("%.30q: %d bytes", name, len(b))
	}
	if !utf8.Valid(b) {
		t.Errorf("%.30q: invalid UTF-8", name)
	}
	for _, r := range string(b) {
		if r != '\n' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r)) {
			t.Errorf("%.30q: holds %U", name, r)
			return
		}
	}
}

// TestReplacementIsVisible: what is taken out of a name leaves a mark, so that
// two names do not look the same.
func TestReplacementIsVisible(t *testing.T) {
	ink := func(name string) []byte { // the shade of a box is by name
		var b bytes.Buffer
		if err := flame.PNG(&b, grown(t, name+" 100")); err != nil {
			t.Fatal(err)
		}
		pix := decode(t, b.Bytes()).Pix
		for i := range pix {
			pix[i] &= 0x0f
		}
		return pix
	}
	shown := ink("ab\ufffdcd")
	for _, n := range []string{"ab\x00cd", "ab\u202ecd", "ab\xffcd", "ab\U0001f525cd"} {
		if !bytes.Equal(ink(n), shown) {
			t.Errorf("%q does not show a replacement mark", n)
		}
	}
	if bytes.Equal(ink("abcd"), shown) {
		t.Error("the replacement mark shows nothing")
	}
}

func FuzzRender(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03main;<b>\n\x02"), int64(1e9), true)
	f.Add([]byte(strings.Join(hostileNames[:17], "\n")), int64(math.MaxInt64), false)
	f.Add([]byte("\xff\xfe\n\n\n"), int64(-5), true)
	f.Fuzz(func(t *testing.T, b []byte, total int64, heap bool) {
		r := arbitrary(b, total, heap)
		var out bytes.Buffer
		if err := flame.PNG(&out, r); err != nil {
			if out.Len() > 0 {
				t.Fatalf("%d bytes were written before %v", out.Len(), err)
			}
			return
		}
		if _, err := png.Decode(bytes.NewReader(out.Bytes())); err != nil {
			t.Fatal(err)
		}
		decode(t, out.Bytes())
		out.Reset()
		if err := flame.SVG(&out, r); err != nil {
			t.Fatal(err)
		}
		parse(t, out.Bytes())
		data, err := flame.Data(r)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(data) || bytes.ContainsAny(data, "<>&") {
			t.Fatalf("the data is not JSON that can stand in a page: %q", data)
		}
	})
}

// arbitrary makes a report of any bytes: names from lines, shape from bytes.
func arbitrary(b []byte, total int64, heap bool) *report.Report {
	names := strings.Split(string(b), "\n")
	t := &report.Tree{Unit: "nanoseconds", Nodes: []report.Node{{Frame: -1, Parent: -1, Total: total}}}
	kinds := []report.Kind{report.KindApp, report.KindDependency, report.KindRuntime, report.KindBuiltin, report.KindGC, report.KindWasm, "?"}
	for i, n := range names {
		t.Frames = append(t.Frames, report.Frame{Name: n, File: n, Line: total, Kind: kinds[i%len(kinds)]})
	}
	for i, c := range b[:min(len(b), 2000)] {
		parent := int32(i) - int32(c%8) // sometimes none: malformed
		t.Nodes = append(t.Nodes, report.Node{
			Frame: int32(c)%int32(len(names)+2) - 1, Parent: parent,
			Self: total >> (c % 13), Total: total>>(c%9) - int64(c),
		})
	}
	r := &report.Report{Type: report.CPU, Verdict: report.Weak, Samples: total, BusyNS: total, RemovedNS: -total, GCShare: float64(len(b)), Tree: t}
	if heap {
		r.Type, r.BusyBytes, t.Unit = report.Heap, total, "bytes"
	}
	r.Meta = report.Meta{Title: names[0], Note: string(b)}
	r.Functions = []report.Function{{Name: names[0], SelfShare: math.Inf(1)}}
	if len(b)%2 == 0 {
		r.Base = &report.Comparison{Changes: []report.Change{{Name: names[0], File: names[0], After: math.NaN(), Low: math.Inf(-1), Verdict: report.Grew}}}
	}
	return r
}
