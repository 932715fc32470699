package flame

import (
	"image"
	"strings"
	"sync"

	"github.com/go-fonts/dejavu/dejavusanscondensed"
	"github.com/go-fonts/dejavu/dejavusanscondensedbold"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// style is a font and its size in pixels.
type style uint8

// The styles, largest first. Text under 44 pixels does not survive a 360 pixel
// thumbnail, text under 26 not one of 500.
const (
	headline style = iota // 46 bold
	subline               // 28
	strong                // 28 bold
	legend                // 24
	label34
	label28
	label24
	label20
	styles
)

func (s style) px() float64 { return [...]float64{46, 28, 28, 24, 34, 28, 24, 20}[s] }
func (s style) bold() bool  { return s == headline || s == strong }

// subpixels is how many horizontal positions each glyph is rasterised at;
// without them letters stand unevenly.
const subpixels = 4

// glyph is one rasterised rune at one sub-pixel position.
type glyph struct {
	mask []uint8 // levels of ink, 0 to 15
	rect image.Rectangle
}

// letter is one rune of one style.
type letter struct {
	index   rune // the rune drawn; U+FFFD when the font has none
	advance fixed.Int26_6
	drawn   [subpixels]*glyph
}

// pen measures and rasterises text and remembers every glyph. It serves one
// drawing at a time; the memory is bounded by what the fonts hold.
type pen struct {
	faces [styles]font.Face
	ascii [styles][128]letter
	other [styles]map[rune]*letter
}

// The fonts are part of the program and parse once; a failure would be a
// broken build, which the tests of this package see.
var fonts = sync.OnceValue(func() [2]*opentype.Font { //nolint:gochecknoglobals // parsed once, never written
	regular, err := opentype.Parse(dejavusanscondensed.TTF)
	if err != nil {
		return [2]*opentype.Font{}
	}
	bold, err := opentype.Parse(dejavusanscondensedbold.TTF)
	if err != nil {
		return [2]*opentype.Font{}
	}
	return [2]*opentype.Font{regular, bold}
})

var pens = sync.Pool{New: func() any { return newPen() }} //nolint:gochecknoglobals // glyphs are kept between pictures

func borrowPen() *pen {
	if p, ok := pens.Get().(*pen); ok {
		return p
	}
	return newPen()
}

func returnPen(p *pen) { pens.Put(p) }

func newPen() *pen {
	p := new(pen)
	for s := range styles {
		p.other[s] = make(map[rune]*letter)
		f := fonts()[0]
		if s.bold() {
			f = fonts()[1]
		}
		face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: s.px(), DPI: 72, Hinting: font.HintingNone})
		if err == nil {
			p.faces[s] = face
		}
	}
	return p
}

// letter looks a rune up. A rune the font lacks shows as U+FFFD.
func (p *pen) letter(s style, r rune) *letter {
	if r >= 0 && r < 128 {
		l := &p.ascii[s][r]
		if l.index == 0 {
			*l = p.measure(s, r)
		}
		if l.index == r {
			return l
		}
		return p.letter(s, missing)
	}
	if l, ok := p.other[s][r]; ok {
		return l
	}
	l := p.measure(s, r)
	if l.index != r { // keep one entry for all missing runes: names are untrusted
		if r == missing {
			return &letter{index: ' '}
		}
		return p.letter(s, missing)
	}
	p.other[s][r] = &l
	return &l
}

const missing = '\ufffd'

func (p *pen) measure(s style, r rune) letter {
	f := fonts()[0]
	if s.bold() {
		f = fonts()[1]
	}
	if i, err := f.GlyphIndex(nil, r); err != nil || i == 0 {
		return letter{index: missing}
	}
	adv, ok := p.faces[s].GlyphAdvance(r)
	if !ok {
		return letter{index: missing}
	}
	return letter{index: r, advance: adv}
}

// width is how wide a text is, in pixels.
func (p *pen) width(s style, text string) float64 {
	var w fixed.Int26_6
	for _, r := range text {
		w += p.letter(s, r).advance
	}
	return float64(w) / 64
}

// fit cuts a text to a width and marks the cut. It returns nothing rather than
// fewer than keep letters: crumbs of names are noise.
func (p *pen) fit(s style, text string, width float64, keep int) string {
	limit := fixed.Int26_6(width * 64)
	dots := p.letter(s, '…').advance
	var w fixed.Int26_6
	cut, n := 0, 0 // the longest beginning that leaves room for the dots
	for i, r := range text {
		if w+dots <= limit {
			cut = i
			n++
		}
		if w += p.letter(s, r).advance; w > limit {
			if n-1 < keep {
				return ""
			}
			return strings.TrimRight(text[:cut], " ") + "…"
		}
	}
	return text
}

// glyphAt rasterises a letter at a sub-pixel position, or remembers it.
func (p *pen) glyphAt(s style, l *letter, sub int) *glyph {
	if g := l.drawn[sub]; g != nil {
		return g
	}
	g := new(glyph)
	dot := fixed.Point26_6{X: fixed.Int26_6(sub * 64 / subpixels)} //nolint:gosec // under 64
	dr, mask, at, _, ok := p.faces[s].Glyph(dot, l.index)
	if alpha, isAlpha := mask.(*image.Alpha); ok && isAlpha && !dr.Empty() {
		g.rect = dr
		g.mask = make([]uint8, 0, dr.Dx()*dr.Dy())
		for y := range dr.Dy() {
			for x := range dr.Dx() {
				a := uint32(alpha.AlphaAt(at.X+x, at.Y+y).A)
				g.mask = append(g.mask, uint8((a*15+127)/255)) //nolint:gosec // 0 to 15
			}
		}
	}
	l.drawn[sub] = g
	return g
}
