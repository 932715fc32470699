package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snapflame/snapflame/report"
)

var update = flag.Bool("update", false, "rewrite the golden reports; look at the difference before committing it")

// The JSON goldens hold this many functions; synthetic-50k-idle has 2,000.
const goldenFunctions = 40

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; run go test ./report -run Golden -update and look at it\n%s", file, firstDifference(string(got), string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

func TestGoldenReports(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "profiles", "*"))
	if err != nil || len(files) < 17 {
		t.Fatalf("%d profiles, %v", len(files), err)
	}
	for _, f := range files {
		name := filepath.Base(f)
		t.Run(name, func(t *testing.T) {
			r := analyse(t, name)
			var text bytes.Buffer
			if err := report.Text(&text, r, 100, false); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", text.Bytes())
			r.Functions = report.Top(r, goldenFunctions)
			b, err := json.MarshalIndent(r, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".json", append(b, '\n'))
		})
	}
}

func TestGoldenComparison(t *testing.T) {
	r := analyse(t, "do-schema.cpu.pb.gz")
	c, err := report.Compare(r, []*report.Report{analyse(t, "do-meter.cpu.pb.gz"), analyse(t, "do-sweep.cpu.pb.gz")})
	if err != nil {
		t.Fatal(err)
	}
	r.Base = c
	r.Meta.Title = "usage-meter UsageMeter 3fa1c07d"
	var text bytes.Buffer
	if err := report.Text(&text, r, 80, false); err != nil {
		t.Fatal(err)
	}
	golden(t, "do-schema-against-two.txt", text.Bytes())
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "do-schema-against-two.json", append(b, '\n'))
}

func TestGoldenMergeAndPeek(t *testing.T) {
	m, err := report.Merge([]*report.Report{analyse(t, "gateway-hash.cpu.pb.gz"), analyse(t, "gateway-gc95.cpu.pb.gz"), analyse(t, "gateway-replacer.cpu.pb.gz")})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := report.Text(&text, m, 100, false); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fingerprint", "fetch"} {
		p, err := report.Peek(m, name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "\n%s self %.3f total %.3f\n", p.Name, p.Self, p.Total)
		for _, e := range p.Callers {
			fmt.Fprintf(&text, "  called by %s %.3f\n", e.Frame.Name, e.Share)
		}
		for _, e := range p.Callees {
			fmt.Fprintf(&text, "  calls %s %.3f\n", e.Frame.Name, e.Share)
		}
	}
	golden(t, "gateway-three-merged.txt", text.Bytes())
}
