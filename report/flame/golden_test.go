package flame_test

import (
	"bytes"
	"flag"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/report/flame"
)

var update = flag.Bool("update", false, "rewrite the golden pictures of testdata")

// goldens are the pictures that were looked at, at full size and at a third.
var goldens = []struct {
	name, profile, base string
	change              func(*report.Report)
}{
	{name: "do-schema", profile: "do-schema.cpu.pb.gz"},
	{name: "do-schema-against-do-meter", profile: "do-schema.cpu.pb.gz", base: "do-meter.cpu.pb.gz"},
	{name: "gateway-replacer", profile: "gateway-replacer.cpu.pb.gz"},
	{name: "gateway-gc95", profile: "gateway-gc95.cpu.pb.gz"},
	{name: "heap-metrics", profile: "heap-metrics.pb.gz"},
	{name: "typescript", profile: "typescript.cpu.pb.gz"},
	{name: "long-50s", profile: "long-50s.cpu.pb.gz"},
	{name: "weak", profile: "partly-idle.cpu.pb.gz", change: func(r *report.Report) {
		r.Verdict = report.Weak
		r.Meta.Note = "replacement isolate, 12 s after the failure"
	}},
}

func TestGoldenPictures(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			r := load(t, g.profile)
			draw := flame.PNG
			if g.base != "" {
				compare(t, r, load(t, g.base))
				draw = flame.DiffPNG
			}
			if g.change != nil {
				g.change(r)
			}
			var b bytes.Buffer
			if err := draw(&b, r); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", g.name+".png")
			if *update {
				if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			samePixels(t, decode(t, b.Bytes()), decode(t, want))
		})
	}
}

// decode also holds every picture to the sizes people were promised.
func decode(tb testing.TB, b []byte) *image.Paletted {
	tb.Helper()
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		tb.Fatal(err)
	}
	if w, h := img.Bounds().Dx(), img.Bounds().Dy(); w != 1600 || h < 200 || h > 900 {
		tb.Fatalf("picture is %d × %d, want 1600 wide and 200 to 900 high", w, h)
	}
	if len(b) > 1<<20 {
		tb.Fatalf("picture has %d bytes, want under 1 MiB", len(b))
	}
	p, ok := img.(*image.Paletted)
	if !ok {
		tb.Fatalf("picture is a %T, want a paletted one", img)
	}
	return p
}

// samePixels allows one level of ink: rasterisers of other processors round
// differently.
func samePixels(t *testing.T, got, want *image.Paletted) {
	t.Helper()
	if got.Rect != want.Rect {
		t.Fatalf("picture is %v, want %v; look at it, then run with -update", got.Rect, want.Rect)
	}
	differ := image.Rectangle{}
	n := 0
	for i := range got.Pix {
		a, b := got.Pix[i], want.Pix[i]
		if a>>4 == b>>4 && max(a, b)-min(a, b) <= 1 {
			continue
		}
		x, y := i%got.Stride, i/got.Stride
		differ = differ.Union(image.Rect(x, y, x+1, y+1))
		n++
	}
	if n > 0 {
		t.Errorf("%d pixels differ within %v; look at the picture, then run with -update", n, differ)
	}
}

// TestSameTwice holds the drawing to be a function of its input, with a used
// pen as with a new one.
func TestSameTwice(t *testing.T) {
	r := load(t, "typescript.cpu.pb.gz")
	var a, b bytes.Buffer
	if err := flame.PNG(&a, r); err != nil {
		t.Fatal(err)
	}
	if err := flame.PNG(new(bytes.Buffer), load(t, "minified.cpu.pb.gz")); err != nil {
		t.Fatal(err)
	}
	if err := flame.PNG(&b, r); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the same report drew two different pictures")
	}
}
