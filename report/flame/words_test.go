package flame_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/report/flame"
)

func TestHeadline(t *testing.T) {
	replacer := func() *report.Report { return load(t, "gateway-replacer.cpu.pb.gz") }
	for _, c := range []struct {
		name string
		r    *report.Report
		want string
	}{
		{"one function", replacer(), "genericJsonReplacer uses 85.0 % of busy CPU"},
		{"garbage", load(t, "gateway-gc95.cpu.pb.gz"), "97.4 % of busy CPU is garbage collection"},
		{"garbage and more", load(t, "gateway-hash.cpu.pb.gz"), "52.7 % of busy CPU is garbage collection, then fingerprint 17.6 %"},
		{"heap", load(t, "heap-metrics.pb.gz"), "recordRequest allocates 29.2 % of the bytes"},
		{"flat", load(t, "synthetic-50k-idle.cpu.pb.gz"), "No function dominates; first applyKey 3.3 %"},
		{"grew", compared(replacer(), report.Change{
			Name: "parse", File: "x", Before: 0.031, After: 0.184, Verdict: report.Grew,
		}), "parse 18.4 % of busy CPU, was 3.1 %"},
		{"new", compared(replacer(), report.Change{Name: "parse", After: 0.184, Verdict: report.New}), "parse 18.4 % of busy CPU, new"},
		{"gone", compared(replacer(), report.Change{Name: "parse", Before: 0.2, Verdict: report.Gone}), "parse is gone, was 20.0 % of busy CPU"},
		{"unclear", compared(replacer(), report.Change{
			Name: "parse", Before: 0.1, After: 0.9, Verdict: report.NoClearChange,
		}), "genericJsonReplacer uses 85.0 % of busy CPU, no clear change"},
		{"idle", &report.Report{Verdict: report.Empty}, "No busy sample: nothing ran in this isolate while it was sampled"},
	} {
		if got := flame.Headline(c.r); got != c.want {
			t.Errorf("%s: headline is %q, want %q", c.name, got, c.want)
		}
	}
}

func compared(r *report.Report, changes ...report.Change) *report.Report {
	r.Base = &report.Comparison{Captures: 1, Changes: changes}
	return r
}

// TestComparisonColours: a change without support is grey, however large.
func TestComparisonColours(t *testing.T) {
	r := compared(grown(t, "main;up 400", "main;down 300", "main;maybe 300"),
		report.Change{Name: "up", File: "file:///bundle/worker.js", Before: 0.1, After: 0.4, Verdict: report.Grew},
		report.Change{Name: "down", File: "file:///bundle/worker.js", Before: 0.6, After: 0.3, Verdict: report.Shrank},
		report.Change{Name: "maybe", File: "file:///bundle/worker.js", Before: 0.01, After: 0.3, Verdict: report.NoClearChange},
		report.Change{Name: "lost", File: "file:///bundle/worker.js", Before: 0.2, Verdict: report.Gone},
	)
	d := draw(t, r)
	for name, want := range map[string]string{"up": "#e0623f", "down": "#4a8fc9", "maybe": "#dadcdf"} {
		if got := d.boxes(name)[0].Fill; got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if all := strings.Join(d.Texts, "\n"); !strings.Contains(all, "lost gone, −20.0") {
		t.Errorf("a function without a box is not named: %s", all)
	}
}

// TestSaysWhatItIs: a picture travels without its message.
func TestSaysWhatItIs(t *testing.T) {
	r := load(t, "do-meter.cpu.pb.gz")
	r.Verdict = report.Weak
	r.Meta.Note = "replacement isolate, 12 s after the failure"
	all := strings.Join(draw(t, r).Texts, "\n")
	for _, want := range []string{
		"room-api RoomObject 3fa1c07d", "CPU profile, 10 s", "3,821 samples", "7.01 s busy", "2.45 s waiting removed", "Too few busy samples",
		"replacement isolate", "capture 01K9Z6W8Q4", "version 8d1f0c52-77ab", "2026-11-30 03:14:20 UTC", "1 isolate",
		"your code", "garbage collector 4.9 %",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the picture does not say %q:\n%s", want, all)
		}
	}
	if alt := flame.Alt(r); !strings.Contains(alt, "Weak profile: record uses 88.7 %") || !utf8.ValidString(alt) {
		t.Errorf("the picture in words is %q", alt)
	}
}
