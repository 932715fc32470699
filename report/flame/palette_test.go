package flame_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/report/flame"
)

// rgb is linear light, 0 to 1.
type rgb [3]float64

func parseColour(t *testing.T, hex string) rgb {
	t.Helper()
	var c [3]int
	if _, err := fmt.Sscanf(hex, "#%02x%02x%02x", &c[0], &c[1], &c[2]); err != nil {
		t.Fatalf("%q: %v", hex, err)
	}
	var out rgb
	for i, v := range c {
		s := float64(v) / 255
		if out[i] = s / 12.92; s > 0.04045 {
			out[i] = math.Pow((s+0.055)/1.055, 2.4)
		}
	}
	return out
}

// simulations are how people without one kind of cone see, in linear light:
// Machado, Oliveira and Fernandes 2009, severity 1.0.
var simulations = map[string][3]rgb{
	"normal":       {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func (c rgb) seen(m [3]rgb) (out rgb) {
	for i := range m {
		for j := range c {
			out[i] += m[i][j] * c[j]
		}
		out[i] = min(max(out[i], 0), 1)
	}
	return out
}

// lab is CIE L*a*b* under D65.
func (c rgb) lab() (out [3]float64) {
	xyz := [3]float64{
		(0.4124*c[0] + 0.3576*c[1] + 0.1805*c[2]) / 0.95047,
		0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2],
		(0.0193*c[0] + 0.1192*c[1] + 0.9505*c[2]) / 1.08883,
	}
	for i, v := range xyz {
		if v > 0.008856 {
			xyz[i] = math.Cbrt(v)
		} else {
			xyz[i] = 7.787*v + 16.0/116
		}
	}
	return [3]float64{116*xyz[1] - 16, 500 * (xyz[0] - xyz[1]), 200 * (xyz[1] - xyz[2])}
}

func distance(a, b rgb) float64 {
	x, y := a.lab(), b.lab()
	return math.Hypot(math.Hypot(x[0]-y[0], x[1]-y[1]), x[2]-y[2])
}

func contrast(a, b rgb) float64 {
	light := func(c rgb) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] + 0.05 }
	return max(light(a), light(b)) / min(light(a), light(b))
}

// kindColours draws one function of each kind, twice, and reads the colours
// off the picture.
func kindColours(t *testing.T) map[report.Kind][]string {
	t.Helper()
	out := map[report.Kind][]string{}
	for _, k := range []report.Kind{
		report.KindApp, report.KindDependency, report.KindRuntime, report.KindBuiltin, report.KindGC, report.KindWasm,
	} {
		for i := range 8 {
			r := grown(t, fmt.Sprintf("name%d 100", i))
			r.Tree.Frames[0].Kind = k
			if c := draw(t, r).boxes("name")[0].Fill; !slices.Contains(out[k], c) {
				out[k] = append(out[k], c)
			}
		}
	}
	return out
}

func TestKindsDifferForEveryEye(t *testing.T) {
	all := kindColours(t)
	for name, m := range simulations {
		least, which := math.Inf(1), ""
		for a, as := range all {
			for b, bs := range all {
				if a >= b {
					continue
				}
				for _, x := range as {
					for _, y := range bs {
						d := distance(parseColour(t, x).seen(m), parseColour(t, y).seen(m))
						if d < least {
							least, which = d, fmt.Sprintf("%s %s and %s %s", a, x, b, y)
						}
					}
				}
			}
		}
		if least < 18 {
			t.Errorf("%s: %s are ΔE %.1f apart, want 18 and more", name, which, least)
		}
		t.Logf("%s: least ΔE %.1f, %s", name, least, which)
	}
}

func TestChangesDifferForEveryEye(t *testing.T) {
	for name, m := range simulations {
		for _, red := range []string{"#f08a62", "#e0623f"} {
			for _, blue := range []string{"#74afdb", "#4a8fc9", "#dadcdf"} {
				if d := distance(parseColour(t, red).seen(m), parseColour(t, blue).seen(m)); d < 20 {
					t.Errorf("%s: %s and %s are ΔE %.1f apart, want 20 and more", name, red, blue, d)
				}
			}
		}
	}
}

func TestInkIsReadable(t *testing.T) {
	ink := parseColour(t, "#1d1c1d")
	for _, list := range kindColours(t) {
		for _, c := range append(list, "#e0623f", "#4a8fc9", "#dadcdf", "#ffe08a", "#dde1e7") {
			if got := contrast(ink, parseColour(t, c)); got < 4.5 {
				t.Errorf("ink on %s has contrast %.2f, want 4.5 and more", c, got)
			}
		}
	}
}

// TestPageHasTheSameColours: a function looks the same in the chat and on the page.
func TestPageHasTheSameColours(t *testing.T) {
	var page bytes.Buffer
	if err := flame.HTML(&page, load(t, "do-schema.cpu.pb.gz")); err != nil {
		t.Fatal(err)
	}
	_, script, _ := bytes.Cut(page.Bytes(), []byte("<script>"))
	for kind, list := range kindColours(t) {
		for _, c := range list {
			if !bytes.Contains(script, []byte(c)) {
				t.Errorf("the page does not have %s of %s", c, kind)
			}
		}
	}
}
