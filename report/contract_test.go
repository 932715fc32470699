package report_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/snapflame/snapflame/report"
)

func profileBytes(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "profiles", name))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func analyse(tb testing.TB, name string) *report.Report {
	tb.Helper()
	r, err := report.Analyse(profileBytes(tb, name), report.Options{})
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return r
}

func TestContractExample(t *testing.T) {
	r := analyse(t, "do-meter.cpu.pb.gz")
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"samples", r.Samples, 3821},
		{"busy_ns", r.BusyNS, 7005462000},
		{"removed_ns", r.RemovedNS, 2449779000},
		{"idle_ns", r.IdleNS, 339135000},
		{"program_ns", r.ProgramNS, 212276000},
	} {
		if c.got != c.want {
			t.Errorf("%s = %d, want %d", c.what, c.got, c.want)
		}
	}
	if got := math.Round(r.GCShare*1e4) / 1e4; got != 0.0492 {
		t.Errorf("gc_share = %v, want 0.0492", got)
	}
	if r.Verdict != report.Conclusive {
		t.Errorf("verdict = %q", r.Verdict)
	}
	f := r.Functions[0]
	if f.Name != "record" || math.Round(f.SelfShare*1e3)/1e3 != 0.887 || f.Kind != report.KindApp {
		t.Errorf("first function = %+v, want record with 0.887", f)
	}
}

func TestJSONKeys(t *testing.T) {
	for _, c := range []struct {
		file       string
		has, hasNo []string
	}{
		{"do-meter.cpu.pb.gz", []string{"busy_ns", "removed_ns", "idle_ns", "program_ns"}, []string{"busy_bytes"}},
		{"heap-metrics.pb.gz", []string{"busy_bytes"}, []string{"busy_ns", "removed_ns", "idle_ns", "program_ns"}},
		{"heap-empty.pb.gz", []string{"busy_bytes", "functions", "findings"}, []string{"busy_ns"}},
	} {
		b, err := json.Marshal(analyse(t, c.file))
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]json.RawMessage
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		for _, k := range c.has {
			if v, ok := m[k]; !ok || string(v) == "null" {
				t.Errorf("%s: no %s", c.file, k)
			}
		}
		for _, k := range c.hasNo {
			if _, ok := m[k]; ok {
				t.Errorf("%s: has %s", c.file, k)
			}
		}
	}
}
