package flame

import (
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

// card is a picture in the making.
type card struct {
	scene
	pen  *pen
	r    *report.Report
	diff bool
	long bool // boxes carry their whole text as a title, for SVG
	head sentence
	base *changeIndex
	y    int
}

func compose(r *report.Report, p *pen, diff, titles bool) (*scene, error) {
	if err := drawable(r); err != nil {
		return nil, err
	}
	ic, err := layout(r.Tree, inner)
	if err != nil {
		return nil, err
	}
	c := &card{pen: p, r: r, diff: diff, long: titles, head: verdict(r)}
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
		{label: "your code", fill: app},
		{label: "dependencies", fill: dependency},
		{label: "runtime", fill: runtime},
		{label: "V8 built-ins", fill: builtin},
		{label: "garbage collector", fill: gc},
		{label: "wasm", fill: wasm},
	}
	index := map[report.Kind]int{
		report.KindApp: 0, report.KindDependency: 1, report.KindRuntime: 2,
		report.KindBuiltin: 3, report.KindGC: 4, report.KindWasm: 5,
	}
	all := float64(t.Nodes[0].Total)
	for i := 1; i < len(t.Nodes); i++ {
		k, ok := index[frameOf(t, int32(i)).Kind]
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
	for i, ch := range called(c.r.Base) {
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

func (c *card) drawFoot() {
	c.y += 34
	const mark = "snapflame"
	w := c.pen.width(label20, mark)
	c.text(c.pen, words{x: margin + inner - w, y: c.y, style: label20, level: soft, text: mark})
	text := c.pen.fit(label20, origin(c.r), inner-w-30, 1)
	c.text(c.pen, words{x: margin, y: c.y, style: label20, level: soft, text: text})
	c.height = c.y + 28
}
