package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/snapflame/snapflame/report"
)

type key struct {
	name, file string
	line       int64
}

type naive struct {
	samples                      int64
	busy, idle, program, removed int64
	self, total                  map[key]int64
}

// reference computes the figures the plain way from google/pprof's parse. ok
// is false where the plain way has no answer: unknown units, sums that overflow.
func reference(p *profile.Profile) (n naive, ok bool) {
	value, count, scale := -1, -1, int64(0)
	var isCPU bool
	for i, st := range p.SampleType {
		switch strings.ToLower(st.Unit) {
		case "nanoseconds":
			value, scale, isCPU = i, 1, true
		case "microseconds":
			value, scale, isCPU = i, 1000, true
		case "bytes":
			value, scale, isCPU = i, 1, false
		case "count":
			count = i
		default:
			return n, false
		}
	}
	if value != 1 || count != 0 || len(p.SampleType) != 2 || p.DefaultSampleType != "" {
		return n, false
	}
	n = naive{self: map[key]int64{}, total: map[key]int64{}, samples: int64(len(p.Sample))}
	for _, s := range p.Sample {
		v, c := s.Value[1], s.Value[0]
		if v > 9e15/int64(len(p.Sample)) || c > 1e12 {
			return n, false
		}
		if len(s.Location) == 0 || v < 0 || c < 0 {
			continue
		}
		n.add(frames(s), v*scale, max(c, 1), isCPU)
	}
	return n, true
}

func (n *naive) add(st []key, v, count int64, isCPU bool) {
	if isCPU {
		capped := min(v, count*5e6)
		n.removed += v - capped
		v = capped
	}
	switch {
	case isCPU && st[0].name == "(idle)":
		n.idle += v
		return
	case isCPU && st[0].name == "(program)":
		n.program += v
		return
	}
	n.busy += v
	n.self[st[0]] += v
	seen := map[key]bool{}
	for _, k := range st {
		if !seen[k] {
			seen[k] = true
			n.total[k] += v
		}
	}
}

func frames(s *profile.Sample) []key {
	var st []key
	for _, l := range s.Location {
		if len(l.Line) == 0 {
			st = append(st, key{name: "(unknown)"})
		}
		for _, ln := range l.Line {
			k := key{strings.ToValidUTF8(ln.Function.Name, "\uFFFD"), strings.ToValidUTF8(ln.Function.Filename, "\uFFFD"), max(ln.Line, 0)}
			if ln.Function.StartLine > 0 {
				k.line = ln.Function.StartLine
			}
			if k.name == "" {
				k.name = "(anonymous)"
			}
			st = append(st, k)
		}
	}
	if len(st) > 1 && st[len(st)-1].name == "(root)" {
		st = st[:len(st)-1]
	}
	return st
}

// hold fails when the fast reader and google/pprof disagree about data.
func hold(t *testing.T, data []byte) {
	t.Helper()
	if len(data) > 1<<20 || bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return // limits and double compression are ours alone
	}
	r, err := report.Analyse(data, report.Options{})
	p, perr := profile.ParseUncompressed(data)
	if perr == nil {
		perr = p.CheckValid()
	}
	if in, isInput := errors.AsType[*report.InputError](err); isInput {
		switch in.Kind {
		case report.InputUnknownUnit, report.InputTooComplex:
			return
		default:
		}
		if perr == nil && len(p.SampleType) > 0 {
			t.Fatalf("refused what google/pprof reads: %v\n%q\n%s", err, data[:min(len(data), 300)], p)
		}
		return
	}
	if err != nil {
		t.Fatalf("untyped error: %v", err)
	}
	if perr != nil {
		t.Fatalf("read what google/pprof refuses: %v", perr)
	}
	render(t, r)
	if want, ok := reference(p); ok {
		same(t, r, want)
	}
}

// render runs everything that can be made of a report.
func render(t *testing.T, r *report.Report) {
	t.Helper()
	c, err := report.Compare(r, []*report.Report{r})
	if err != nil {
		t.Fatal(err)
	}
	for _, ch := range c.Changes {
		if ch.Verdict != report.NoClearChange {
			t.Fatalf("%q changed against itself: %+v", ch.Name, ch)
		}
	}
	m, err := report.Merge([]*report.Report{r, r})
	if err != nil {
		t.Fatal(err)
	}
	m.Base = c
	var b bytes.Buffer
	if err := report.Text(&b, m, 80, false); err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Top(r, 3) {
		if _, err := report.Peek(r, f.Name); err != nil {
			t.Fatal(err)
		}
	}
	checkInert(t, b.String())
	if _, err := json.Marshal(m); err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, r *report.Report, want naive) {
	t.Helper()
	busy := r.BusyNS
	if r.Type == report.Heap {
		busy = r.BusyBytes
	}
	got := [5]int64{r.Samples, busy, r.IdleNS, r.ProgramNS, r.RemovedNS}
	if w := [5]int64{want.samples, want.busy, want.idle, want.program, want.removed}; got != w {
		t.Fatalf("samples, busy, idle, program, removed = %v, google/pprof gives %v", got, w)
	}
	if len(r.Functions) != len(want.total) {
		t.Fatalf("%d functions, google/pprof gives %d", len(r.Functions), len(want.total))
	}
	for _, f := range r.Functions {
		k := key{f.Name, f.File, f.Line}
		if f.SelfNS+f.SelfBytes != want.self[k] || f.TotalNS+f.TotalBytes != want.total[k] {
			t.Fatalf("%v: self %d total %d, google/pprof gives %d and %d", k, f.SelfNS+f.SelfBytes, f.TotalNS+f.TotalBytes, want.self[k], want.total[k])
		}
	}
	if n := r.Tree.Nodes[0]; n.Total != want.busy {
		t.Fatalf("tree total %d, want %d", n.Total, want.busy)
	}
}

