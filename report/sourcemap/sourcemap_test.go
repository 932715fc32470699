package sourcemap_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	oracle "github.com/go-sourcemap/sourcemap"

	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/report/sourcemap"
)

func read(tb testing.TB, parts ...string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func load(tb testing.TB, dir string) *sourcemap.Set {
	tb.Helper()
	s, err := sourcemap.Load(filepath.Join("testdata", dir))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestMapRealBundle(t *testing.T) {
	s := load(t, "gateway")
	for _, c := range []struct {
		file         string
		line, column int64
		want         report.Position
		why          report.MapReason
	}{
		{"file:///bundle/worker.js", 132, 0, report.Position{File: "src/replacer.ts", Line: 16}, report.Mapped},
		{"file:/bundle/worker.js", 132, 0, report.Position{File: "src/replacer.ts", Line: 16}, report.Mapped},
		{"worker.js", 132, 29, report.Position{File: "src/replacer.ts", Line: 16}, report.Mapped},
		{"file:///bundle/worker.js", 5, 0, report.Position{File: "src/fingerprint.ts", Line: 9}, report.Mapped},
		{"file:///bundle/other.js", 132, 0, report.Position{}, report.NoMap},
		{"", 132, 0, report.Position{}, report.NoMap},
		{"worker.js", 99999, 0, report.Position{}, report.NoSegment},
		{"worker.js", 0, 0, report.Position{}, report.NoSegment},
		{"worker.js", 1, 0, report.Position{}, report.NoSegment}, // a comment of the bundler
	} {
		got, why := s.Map(c.file, c.line, c.column)
		if got != c.want || why != c.why {
			t.Errorf("%s:%d:%d = %+v %s, want %+v %s", c.file, c.line, c.column, got, why, c.want, c.why)
		}
	}
}

func TestMinifiedLinesAreNotGuessed(t *testing.T) {
	s := load(t, "combined-min")
	if _, why := s.Map("worker.js", 2, 0); why != report.NoColumn {
		t.Errorf("a minified line without column: %s, want %s", why, report.NoColumn)
	}
	if p, why := s.Map("worker.js", 2, 400); why != report.Mapped || !strings.HasPrefix(p.File, "src/") {
		t.Errorf("with a column: %+v %s", p, why)
	}
}

func TestSeveralMapsOfOneName(t *testing.T) {
	s := load(t, ".")
	if _, why := s.Map("file:///bundle/worker.js", 132, 0); why != report.NoMap {
		t.Errorf("three maps of worker.js: %s, want %s", why, report.NoMap)
	}
	if p, why := s.Map("gateway/worker.js", 132, 0); why != report.Mapped || p.Line != 16 {
		t.Errorf("by path: %+v %s", p, why)
	}
	var none *sourcemap.Set
	if _, why := none.Map("worker.js", 1, 1); why != report.NoMap {
		t.Errorf("no set at all: %s", why)
	}
	var one sourcemap.Set
	for range 2 { // a newer one of the same module takes its place
		if err := one.Add("worker.js", read(t, "testdata", "gateway", "worker.js.map")); err != nil {
			t.Fatal(err)
		}
	}
	if _, why := one.Map("file:///bundle/worker.js", 132, 0); why != report.Mapped {
		t.Errorf("added twice: %s", why)
	}
}

// Every lookup that both can answer must agree with go-sourcemap.
func TestAgreesWithGoSourcemap(t *testing.T) {
	for _, dir := range []string{"gateway", "meter", "combined-min"} {
		data := read(t, "testdata", dir, "worker.js.map")
		m, err := sourcemap.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		c, err := oracle.Parse("", data)
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		for line := 1; line < 450; line++ {
			for col := range 120 {
				src, _, srcLine, _, ok := c.Source(line, col)
				p, why := m.At(int64(line), int64(col+1))
				if !ok || why != report.Mapped {
					continue
				}
				compared++
				if !strings.HasSuffix(src, p.File) || srcLine != int(p.Line) {
					// Before the first segment of a line the two differ by design.
					if first, _ := m.At(int64(line), 1); first == p {
						continue
					}
					t.Fatalf("%s %d:%d = %s:%d, go-sourcemap has %s:%d", dir, line, col, p.File, p.Line, src, srcLine)
				}
			}
		}
		if compared < 200 {
			t.Errorf("%s: only %d lookups compared", dir, compared)
		}
	}
}

func TestSourceNames(t *testing.T) {
	for in, want := range map[string]string{
		"../../src/x.ts":                      "src/x.ts",
		"webpack://app/./src/x.ts":            "src/x.ts",
		"../node_modules/zod/lib/index.mjs":   "node_modules/zod/lib/index.mjs",
		"file:///home/me/app/src/x.ts":        "/home/me/app/src/x.ts",
		"..\\src\\x.ts":                       "src/x.ts",
		"../node_modules/@noble/hashes/x.mjs": "node_modules/@noble/hashes/x.mjs",
	} {
		m, err := sourcemap.Parse(mapOf(t, 3, []string{in}, "AAAA"))
		if err != nil {
			t.Fatal(err)
		}
		if p, _ := m.At(1, 1); p.File != want || p.Line != 1 {
			t.Errorf("%s = %+v, want %s", in, p, want)
		}
	}
}

func mapOf(tb testing.TB, version int, sources []string, mappings string) []byte {
	tb.Helper()
	b, err := json.Marshal(map[string]any{"version": version, "sources": sources, "mappings": mappings})
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestRefusesBadMaps(t *testing.T) {
	one := []string{"a.ts"}
	for _, c := range []struct {
		name string
		data []byte
		want error
	}{
		{"nothing", nil, sourcemap.ErrInvalid},
		{"no JSON", []byte("<html>"), sourcemap.ErrInvalid},
		{"version 2", mapOf(t, 2, one, "AAAA"), sourcemap.ErrInvalid},
		{"a source that is not there", mapOf(t, 3, one, "ACAA"), sourcemap.ErrInvalid},
		{"no base 64", mapOf(t, 3, one, "AA!A"), sourcemap.ErrInvalid},
		{"two numbers", mapOf(t, 3, one, "AA"), sourcemap.ErrInvalid},
		{"six numbers", mapOf(t, 3, one, "AAAAAA"), sourcemap.ErrInvalid},
		{"breaks off", mapOf(t, 3, one, "AAAg"), sourcemap.ErrInvalid},
		{"a number without end", mapOf(t, 3, one, strings.Repeat("g", 50)), sourcemap.ErrInvalid},
		{"a negative line", mapOf(t, 3, one, "AADA"), sourcemap.ErrInvalid},
		{"sections", []byte(`{"version":3,"sections":[{}]}`), sourcemap.ErrSections},
		{"too many lines", mapOf(t, 3, one, strings.Repeat(";", 5<<20)), sourcemap.ErrTooLarge},
		{"too large", make([]byte, sourcemap.MaxSize+1), sourcemap.ErrTooLarge},
	} {
		if _, err := sourcemap.Parse(c.data); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := sourcemap.Parse(append([]byte(")]}'\n"), mapOf(t, 3, one, "AAAA,CAAA;;AACA")...)); err != nil {
		t.Errorf("with its guard line: %v", err)
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	if _, err := sourcemap.Load(dir); !errors.Is(err, sourcemap.ErrNone) {
		t.Errorf("empty folder: %v", err)
	}
	if _, err := sourcemap.Load(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there was loaded")
	}
	if err := os.WriteFile(filepath.Join(dir, "a.js.map"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sourcemap.Load(dir); !errors.Is(err, sourcemap.ErrInvalid) || !strings.Contains(err.Error(), "a.js") {
		t.Errorf("broken map: %v", err)
	}
	inside := filepath.Join(dir, "node_modules", "x")
	if err := os.MkdirAll(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "a.js.map"), filepath.Join(inside, "a.js.map")); err != nil {
		t.Fatal(err)
	}
	if _, err := sourcemap.Load(dir); !errors.Is(err, sourcemap.ErrNone) {
		t.Errorf("maps of packages were read: %v", err)
	}
}

// With the map, two thirds of the allocations turn out to come from one file.
func TestModuleDominates(t *testing.T) {
	profile := read(t, "..", "testdata", "profiles", "heap-metrics.pb.gz")
	plain, err := report.Analyse(profile, report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if has(plain, report.FindModule) {
		t.Error("one bundle is no module")
	}
	r, err := report.Analyse(profile, report.Options{SourceMap: load(t, "gateway")})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Modules) < 2 || r.Modules[0].Name != "src/metrics.ts" || r.Modules[0].SelfShare < 0.6 {
		t.Fatalf("modules = %+v", r.Modules)
	}
	if !has(r, report.FindModule) {
		t.Errorf("findings = %+v", r.Findings)
	}
	for _, f := range r.Findings {
		if f.ID == report.FindModule && !strings.Contains(f.Text, "src/metrics.ts") {
			t.Errorf("%q", f.Text)
		}
	}
}

func TestReportSaysWhatCouldNotBeMapped(t *testing.T) {
	profile := read(t, "..", "testdata", "profiles", "minified.cpu.pb.gz")
	r, err := report.Analyse(profile, report.Options{SourceMap: load(t, "combined-min")})
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "minified") {
		t.Errorf("notes = %q", notes)
	}
	for _, f := range r.Functions {
		if strings.HasPrefix(f.File, "src/") {
			t.Errorf("guessed %+v", f)
		}
	}
}

// Bundles are all called worker.js, so the map of another Worker, or of another
// build, is easily given. It is told from the names in its sources.
func TestMapOfAnotherBuildIsNotBelieved(t *testing.T) {
	for profile, own := range map[string]string{
		"do-schema.cpu.pb.gz": "meter", "do-meter.cpu.pb.gz": "meter", "heap-do.pb.gz": "meter",
		"gateway-replacer.cpu.pb.gz": "gateway", "heap-metrics.pb.gz": "gateway", "gateway-gc95.cpu.pb.gz": "gateway",
	} {
		for _, given := range []string{"meter", "gateway"} {
			r, err := report.Analyse(read(t, "..", "testdata", "profiles", profile), report.Options{SourceMap: load(t, given)})
			if err != nil {
				t.Fatal(err)
			}
			said := strings.Contains(strings.Join(r.Notes, "\n"), "another build")
			mapped := slices.ContainsFunc(r.Functions, func(f report.Function) bool { return strings.HasPrefix(f.File, "src/") })
			if want := given == own; said == want || mapped != want {
				t.Errorf("%s with the map of %s: notes %q, names from sources %v", profile, given, r.Notes, mapped)
			}
		}
	}
}

func has(r *report.Report, id string) bool {
	for _, f := range r.Findings {
		if f.ID == id {
			return true
		}
	}
	return false
}

func FuzzParse(f *testing.F) {
	f.Add(mapOf(f, 3, []string{"a.ts", "b.ts"}, "AAAA,CAAC;;ACCA,GAAG"), int64(3), int64(2))
	f.Add([]byte(`{"version":3,"sources":["x"],"mappings":";;A"}`), int64(1), int64(0))
	f.Fuzz(func(t *testing.T, data []byte, line, column int64) {
		m, err := sourcemap.Parse(data)
		if err != nil {
			return
		}
		if p, why := m.At(line, column); why == report.Mapped && p.Line < 1 {
			t.Errorf("%d:%d = %+v", line, column, p)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	data := read(b, "testdata", "combined-min", "worker.js.map")
	b.Run("own", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := sourcemap.Parse(bytes.Clone(data)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("go-sourcemap", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := oracle.Parse("", bytes.Clone(data)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
