package flame_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/report/flame"
)

// benchmarked are the two captures that are large: 50,000 samples of many
// functions, and a real one of 50 s.
var benchmarked = []string{"synthetic-50k-idle.cpu.pb.gz", "long-50s.cpu.pb.gz"}

// BenchmarkFloor is the yardstick: gunzip and one walk over the bytes of the
// same captures, which nothing that reads them can undercut.
func BenchmarkFloor(b *testing.B) {
	for _, name := range benchmarked {
		b.Run(name, func(b *testing.B) {
			packed, err := os.ReadFile("../testdata/profiles/" + name)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				z, err := gzip.NewReader(bytes.NewReader(packed))
				if err != nil {
					b.Fatal(err)
				}
				raw, err := io.ReadAll(z)
				if err != nil {
					b.Fatal(err)
				}
				if fields(raw, 2) < 1000 {
					b.Fatal("the walk found no profile")
				}
			}
		})
	}
}

// fields walks a message and, so deep, the messages in it.
func fields(raw []byte, depth int) int {
	n := 0
	for len(raw) > 0 {
		_, typ, k := protowire.ConsumeTag(raw)
		if k < 0 {
			return n
		}
		raw = raw[k:]
		n++
		if typ == protowire.BytesType && depth > 0 {
			if v, _ := protowire.ConsumeBytes(raw); len(v) > 0 {
				n += fields(v, depth-1)
			}
		}
		if k = protowire.ConsumeFieldValue(1, typ, raw); k < 0 {
			return n
		}
		raw = raw[k:]
	}
	return n
}

func BenchmarkPNG(b *testing.B)  { render(b, flame.PNG) }
func BenchmarkSVG(b *testing.B)  { render(b, flame.SVG) }
func BenchmarkHTML(b *testing.B) { render(b, flame.HTML) }

func render(b *testing.B, f func(io.Writer, *report.Report) error) {
	for _, name := range benchmarked {
		b.Run(name, func(b *testing.B) {
			r := load(b, name)
			var out bytes.Buffer
			b.ReportAllocs()
			for b.Loop() {
				out.Reset()
				if err := f(&out, r); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(out.Len()), "bytes-out")
		})
	}
}
