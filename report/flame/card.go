package flame

import (
	"math"

	"github.com/snapflame/snapflame/report"
)

// The card: 16:9 at most, because that is what survives a chat's thumbnail.
const (
	cardWidth  = 1600
	cardHeight = 900
	margin     = 40
	inner      = cardWidth - 2*margin
	footer     = 62
	pad        = 8 // of text in a box
)

// rowSizes are the row heights with their text, tallest first. A shallow tree
// gets the tallest, so that its labels are readable at a third of the size; a
// deep one gets the size that shows most.
var rowSizes = [...]struct { //nolint:gochecknoglobals // a table
	height int
	style  style
}{{52, label34}, {42, label28}, {34, label24}, {27, label20}}

// card is a picture in the making.
type card struct {
	scene
	pen  *pen
	r    *report.Report
	diff bool
	head sentence
	base *changeIndex
	y    int
}

func compose(r *report.Report, p *pen, diff bool) (*scene, error) {
	if err := drawable(r); err != nil {
		return nil, err
	}
	ic, err := layout(r.Tree, inner)
	if err != nil {
		return nil, err
	}
	c := &card{pen: p, r: r, diff: diff, head: verdict(r, diff)}
	c.width, c.colours, c.label = cardWidth, plainColours, Alt(r)
	if diff {
		c.colours = diffColours
		c.base = indexChanges(r.Base.Changes)
	}
	c.drawHead()
	if diff {
		c.drawScale()
	} else {
		c.drawLegend()
	}
	c.drawIcicle(ic)
	c.drawFoot()
	return &c.scene, nil
}

func (c *card) drawHead() {
	h := c.head
	room := inner - c.pen.width(headline, h.before+h.after)
	name := c.pen.fit(headline, h.name, room, 1)
	end := c.text(c.pen, words{x: margin, y: 68, style: headline, level: full, text: h.before + name + h.after})
	if h.place != "" {
		at := c.pen.fit(subline, h.place, margin+inner-end-24, 5)
		c.text(c.pen, words{x: end + 24, y: 68, style: subline, level: soft, text: at})
	}
	c.text(c.pen, words{x: margin, y: 112, style: strong, level: full, text: c.pen.fit(strong, subject(c.r), inner, 1)})
	c.text(c.pen, words{x: margin, y: 150, style: subline, level: full, text: c.pen.fit(subline, evidence(c.r), inner, 1)})
	c.y = 164
	for _, warn := range warnings(c.r) {
		c.rect(rect{x0: margin, y0: c.y, x1: margin + inner, y1: c.y + 44, fill: band})
		text := c.pen.fit(strong, warn, inner-32, 1)
		c.text(c.pen, words{x: margin + 16, y: c.y + 32, style: strong, level: full, on: band, text: text})
		c.y += 50
	}
	c.y += 6
}

// drawLegend names the colours and gives their numbers at once: the share of
// self time of each kind.
func (c *card) drawLegend() {
	x := float64(margin)
	for _, k := range kinds(c.r.Tree) {
		c.swatch(x, k.fill)
		x = c.text(c.pen, words{x: x + 32, y: c.y + 22, style: legend, level: full, text: k.label + " " + percent(k.share)}) + 36
	}
	c.y += 42
}

func (c *card) swatch(x float64, fill ground) {
	c.rect(rect{x0: int(x), y0: c.y + 1, x1: int(x) + 24, y1: c.y + 25, fill: fill})
}

// kindShare is one entry of the legend.
type kindShare struct {
	label string
	fill  ground
	share float64
}

// kinds sums self time by kind, in a fixed order, leaving out what is absent.
func kinds(t *report.Tree) []kindShare {
	list := []kindShare{
		{label: "your code", fill: app}, {label: "dependencies", fill: dependency},
		{label: "runtime", fill: runtime}, {label: "V8 built-ins", fill: builtin},
		{label: "garbage collector", fill: gc}, {label: "wasm", fill: wasm},
	}
	index := map[report.Kind]int{
		report.KindApp: 0, report.KindDependency: 1, report.KindRuntime: 2,
		report.KindBuiltin: 3, report.KindGC: 4, report.KindWasm: 5,
	}
	all := float64(t.Nodes[0].Total)
	for i := 1; i < len(t.Nodes); i++ {
		k, ok := index[frameOf(t, int32(i)).Kind] //nolint:gosec // parents are int32, so are indices
		if !ok {
			k = 3
		}
		list[k].share += float64(max(t.Nodes[i].Self, 0)) / all
	}
	out := list[:0]
	for _, k := range list {
		if k.share > 0 {
			out = append(out, k)
		}
	}
	return out
}

