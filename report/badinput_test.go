package report_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"github.com/google/pprof/profile"

	"github.com/snapflame/snapflame/report"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

func zipped(tb testing.TB, b []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	zw, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := zw.Write(b); err != nil {
		tb.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func TestBadInput(t *testing.T) {
	good := profileBytes(t, "do-meter.cpu.pb.gz")
	corrupt := bytes.Clone(good)
	corrupt[len(corrupt)/2] ^= 0xff
	uncompressed := profileBytes(t, "do-schema.cpu.pb")
	for _, c := range []struct {
		name string
		data []byte
		kind report.InputKind
		says string
	}{
		{"nothing", nil, report.InputEmpty, "empty"},
		{"gzip of nothing", zipped(t, nil), report.InputEmpty, "empty"},
		{"API error", []byte(`{"success":false,"errors":[{"code":10007,"message":"No recent executions\u0007"}]}`), report.InputJSONError, "No recent executions"},
		{"API error in gzip", zipped(t, []byte(`{"errors":[{"message":"no loaded isolate"}]}`)), report.InputJSONError, "no loaded isolate"},
		{"other JSON", []byte(`{"a":1}`), report.InputJSON, "JSON"},
		{"JSON array", []byte(` [1,2]`), report.InputJSON, "JSON"},
		{"cpuprofile", []byte(`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}}],"samples":[1]}`), report.InputCPUProfile, ".cpuprofile"},
		{"HTML", []byte("\n<!DOCTYPE html><html><title>502</title>"), report.InputHTML, "web page"},
		{"text", []byte("Bad gateway\r\n"), report.InputText, "Bad gateway"},
		{"truncated gzip", good[:len(good)/2], report.InputTruncatedGzip, "cut off"},
		{"gzip header alone", good[:5], report.InputTruncatedGzip, "cut off"},
		{"corrupt gzip", corrupt, report.InputCorruptGzip, "damaged"},
		{"double gzip", zipped(t, good), report.InputDoubleGzip, "twice"},
		{"zeros", make([]byte, 4096), report.InputNotPprof, "not a pprof"},
		{"other protobuf", []byte{0x0a, 4, 'n', 'a', 'm', 'e', 0x10, 5}, report.InputNotPprof, "not a pprof"},
		{"PNG", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), report.InputNotPprof, "not a pprof"},
		{"truncated raw", uncompressed[:len(uncompressed)/2], report.InputMalformed, "damaged"},
		{"too large", zipped(t, make([]byte, report.MaxRaw+1)), report.InputTooLarge, "larger"},
		{"too large raw", make([]byte, report.MaxRaw+1), report.InputTooLarge, "larger"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := report.Analyse(c.data, report.Options{})
			in, ok := errors.AsType[*report.InputError](err)
			if !ok {
				t.Fatalf("error = %v, want an InputError", err)
			}
			if in.Kind != c.kind || !strings.Contains(in.Text, c.says) {
				t.Errorf("got %s %q, want %s with %q", in.Kind, in.Text, c.kind, c.says)
			}
			if strings.ContainsFunc(in.Text, unicode.IsControl) {
				t.Errorf("control characters in %q", in.Text)
			}
		})
	}
}

func TestUnitsNotNames(t *testing.T) {
	p := tiny("made up", "microseconds")
	r, err := report.Analyse(raw(t, p), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Type != report.CPU || r.BusyNS != 2_000_000 {
		t.Errorf("got %s %d ns, want cpu 2000000", r.Type, r.BusyNS)
	}
	if _, err := report.Analyse(raw(t, tiny("cpu", "parsecs")), report.Options{}); err == nil || !strings.Contains(err.Error(), "parsecs") {
		t.Errorf("unknown unit: %v", err)
	}
	odd := tiny("cpu", "nanoseconds")
	odd.SampleType = append(odd.SampleType, &profile.ValueType{Type: "wall", Unit: "nanoseconds"})
	for _, s := range odd.Sample {
		s.Value = append(s.Value, 7)
	}
	odd.DefaultSampleType = "cpu"
	if r, err = report.Analyse(raw(t, odd), report.Options{}); err != nil || r.BusyNS != 2000 || len(r.Notes) == 0 {
		t.Errorf("default type: %+v %v", r, err)
	}
	counted := tiny("cpu", "nanoseconds")
	counted.SampleType = counted.SampleType[:1]
	for _, s := range counted.Sample {
		s.Value = s.Value[:1]
	}
	counted.PeriodType, counted.Period = &profile.ValueType{Type: "cpu", Unit: "milliseconds"}, 1
	if r, err = report.Analyse(raw(t, counted), report.Options{}); err != nil || r.BusyNS != 2_000_000 {
		t.Errorf("count only: %+v %v", r, err)
	}
}

// tiny has two samples of 1,000 units in one function.
func tiny(name, unit string) *profile.Profile {
	fn := &profile.Function{ID: 1, Name: "run", Filename: "a.js"}
	loc := &profile.Location{ID: 1, Line: []profile.Line{{Function: fn, Line: 3}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "sample", Unit: "count"}, {Type: name, Unit: unit}},
		Function:   []*profile.Function{fn}, Location: []*profile.Location{loc},
	}
	for range 2 {
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{loc}, Value: []int64{1, 1000}})
	}
	return p
}

