//go:build unix

package report_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/snapflame/snapflame/report"
)

// BenchmarkRatios runs each thing in turn with its yardsticks and divides the
// CPU time they took, so that a busy machine slows all of them alike. The table
// in testdata/bench.txt is made by
//
//	go test ./report -run xxx -bench Ratios -cpu 1 -benchtime 50x
func BenchmarkRatios(b *testing.B) {
	base := analyse(b, "do-schema.cpu.pb.gz")
	for _, f := range benchFiles() {
		b.Run(f, func(b *testing.B) {
			data := profileBytes(b, f)
			steps := []struct {
				name string
				run  func() error
			}{
				{"floor", func() error { return floor(data) }},
				{"parsedata", func() error { _, err := profile.ParseData(data); return err }},
				{"analyse", func() error { _, err := report.Analyse(data, report.Options{}); return err }},
				{"analyse+compare", func() error {
					r, err := report.Analyse(data, report.Options{})
					if err == nil {
						_, err = report.Compare(r, []*report.Report{base})
					}
					return err
				}},
				{"analyse+compare+text", func() error {
					r, err := report.Analyse(data, report.Options{})
					if err == nil {
						r.Base, err = report.Compare(r, []*report.Report{base})
					}
					if err == nil {
						err = report.Text(io.Discard, r, 100, true)
					}
					return err
				}},
			}
			took := make([]time.Duration, len(steps))
			for b.Loop() {
				for i, s := range steps {
					start := cpuTime(b)
					if err := s.run(); err != nil {
						b.Fatal(err)
					}
					took[i] += cpuTime(b) - start
				}
			}
			b.ReportMetric(float64(took[0].Nanoseconds())/float64(b.N)/1e6, "floor-ms")
			for i, s := range steps[1:] {
				b.ReportMetric(float64(took[i+1])/float64(took[0]), s.name+"/floor")
			}
		})
	}
}

func floor(data []byte) error {
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(zr)
	if err == nil && walk(raw, 0) == 0 {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLinear is the time per sample for captures of growing length.
func BenchmarkLinear(b *testing.B) {
	p, err := profile.ParseData(profileBytes(b, "long-50s.cpu.pb.gz"))
	if err != nil {
		b.Fatal(err)
	}
	for _, times := range []int{1, 5, 23} { // the last is a million samples
		c := p.Copy()
		for range times - 1 {
			c.Sample = append(c.Sample, c.Sample[:len(p.Sample)]...)
		}
		var buf bytes.Buffer
		if err := c.Write(&buf); err != nil {
			b.Fatal(err)
		}
		b.Run(strconv.Itoa(len(c.Sample)), func(b *testing.B) {
			var took time.Duration
			for b.Loop() {
				start := cpuTime(b)
				if _, err := report.Analyse(buf.Bytes(), report.Options{}); err != nil {
					b.Fatal(err)
				}
				took += cpuTime(b) - start
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N)/float64(len(c.Sample)), "ns/sample")
		})
	}
}