// seeds are real profiles, small ones made here, and each field of the format
// in both encodings.
func seeds(tb testing.TB) [][]byte {
	tb.Helper()
	var out [][]byte
	for _, name := range []string{"heap-do.pb.gz", "heap-empty.pb.gz", "idle.cpu.pb.gz", "partly-idle.cpu.pb.gz", "partly-idle-merged.cpu.pb.gz", "do-meter.cpu.pb.gz", "typescript.cpu.pb.gz"} {
		p, err := profile.ParseData(profileBytes(tb, name))
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, raw(tb, p))
		if len(p.Sample) > 40 {
			p.Sample = p.Sample[:40]
			out = append(out, raw(tb, p.Compact()))
		}
	}
	return append(out, handmade()...)
}

func raw(tb testing.TB, p *profile.Profile) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// msg writes one length-delimited field.
func msg(num byte, body ...byte) []byte { return append([]byte{num<<3 | 2, byte(len(body))}, body...) }

func handmade() [][]byte {
	base := bytes.Join([][]byte{
		msg(6), text("sample"), text("count"), text("cpu"), text("nanoseconds"), text("run"), text("a.js"),
		msg(1, 8, 1, 16, 2), msg(1, 8, 3, 16, 4),
		msg(5, 8, 1, 16, 5, 32, 6), msg(5, 8, 2, 16, 0, 32, 6, 40, 9),
		msg(4, 8, 1, 34, 4, 8, 1, 16, 7), msg(4, 8, 2, 34, 4, 8, 2, 16, 8, 34, 4, 8, 1, 16, 7), msg(4, 8, 3),
	}, nil)
	with := func(samples ...[]byte) []byte { return append(bytes.Clone(base), bytes.Join(samples, nil)...) }
	return [][]byte{
		with(msg(2, 10, 2, 1, 2, 18, 2, 1, 100)),                                          // packed
		with(msg(2, 8, 1, 8, 2, 16, 1, 16, 100)),                                          // unpacked
		with(msg(2, 8, 1, 10, 2, 2, 1, 8, 3, 18, 2, 1, 100)),                              // mixed
		with(msg(2, 8, 1, 16, 1, 8, 2, 16, 100)),                                          // interleaved
		with(msg(2, 18, 2, 1, 100)),                                                       // no locations
		with(msg(2, 10, 1, 3, 18, 2, 1, 100)),                                             // a location without lines
		with(msg(2, 10, 1, 9, 18, 2, 1, 100)),                                             // no such location
		with(msg(2, 10, 1, 1, 18, 3, 1, 100, 2)),                                          // too many values
		with(msg(2, 10, 1, 1, 18, 2, 1, 100, 26, 4, 8, 1, 16, 2)),                         // a label
		with(msg(2, 10, 1, 1, 18, 2, 1, 100, 26, 4, 8, 1, 16, 99)),                        // a label without text
		with(msg(2, 10, 1, 1, 18, 2, 1, 100), msg(4, 8, 1)),                               // a location twice
		with(msg(2, 0x88, 0, 1, 18, 2, 1, 100)),                                           // a tag in its long form
		with(msg(2, 10, 1, 1, 18, 11, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1)), // negative
		with([]byte{0x48, 1, 0x48, 1}),                                                    // two times: two profiles
		with(msg(3, 8, 0)),                                                                // mapping 0
	}
}

func TestReaderAgreesWithPprof(t *testing.T) {
	for _, data := range seeds(t) {
		hold(t, data)
	}
	names := []string{"do-schema.cpu.pb.gz", "gateway-gc95.cpu.pb.gz", "gateway-replacer.cpu.pb.gz", "heap-metrics.pb.gz", "heap-do.pb.gz", "long-50s.cpu.pb.gz", "minified.cpu.pb.gz", "synthetic-50k-idle.cpu.pb.gz"}
	for _, name := range names {
		p, err := profile.ParseData(profileBytes(t, name))
		if err != nil {
			t.Fatal(err)
		}
		want, ok := reference(p)
		if !ok {
			t.Fatalf("%s: the reference has no answer", name)
		}
		same(t, analyse(t, name), want)
	}
}

// Mutations find more than coverage alone in a format this tolerant.
func TestReaderAgreesOnMutations(t *testing.T) {
	rng := newRand(7)
	all := seeds(t)
	for range 1000 {
		data := bytes.Clone(all[rng.IntN(len(all))])
		for range 1 + rng.IntN(3) {
			i := rng.IntN(len(data))
			switch rng.IntN(3) {
			case 0:
				data[i] = byte(rng.IntN(256))
			case 1:
				data[i] ^= 1 << rng.IntN(8)
			default:
				data = append(data[:i:i], data[min(i+1+rng.IntN(4), len(data)):]...)
			}
			if len(data) == 0 {
				break
			}
		}
		hold(t, data)
	}
}

func FuzzAnalyse(f *testing.F) {
	for _, s := range seeds(f) {
		if len(s) < 4<<10 { // the fuzzer spends its time shrinking large ones
			f.Add(s)
		}
	}
	f.Add(profileBytes(f, "idle.cpu.pb.gz"))
	f.Fuzz(func(t *testing.T, data []byte) { hold(t, data) })
}

// text is one entry of the string table.
func text(s string) []byte { return msg(6, []byte(s)...) }
