package flame

import (
	"hash/fnv"
	"image/color"
	"math"

	"github.com/snapflame/snapflame/report"
)

// ground is a background colour: the upper half of a pixel's byte.
type ground uint8

// The grounds both palettes share.
const (
	page ground = iota
	small
	root
	band // behind a warning
)

// The grounds of a plain picture: two shades a kind, so that neighbours of one
// kind can be told apart.
const (
	app ground = iota + 4
	app2
	dependency
	dependency2
	runtime
	runtime2
	builtin
	builtin2
	gc
	wasm
	edge // lines and the frame around the headline's function
)

// The grounds of a comparison.
const (
	grew ground = iota + 4
	grew2
	grew3
	grew4
	fell
	fell2
	fell3
	fell4
	same
)

// ink levels of text on a ground: full, and softer for what matters less.
const (
	full = 15
	soft = 11
)

// plainColours and diffColours were checked with simulated protanopia,
// deuteranopia and tritanopia: the least distance between two kinds is ΔE 18,
// and the ink has at least 4.6:1 on each.
var (
	plainColours = [16]uint32{ //nolint:gochecknoglobals // a table
		page: 0xffffff, small: 0xeef0f3, root: 0xdde1e7, band: 0xffe08a,
		app: 0xf5a83f, app2: 0xf8b65c, dependency: 0x5f9bea, dependency2: 0x4c8ee6,
		runtime: 0xc58cc0, runtime2: 0xb57cb1, builtin: 0xdcefbf, builtin2: 0xcfe6ac,
		gc: 0xe8504a, wasm: 0x96ebe4, edge: 0x1d1c1d,
	}
	diffColours = [16]uint32{ //nolint:gochecknoglobals // a table
		page: 0xffffff, small: 0xeef0f3, root: 0xdde1e7, band: 0xffe08a,
		grew: 0xfde0d2, grew2: 0xf9b99d, grew3: 0xf08a62, grew4: 0xe0623f,
		fell: 0xd6e8f5, fell2: 0xa9cfe8, fell3: 0x74afdb, fell4: 0x4a8fc9,
		same: 0xdadcdf, edge: 0x1d1c1d,
	}
)

const ink = 0x1d1c1d

// colours expands sixteen grounds to 256 entries: ground<<4 | level of ink.
func colours(grounds [16]uint32) color.Palette {
	pal := make(color.Palette, 256)
	for g, c := range grounds {
		for level := range uint32(16) {
			mix := func(shift uint) uint8 {
				from, to := (c>>shift)&0xff, (uint32(ink)>>shift)&0xff
				return uint8((from*(15-level) + to*level + 7) / 15) //nolint:gosec // a mean of two bytes
			}
			pal[g<<4|int(level)] = color.RGBA{R: mix(16), G: mix(8), B: mix(0), A: 255}
		}
	}
	return pal
}

// colourOf is the ground of a frame by its kind; the shade is by name, so one
// function looks the same wherever it stands.
func colourOf(f report.Frame) ground {
	h := fnv.New32a()
	_, _ = h.Write([]byte(f.Name)) // never fails
	shade := ground(h.Sum32() & 1)
	switch f.Kind {
	case report.KindDependency:
		return dependency + shade
	case report.KindRuntime:
		return runtime + shade
	case report.KindBuiltin:
		return builtin + shade
	case report.KindGC:
		return gc
	case report.KindWasm:
		return wasm
	case report.KindApp:
		return app + shade
	default:
		return builtin + shade
	}
}

// steps are the differences, in share, from which a stronger colour is used.
var steps = [4]float64{0.005, 0.015, 0.04, 0.10} //nolint:gochecknoglobals // a table

// changeColour is the ground of a frame in a comparison. A change that its
// interval does not support is grey however large it looks.
func changeColour(c *report.Change) ground {
	if c == nil || c.Verdict == report.NoClearChange {
		return same
	}
	d := c.After - c.Before
	first := grew
	if d < 0 {
		first = fell
	}
	step := ground(0)
	for i, s := range steps {
		if math.Abs(d) >= s {
			step = ground(i)
		}
	}
	return first + step
}
