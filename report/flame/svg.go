package flame

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"image/color"
	"io"
	"strings"
)

// svg writes the scene as real text and rectangles. Every line of text carries
// the width it was measured at, so that another font squeezes rather than
// runs over its box.
func (s *scene) svg(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s" `+
		`font-family="'DejaVu Sans Condensed','Arial Narrow','Helvetica Neue',Arial,sans-serif">`+"\n",
		s.width, s.height, s.width, s.height, escape(s.label))
	fmt.Fprintf(b, `<title>%s</title>`+"\n", escape(s.label))
	fmt.Fprintf(b, `<rect width="%d" height="%d" fill="#%06x"/>`+"\n", s.width, s.height, s.colours[page])
	for _, r := range s.rects {
		s.svgRect(b, r)
	}
	inks := colours(s.colours)
	for _, t := range s.texts {
		weight := ""
		if t.style.bold() {
			weight = ` font-weight="bold"`
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%d" font-size="%g"%s fill="#%06x" textLength="%.1f" lengthAdjust="spacingAndGlyphs" pointer-events="none">%s</text>`+"\n",
			t.x, t.y, t.style.px(), weight, inkOf(inks, t), t.width, escape(t.text))
	}
	fmt.Fprint(b, "</svg>\n")
	return b.Flush()
}

func (s *scene) svgRect(b *bufio.Writer, r rect) {
	outline, inset := "", 0
	if r.outline {
		outline, inset = fmt.Sprintf(` stroke="#%06x" stroke-width="3"`, ink), 1
	}
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="#%06x"%s`,
		r.x0+inset, r.y0+inset, max(r.x1-r.x0-2*inset, 1), max(r.y1-r.y0-2*inset, 1), s.colours[r.fill], outline)
	if r.title == "" {
		fmt.Fprint(b, "/>\n")
		return
	}
	fmt.Fprintf(b, "><title>%s</title></rect>\n", escape(r.title))
}

// inkOf is the colour of a text: ink, softened towards its ground.
func inkOf(inks color.Palette, t words) uint32 {
	r, g, b, _ := inks[int(t.on)<<4|int(t.level)].RGBA()
	return r>>8<<16 | g>>8<<8 | b>>8
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder never fails
	return b.String()
}
