package flame

import (
	"image"
	"io"
	"math"
)

// rect is a filled rectangle in whole pixels.
type rect struct {
	x0, y0, x1, y1 int
	fill           ground
	outline        bool
	title          string // what an SVG shows on hovering; "" for decoration
}

// words is one line of text. Its ground is what it stands on.
type words struct {
	x     float64
	y     int // baseline
	style style
	level uint8
	on    ground
	text  string
	width float64
}

// scene is a finished picture as shapes: what both painters draw.
type scene struct {
	width, height int
	colours       [16]uint32
	label         string // the picture in words
	rects         []rect
	texts         []words
}

func (s *scene) rect(r rect) { s.rects = append(s.rects, r) }

// text places a line and returns where it ends.
func (s *scene) text(p *pen, w words) float64 {
	if w.text == "" {
		return w.x
	}
	w.width = p.width(w.style, w.text)
	s.texts = append(s.texts, w)
	return w.x + w.width
}

func (s *scene) png(w io.Writer, p *pen) error {
	img := image.NewPaletted(image.Rect(0, 0, s.width, s.height), colours(s.colours))
	for _, r := range s.rects {
		paintRect(img, r)
	}
	for _, t := range s.texts {
		paintText(img, p, t)
	}
	return encode(w, img)
}

func paintRect(img *image.Paletted, r rect) {
	fill(img, r.x0, r.y0, r.x1, r.y1, uint8(r.fill)<<4)
	if r.outline {
		const t = 3
		line := uint8(r.fill)<<4 | full
		fill(img, r.x0, r.y0, r.x1, r.y0+t, line)
		fill(img, r.x0, r.y1-t, r.x1, r.y1, line)
		fill(img, r.x0, r.y0, min(r.x0+t, r.x1), r.y1, line)
		fill(img, max(r.x1-t, r.x0), r.y0, r.x1, r.y1, line)
	}
}

// fill colours a rectangle row by row; the first row is copied to the others.
func fill(img *image.Paletted, x0, y0, x1, y1 int, c uint8) {
	b := image.Rect(x0, y0, x1, y1).Intersect(img.Rect)
	if b.Empty() || x1 <= x0 || y1 <= y0 {
		return
	}
	first := img.Pix[img.PixOffset(b.Min.X, b.Min.Y):][:b.Dx()]
	for i := range first {
		first[i] = c
	}
	for y := b.Min.Y + 1; y < b.Max.Y; y++ {
		copy(img.Pix[img.PixOffset(b.Min.X, y):], first)
	}
}

// paintText raises the ink of the pixels under each glyph and leaves their
// ground alone.
func paintText(img *image.Paletted, p *pen, w words) {
	x := int(math.Round(w.x * 64)) // in 64ths, as the advances
	for _, r := range w.text {
		l := p.letter(w.style, r)
		sub := (x & 63) * subpixels / 64
		stamp(img, p.glyphAt(w.style, l, sub), x>>6, w.y, w.level)
		x += int(l.advance)
	}
}

func stamp(img *image.Paletted, g *glyph, x, y int, level uint8) {
	b := g.rect.Add(image.Pt(x, y))
	in := b.Intersect(img.Rect)
	if in.Empty() {
		return
	}
	for py := in.Min.Y; py < in.Max.Y; py++ {
		row := img.Pix[img.PixOffset(in.Min.X, py):]
		mask := g.mask[(py-b.Min.Y)*b.Dx()+in.Min.X-b.Min.X:]
		for px := range in.Dx() {
			m := mask[px]
			if m == 0 {
				continue
			}
			if m = (m*level + 7) / 15; m > row[px]&15 {
				row[px] = row[px]&0xf0 | m
			}
		}
	}
}