// drawScale explains the two colours and lists what changed most, which also
// names the functions that are gone and so have no box.
func (c *card) drawScale() {
	x := float64(margin)
	say := func(s string, gap float64) {
		x = c.text(c.pen, words{x: x, y: c.y + 22, style: legend, level: full, text: s}) + gap
	}
	ramp := func(fills ...ground) {
		for _, f := range fills {
			c.swatch(x, f)
			x += 25
		}
		x += 8
	}
	ramp(grew, grew2, grew3, grew4)
	say("grew", 30)
	ramp(fell, fell2, fell3, fell4)
	say("shrank: darker is more, 0.5 to 10 points", 30)
	ramp(same)
	say("no clear change", 30)
	say("width: share now", 0)
	c.y += 38
	line := "No change that its 95 % interval supports"
	for i, ch := range clear(c.r.Base) {
		next := line + "  ·  " + changeWords(ch)
		if i == 0 {
			next = "Points (95 % interval):  " + changeWords(ch)
		}
		if i > 0 && c.pen.width(legend, next) > inner {
			break
		}
		line = next
	}
	c.text(c.pen, words{x: margin, y: c.y + 22, style: legend, level: full, text: line})
	c.y += 42
}

// changeWords is one change with its interval, in points.
func changeWords(c report.Change) string {
	name := clean(c.Name, 40)
	if name == "" {
		name = "(anonymous)"
	}
	word := points(c.After-c.Before) + " (" + points(c.Low) + " to " + points(c.High) + ")"
	switch c.Verdict {
	case report.New:
		return name + " new, " + word
	case report.Gone:
		return name + " gone, " + word
	default:
		return name + " " + word
	}
}

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
	c.rect(rect{x0: x0, y0: y, x1: x1, y1: y + height - 2, fill: f.fill, outline: f.outline, title: f.title})
	room := float64(x1 - x0 - 2*pad)
	base := y + (height-2)/2 + int(s.px()*0.36)
	name := c.pen.fit(s, f.name, room, 4)
	if name == "" {
		return
	}
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
	fill                       ground
	outline                    bool
	name, figure, place, title string
}

func (c *card) face(b box) face {
	t := c.r.Tree
	switch {
	case b.node < 0:
		return face{fill: small, title: count(int64(b.many)) + " narrow frames, " + percent(b.share)}
	case b.node == 0:
		f := face{fill: root, name: c.name(b), figure: amount(t.Nodes[0].Total, t.Unit)}
		f.title = f.name + " " + f.figure
		return f
	}
	fr := frameOf(t, b.node)
	f := face{
		fill: colourOf(fr), name: c.name(b), figure: percent(b.share), place: place(fr.File, fr.Line),
		outline: b.x1-b.x0 > 12 && c.head.frame != nil && c.head.frame(fr),
	}
	f.title = f.name
	if f.place != "" {
		f.title += " " + f.place
	}
	f.title += ", " + percent(b.share) + ", " + amount(t.Nodes[b.node].Total, t.Unit)
	if c.diff {
		ch := c.base.of(fr)
		f.fill = changeColour(ch)
		if ch != nil && ch.Verdict != report.NoClearChange {
			f.figure += "  " + points(ch.After-ch.Before)
			f.title += ", " + changeWords(*ch)
		}
	}
	return f
}

func (c *card) drawFoot() {
	c.y += 34
	const mark = "snapflame"
	w := c.pen.width(label20, mark)
	c.text(c.pen, words{x: margin + inner - w, y: c.y, style: label20, level: soft, text: mark})
	text := c.pen.fit(label20, origin(c.r), inner-w-30, 1)
	c.text(c.pen, words{x: margin, y: c.y, style: label20, level: soft, text: text})
	c.height = c.y + 28
}
