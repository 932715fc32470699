package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/snapflame/snapflame/report"
)

func finding(r *report.Report, id string) (report.Finding, bool) {
	for _, f := range r.Findings {
		if f.ID == id {
			return f, true
		}
	}
	return report.Finding{}, false
}

// Each finding on a real profile that has it, with what its sentence must
// hold, and on one that has not. module_dominates is tested beside its source
// map, in the package sourcemap.
func TestFindings(t *testing.T) {
	object := report.Meta{Class: "UsageMeter"}
	for _, c := range []struct {
		id    string
		has   string
		meta  report.Meta
		says  []string
		lacks string
	}{
		{id: report.FindDominant, has: "gateway-replacer.cpu.pb.gz", says: []string{"genericJsonReplacer", "defined at worker.js:132", "85.0 %", "in or called by"}, lacks: "synthetic-50k-idle.cpu.pb.gz"},
		{id: report.FindDominant, has: "heap-do.pb.gz", says: []string{"record", "allocated bytes"}, lacks: "heap-metrics.pb.gz"},
		{id: report.FindRepeated, has: "do-schema.cpu.pb.gz", says: []string{"ensureSchema", "39 of 39"}, lacks: "do-meter.cpu.pb.gz"},
		{id: report.FindRecursion, has: "gateway-replacer.cpu.pb.gz", says: []string{"genericJsonReplacer", "up to 8 times"}, lacks: "do-schema.cpu.pb.gz"},
		{id: report.FindGCPressure, has: "gateway-hash.cpu.pb.gz", says: []string{"52.7 %"}, lacks: "gateway-gc95.cpu.pb.gz"},
		{id: report.FindGCDominates, has: "gateway-gc95.cpu.pb.gz", says: []string{"97.4 %"}, lacks: "gateway-hash.cpu.pb.gz"},
		{id: report.FindMostlyWaiting, has: "partly-idle.cpu.pb.gz", says: []string{"2.2 %", "20.5 s"}, lacks: "do-schema.cpu.pb.gz"},
		{id: report.FindIdle, has: "idle.cpu.pb.gz", says: []string{"1 sample", "10.0 s"}, lacks: "partly-idle.cpu.pb.gz"},
		{id: report.FindMinified, has: "minified.cpu.pb.gz", says: []string{"18 of 24", "b, U, P, R"}, lacks: "typescript.cpu.pb.gz"},
		{id: report.FindEmptyHeap, has: "heap-empty.pb.gz", says: []string{"512 kB"}, lacks: "heap-do.pb.gz"},
		{id: report.FindEmptyHeap, has: "heap-empty.pb.gz", meta: report.Meta{Stateless: true}, says: []string{"one isolate of many"}, lacks: "idle.cpu.pb.gz"},
		{id: report.FindAllocation, has: "heap-metrics.pb.gz", says: []string{"2.39 GB"}, lacks: "do-meter.cpu.pb.gz"},
		{id: report.FindIsolateShared, has: "do-meter.cpu.pb.gz", meta: object, says: []string{"UsageMeter"}, lacks: "gateway-hash.cpu.pb.gz"},
	} {
		t.Run(c.id, func(t *testing.T) {
			r, err := report.Analyse(profileBytes(t, c.has), report.Options{Meta: c.meta})
			if err != nil {
				t.Fatal(err)
			}
			f, ok := finding(r, c.id)
			if !ok {
				t.Fatalf("%s: not found in %+v", c.has, r.Findings)
			}
			for _, s := range c.says {
				if !strings.Contains(f.Text, s) {
					t.Errorf("%q lacks %q", f.Text, s)
				}
			}
			if f.Next == "" {
				t.Error("no next step")
			}
			if f, ok := finding(analyse(t, c.lacks), c.id); ok {
				t.Errorf("%s has it too: %q", c.lacks, f.Text)
			}
		})
	}
}

