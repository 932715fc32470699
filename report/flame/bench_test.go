package flame_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"testing"

	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/report/flame"
)

// benchmarked are the two captures that are large: 50,000 samples of many
// functions, and a real one of 50 s.
var benchmarked = []string{"synthetic-50k-idle.cpu.pb.gz", "long-50s.cpu.pb.gz"}

// BenchmarkFloor is the yardstick: gunzip and one walk over every number of
// every sample, which nothing that reads a capture can undercut.
func BenchmarkFloor(b *testing.B) {
	each(b, func(b *testing.B, packed []byte) {
		b.Helper()
		for b.Loop() {
			z, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				b.Fatal(err)
			}
			raw, err := io.ReadAll(z)
			if err != nil {
				b.Fatal(err)
			}
			if numbers(raw, true) < 40_000 {
				b.Fatal("the walk found no capture")
			}
		}
	})
}

func each(b *testing.B, f func(b *testing.B, packed []byte)) {
	b.Helper()
	for _, name := range benchmarked {
		b.Run(name, func(b *testing.B) {
			packed, err := os.ReadFile("../testdata/profiles/" + name)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			f(b, packed)
		})
	}
}

// numbers counts the varints of a profile's samples (field 2 of the outer
// message), without looking at anything else.
func numbers(raw []byte, outer bool) (n int) {
	for len(raw) > 0 {
		tag, k := binary.Uvarint(raw)
		raw = raw[k:]
		v, k := binary.Uvarint(raw)
		raw = raw[k:]
		n++
		if tag&7 != 2 {
			continue
		}
		part := raw[:v]
		raw = raw[v:]
		switch {
		case outer && tag>>3 == 2:
			n += numbers(part, false)
		case !outer:
			for _, c := range part {
				if c < 0x80 {
					n++
				}
			}
		}
	}
	return n
}

// BenchmarkCaptureToPNG is what a report in a thread costs: bytes of a capture
// to figures, findings and picture.
func BenchmarkCaptureToPNG(b *testing.B) {
	each(b, func(b *testing.B, packed []byte) {
		b.Helper()
		for b.Loop() {
			r, err := report.Analyse(packed, report.Options{})
			if err != nil {
				b.Fatal(err)
			}
			if err := flame.PNG(io.Discard, r); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCaptureToAll adds a comparison, with a baseline that was analysed
// before, and the page.
func BenchmarkCaptureToAll(b *testing.B) {
	each(b, func(b *testing.B, packed []byte) {
		b.Helper()
		base, err := report.Analyse(packed, report.Options{})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			r, err := report.Analyse(packed, report.Options{})
			if err != nil {
				b.Fatal(err)
			}
			if r.Base, err = report.Compare(r, []*report.Report{base}); err != nil {
				b.Fatal(err)
			}
			if err := flame.DiffPNG(io.Discard, r); err != nil {
				b.Fatal(err)
			}
			if err := flame.HTML(io.Discard, r); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkPNG(b *testing.B)  { render(b, flame.PNG) }
func BenchmarkSVG(b *testing.B)  { render(b, flame.SVG) }
func BenchmarkHTML(b *testing.B) { render(b, flame.HTML) }

func render(b *testing.B, f func(io.Writer, *report.Report) error) {
	b.Helper()
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