func TestOddValues(t *testing.T) {
	p := tiny("cpu", "nanoseconds")
	huge := int64(1) << 62
	p.Sample = append(p.Sample,
		&profile.Sample{Value: []int64{1, 1000}},
		&profile.Sample{Location: p.Location, Value: []int64{1, -5}},
		&profile.Sample{Location: p.Location, Value: []int64{huge, huge}},
		&profile.Sample{Location: p.Location, Value: []int64{huge, huge}},
		&profile.Sample{Location: p.Location, Value: []int64{huge, huge}},
	)
	p.Function[0].Name = "bad\xff"
	r, err := report.Analyse(raw(t, p), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Samples != 7 || r.BusyNS != 1<<63-1 {
		t.Errorf("samples %d busy %d", r.Samples, r.BusyNS)
	}
	if got := r.Functions[0]; got.Name != "bad\uFFFD" || got.SelfShare != 1 {
		t.Errorf("function %+v", got)
	}
	notes := strings.Join(r.Notes, "\n")
	for _, want := range []string{"1 sample without a call stack", "1 sample with negative", "too large to add", "UTF-8", "merged"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes lack %q:\n%s", want, notes)
		}
	}
}

// Bombs must end in a typed error or in a bounded report, within 256 MiB.
func TestBombs(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(testing.TB) []byte
		ok   bool
	}{
		{"empty samples", func(tb testing.TB) []byte { tb.Helper(); return zipped(tb, bytes.Repeat([]byte{0x12, 0}, 5<<20)) }, false},
		{"empty strings", func(tb testing.TB) []byte { tb.Helper(); return zipped(tb, bytes.Repeat([]byte{0x32, 0}, 5<<20)) }, false},
		{"empty lines", emptyLines, false},
		{"deep stack", deepStack, true},
		{"lines times locations", wideLines, false},
		{"too many functions", manyFunctions, false},
		{"many samples", manySamples, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := c.make(t)
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r, err := report.Analyse(data, report.Options{})
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 256<<20 {
				t.Errorf("%d MiB allocated", used>>20)
			}
			if (err == nil) != c.ok {
				t.Fatalf("error = %v, want ok %v", err, c.ok)
			}
			if _, typed := errors.AsType[*report.InputError](err); err != nil && !typed {
				t.Errorf("untyped error %v", err)
			}
			if r != nil && len(r.Tree.Nodes) > 1<<20 {
				t.Errorf("%d nodes", len(r.Tree.Nodes))
			}
		})
	}
}

func emptyLines(tb testing.TB) []byte {
	tb.Helper()
	body := bytes.Repeat([]byte{0x22, 2, 8, 1}, 3<<20)
	out := bytes.Join([][]byte{msg(6), text("cpu"), text("ns"), msg(1, 8, 1, 16, 2), msg(5, 8, 1)}, nil)
	out = append(out, 0x22)
	for n := len(body); ; n >>= 7 {
		if n < 0x80 {
			out = append(out, byte(n))
			break
		}
		out = append(out, byte(n)|0x80)
	}
	return zipped(tb, append(out, body...))
}

func deepStack(tb testing.TB) []byte {
	tb.Helper()
	p := tiny("cpu", "nanoseconds")
	for range 10_000 {
		p.Sample[0].Location = append(p.Sample[0].Location, p.Location[0])
	}
	return raw(tb, p)
}

// wideLines: each of 10,000 locations of one stack has 10,000 inlined lines.
func wideLines(tb testing.TB) []byte {
	tb.Helper()
	p := tiny("cpu", "nanoseconds")
	for range 10_000 {
		p.Location[0].Line = append(p.Location[0].Line, p.Location[0].Line[0])
		p.Sample[0].Location = append(p.Sample[0].Location, p.Location[0])
	}
	return raw(tb, p)
}

func manyFunctions(tb testing.TB) []byte {
	tb.Helper()
	p := tiny("cpu", "nanoseconds")
	for i := range uint64(300_000) {
		fn := &profile.Function{ID: i + 2, Name: "run"}
		loc := &profile.Location{ID: i + 2, Line: []profile.Line{{Function: fn, Line: int64(i)}}}
		p.Function, p.Location = append(p.Function, fn), append(p.Location, loc)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{loc}, Value: []int64{1, 1000}})
	}
	return raw(tb, p)
}

func manySamples(tb testing.TB) []byte {
	tb.Helper()
	p := tiny("cpu", "nanoseconds")
	for range 300_000 {
		p.Sample = append(p.Sample, p.Sample[0])
	}
	return zipped(tb, raw(tb, p))
}