// The GC findings send the reader to a heap capture: nothing else can say who
// allocates.
func TestGCSendsToHeap(t *testing.T) {
	for file, id := range map[string]string{"gateway-hash.cpu.pb.gz": report.FindGCPressure, "gateway-gc95.cpu.pb.gz": report.FindGCDominates} {
		if f, _ := finding(analyse(t, file), id); !strings.Contains(f.Next, "heap capture") {
			t.Errorf("%s: %q", file, f.Next)
		}
	}
}

func TestFewSamplesAreNotInterpreted(t *testing.T) {
	r, err := report.Analyse(raw(t, tiny("cpu", "nanoseconds")), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != report.Weak || len(r.Findings) != 1 || r.Findings[0].ID != report.FindFewSamples {
		t.Errorf("verdict %s, findings %+v", r.Verdict, r.Findings)
	}
	if f, ok := finding(analyse(t, "do-meter.cpu.pb.gz"), report.FindFewSamples); ok {
		t.Errorf("3821 samples are enough: %q", f.Text)
	}
}

func TestRetainedHeapIsNotCalledAllocations(t *testing.T) {
	p := tiny("inuse_space", "bytes")
	for range 30 {
		p.Sample = append(p.Sample, p.Sample[0])
	}
	r, err := report.Analyse(raw(t, p), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f, ok := finding(r, report.FindAllocation); ok {
		t.Errorf("%q", f.Text)
	}
	var out strings.Builder
	if err := report.Text(&out, r, 100, false); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "still in use 32.0 kB (not all that was allocated)") || strings.Contains(out.String(), "allocated in the window") {
		t.Errorf("text:\n%s", out.String())
	}
}

// Go's and DataDog's encoders write what was allocated before what is in use.
func TestAllocatedBytesAreReadWhereAFileHasBoth(t *testing.T) {
	for _, usual := range []string{"", "inuse_space"} {
		p := tiny("inuse_space", "bytes")
		p.SampleType = append([]*profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}}, p.SampleType...)
		p.DefaultSampleType = usual
		for _, s := range p.Sample {
			s.Value = []int64{7, 5000, 1, 10}
		}
		r, err := report.Analyse(raw(t, p), report.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.BusyBytes != 10_000 {
			t.Errorf("default %q: %d bytes, want the 10,000 allocated", usual, r.BusyBytes)
		}
	}
}

func TestDeepStacksAreSaid(t *testing.T) {
	if notes := strings.Join(analyse(t, "long-50s.cpu.pb.gz").Notes, "\n"); !strings.Contains(notes, "255 frames") {
		t.Errorf("notes = %q", notes)
	}
	if notes := strings.Join(analyse(t, "do-meter.cpu.pb.gz").Notes, "\n"); strings.Contains(notes, "255 frames") {
		t.Errorf("notes = %q", notes)
	}
}

// A stack that is drawn in part says so; its figures are whole.
func TestStacksThatAreNotDrawnWholeAreSaid(t *testing.T) {
	for depth, want := range map[int]bool{512: false, 513: true, 10_000: true} {
		p := tiny("cpu", "nanoseconds")
		stack := make([]*profile.Location, depth)
		for i := range stack {
			id := uint64(i + 2)
			fn := &profile.Function{ID: id, Name: fmt.Sprintf("f%d", i), Filename: "a.js"}
			stack[i] = &profile.Location{ID: id, Line: []profile.Line{{Function: fn, Line: 1}}}
			p.Function, p.Location = append(p.Function, fn), append(p.Location, stack[i])
		}
		p.Sample = append(p.Sample, &profile.Sample{Location: stack, Value: []int64{1, 3000}})
		r, err := report.Analyse(raw(t, p), report.Options{})
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(r.Notes, "\n")
		if got := strings.Contains(notes, "1 sample too deep or too varied to draw whole"); got != want {
			t.Errorf("%d frames: said %t, want %t: %q", depth, got, want, notes)
		}
		if f := r.Functions[0]; f.Name != "f0" || f.SelfNS != 3000 {
			t.Errorf("%d frames: first is %s with %d ns, want f0 with 3000", depth, f.Name, f.SelfNS)
		}
	}
}
