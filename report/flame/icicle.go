package flame

import (
	"math"

	"github.com/snapflame/snapflame/report"
)

// rowSizes are the row heights with their text, tallest first. A shallow tree
// gets the tallest, so that its labels are readable at a third of the size; a
// deep one gets the size that shows most.
var rowSizes = [...]struct { //nolint:gochecknoglobals // a table
	height int
	style  style
}{{52, label34}, {42, label28}, {34, label24}, {27, label20}}

func (c *card) drawIcicle(ic icicle) {
	room := cardHeight - footer - c.y
	size := rowSizes[0]
	show, best := 0, -1.0
	for _, s := range rowSizes {
		rows := min(ic.rows, room/s.height)
		if rows < ic.rows {
			rows = (room - 30) / s.height // the note takes its line
		}
		if score := c.legible(ic, rows, s.style); score > best {
			size, show, best = s, rows, score
		}
	}
	hidden := ic.rows - show
	for _, b := range ic.boxes {
		if b.row < show {
			c.drawBox(b, size.height, size.style)
		}
	}
	c.y += show * size.height
	if hidden > 0 {
		text := count(int64(hidden)) + " deeper rows are not shown; the flamegraph page has them"
		if hidden == 1 {
			text = "1 deeper row is not shown; the flamegraph page has it"
		}
		c.text(c.pen, words{x: margin, y: c.y + 24, style: label20, level: full, text: text})
		c.y += 30
	}
}

// legible rates a row size: the labels it can show, times how large they are.
func (c *card) legible(ic icicle, rows int, s style) float64 {
	n := 0
	for _, b := range ic.boxes {
		if b.row >= rows || b.x1-b.x0 < 2*s.px() {
			continue
		}
		if c.pen.fit(s, c.name(b), b.x1-b.x0-2*pad, 4) != "" {
			n++
		}
	}
	score := float64(n) * s.px()
	if rows == ic.rows {
		score *= 1.1
	}
	return score
}

// name is a box's label.
func (c *card) name(b box) string {
	switch {
	case b.node < 0:
		return ""
	case b.node > 0:
		name := nameOf(frameOf(c.r.Tree, b.node).Name)
		if b.many > 0 {
			name += " ×" + count(int64(b.many)+1)
		}
		return name
	case c.r.Type == report.Heap:
		return "allocated"
	}
	return "busy CPU"
}

func (c *card) drawBox(b box, height int, s style) {
	x0 := margin + int(math.Round(b.x0))
	x1 := margin + int(math.Round(b.x1))
	if b.x1 < inner {
		x1-- // a gap between neighbours
	}
	if x1 <= x0 {
		return
	}
	y := c.y + b.row*height
	f := c.face(b)
	if c.long {
		f.title = c.title(b)
	}
	c.rect(rect{x0: x0, y0: y, x1: x1, y1: y + height - 2, fill: f.fill, outline: f.outline, title: f.title})
	room := float64(x1 - x0 - 2*pad)
	if room < s.px() {
		return
	}
	base := y + (height-2)/2 + int(s.px()*0.36)
	name := c.pen.fit(s, c.name(b), room, 4)
	if name == "" {
		return
	}
	f.figure, f.place = c.figures(b)
	end := c.text(c.pen, words{x: float64(x0 + pad), y: base, style: s, level: full, on: f.fill, text: name})
	right := float64(x1 - pad)
	if w := c.pen.width(s, f.figure); right-w > end+16 {
		c.text(c.pen, words{x: right - w, y: base, style: s, level: full, on: f.fill, text: f.figure})
		right -= w + 16
	}
	if w := c.pen.width(s, f.place); right-w > end+24 {
		c.text(c.pen, words{x: end + 14, y: base, style: s, level: soft, on: f.fill, text: f.place})
	}
}

// face is how a box looks and what it says.
type face struct {
	fill                 ground
	outline              bool
	figure, place, title string
}

func (c *card) face(b box) face {
	switch {
	case b.node < 0:
		return face{fill: small}
	case b.node == 0:
		return face{fill: root}
	}
	fr := frameOf(c.r.Tree, b.node)
	f := face{outline: b.x1-b.x0 > 12 && c.head.frame != nil && c.head.frame(fr)}
	if c.diff {
		f.fill = changeColour(c.base.of(fr))
	} else {
		f.fill = colourOf(fr)
	}
	return f
}

// figures are what stands to the right of a name when there is room.
func (c *card) figures(b box) (figure, at string) {
	t := c.r.Tree
	if b.node <= 0 {
		return amount(t.Nodes[0].Total, t.Unit), ""
	}
	fr := frameOf(t, b.node)
	figure = percent(b.share)
	if ch := c.base.of(fr); ch != nil && ch.Verdict != report.NoClearChange {
		figure += "  " + points(ch.After-ch.Before)
	}
	return figure, place(fr.File, fr.Line)
}

// title is everything about a box in one line.
func (c *card) title(b box) string {
	t := c.r.Tree
	if b.node < 0 {
		return count(int64(b.many)) + " narrow frames, " + percent(b.share)
	}
	text := c.name(b)
	if b.node == 0 {
		return text + " " + amount(t.Nodes[0].Total, t.Unit)
	}
	fr := frameOf(t, b.node)
	if at := place(fr.File, fr.Line); at != "" {
		text += " " + at
	}
	text += ", " + percent(b.share) + ", " + amount(t.Nodes[b.node].Total, t.Unit)
	if ch := c.base.of(fr); ch != nil && ch.Verdict != report.NoClearChange {
		text += ", " + changeWords(*ch)
	}
	return text
}
