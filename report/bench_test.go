package report_test

import (
	"testing"

	"github.com/google/pprof/profile"

	"github.com/snapflame/snapflame/report"
)

func benchFiles() []string {
	return []string{"synthetic-50k-idle.cpu.pb.gz", "long-50s.cpu.pb.gz"}
}

// BenchmarkFloor is the least anything can do: the standard library's gunzip
// and one walk over every field of every sample.
func BenchmarkFloor(b *testing.B) {
	for _, f := range benchFiles() {
		b.Run(f, func(b *testing.B) {
			data := profileBytes(b, f)
			b.ReportAllocs()
			for b.Loop() {
				if err := floor(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// walk visits every varint of the message and of its samples.
func walk(b []byte, depth int) (sum uint64) {
	num := func() (u uint64) {
		for s := 0; len(b) > 0; s += 7 {
			c := b[0]
			b = b[1:]
			u |= uint64(c&0x7f) << s
			if c < 0x80 {
				break
			}
		}
		return u
	}
	for len(b) > 0 {
		tag := num()
		switch tag & 7 {
		case 0:
			sum += num()
		case 2:
			n := num()
			part := b[:n]
			b = b[n:]
			switch {
			case depth == 0 && tag>>3 == 2:
				sum += walk(part, 1)
			case depth == 1:
				for len(part) > 0 {
					var u uint64
					for s := 0; len(part) > 0; s += 7 {
						c := part[0]
						part = part[1:]
						u |= uint64(c&0x7f) << s
						if c < 0x80 {
							break
						}
					}
					sum += u
				}
			}
		}
	}
	return sum + 1
}

// BenchmarkParseData is google/pprof's reader and nothing after it.
func BenchmarkParseData(b *testing.B) {
	for _, f := range benchFiles() {
		b.Run(f, func(b *testing.B) {
			data := profileBytes(b, f)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := profile.ParseData(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAnalyse is everything: figures, findings and the tree.
func BenchmarkAnalyse(b *testing.B) {
	for _, f := range benchFiles() {
		b.Run(f, func(b *testing.B) {
			data := profileBytes(b, f)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := report.Analyse(data, report.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
