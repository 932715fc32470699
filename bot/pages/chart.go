package pages

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/snapflame/snapflame/bot"
)

// The chart's size in its own units; the page scales it.
const (
	chartWidth  = 960
	chartHeight = 200
	chartTop    = 26 // room for the marks' labels
	maxBars     = 180
	maxSeries   = 5 // versions told apart; the colours of style.css
)

// Chart is errors per minute, stacked by version, with captures and deployments
// on the same axis. All coordinates are finished: the template only writes them.
type Chart struct {
	Width, Height, Base int
	Bars                []Bar
	Spans               []Mark // captures
	Lines               []Mark // deployments
	Ticks               []Mark
	Series              []Series
	Max                 int64
	Step                time.Duration // a bar's width
	From, To            time.Time
}

// Bar is one step of one series.
type Bar struct {
	X, Y, W, H float64
	Series     int
	Link       string
	Text       string
}

// Mark is a span or a line on the axis.
type Mark struct {
	X, W float64
	Text string
	Link string
}

// Series is one version in the legend.
type Series struct {
	Name  string
	Count int64
	Index int
}

// chart draws a case's minutes. Long incidents get wider steps, so that the
// picture has at most maxBars bars whatever its length.
func chart(c bot.Case, mins []Minute, deployments []Deployment) Chart {
	ch := Chart{Width: chartWidth, Height: chartHeight, Base: chartHeight - 22, Step: time.Minute}
	if len(mins) == 0 {
		return ch
	}
	ch.From, ch.To = extent(c, mins, deployments)
	for ch.To.Sub(ch.From)/ch.Step > maxBars {
		ch.Step *= 2
	}
	ch.From = ch.From.Truncate(ch.Step)
	ch.series(mins)
	ch.bars(mins)
	for _, v := range c.Captures {
		if from, to, ok := window(v.Record); ok {
			x := ch.x(from)
			ch.Spans = append(ch.Spans, Mark{X: x, W: max(3, ch.x(to)-x), Link: "#capture-" + v.Record.ID, Text: fmt.Sprintf("%s capture %s, %s, %s", v.Record.Type, v.Record.ID, clock(from), span(v.Record.Duration))})
		}
	}
	for _, d := range deployments {
		if !d.At.Before(ch.From) && !d.At.After(ch.To) {
			ch.Lines = append(ch.Lines, Mark{X: ch.x(d.At), Text: fmt.Sprintf("deployed %s, %s (%.0f %%)", shortVersion(d.Version), clock(d.At), d.Percent)})
		}
	}
	for i := range 5 {
		at := ch.From.Add(ch.To.Sub(ch.From) * time.Duration(i) / 4)
		ch.Ticks = append(ch.Ticks, Mark{X: ch.x(at), Text: at.UTC().Format("15:04")})
	}
	return ch
}

// lookBack is how long before the first error a deployment still belongs into
// the picture: what went live just before is the first suspect.
const lookBack = 15 * time.Minute

// extent spans the errors, the captures and the deployment before them, at
// least ten minutes so that a single burst is not one wide bar.
func extent(c bot.Case, mins []Minute, deployments []Deployment) (from, to time.Time) {
	from, to = mins[len(mins)-1].At, mins[0].At.Add(time.Minute)
	first := from
	for _, d := range deployments {
		if d.At.Before(from) && first.Sub(d.At) <= lookBack {
			from = d.At.Truncate(time.Minute)
		}
	}
	for _, v := range c.Captures {
		if s, e, ok := window(v.Record); ok {
			from, to = earlier(from, s.Truncate(time.Minute)), later(to, e)
		}
	}
	if least := 10 * time.Minute; to.Sub(from) < least {
		to = from.Add(least)
	}
	return from, to
}

func (ch *Chart) x(t time.Time) float64 {
	return round(float64(t.Sub(ch.From)) / float64(ch.To.Sub(ch.From)) * chartWidth)
}

// series picks the versions with most errors; the others share one colour.
func (ch *Chart) series(mins []Minute) {
	per := map[string]int64{}
	for _, m := range mins {
		known := int64(0)
		for v, n := range m.Versions {
			per[v] += n
			known += n
		}
		if rest := m.Count - known; rest > 0 {
			per[""] += rest
		}
	}
	names := slices.SortedFunc(maps.Keys(per), func(a, b string) int {
		if d := cmp.Compare(per[b], per[a]); d != 0 {
			return d
		}
		return cmp.Compare(a, b)
	})
	for i, name := range names {
		if i >= maxSeries-1 && len(names) > maxSeries {
			ch.Series = append(ch.Series, Series{Name: "other versions", Index: maxSeries - 1})
			for _, rest := range names[i:] {
				ch.Series[i].Count += per[rest]
			}
			return
		}
		ch.Series = append(ch.Series, Series{Name: name, Count: per[name], Index: i})
	}
}

func (ch *Chart) index(version string) int {
	for _, s := range ch.Series {
		if s.Name == version {
			return s.Index
		}
	}
	return len(ch.Series) - 1
}

func (ch *Chart) bars(mins []Minute) {
	steps := map[int64][]int64{} // step → counts by series
	for _, m := range mins {
		k := int64(m.At.Sub(ch.From) / ch.Step)
		if steps[k] == nil {
			steps[k] = make([]int64, len(ch.Series))
		}
		known := int64(0)
		for v, n := range m.Versions {
			steps[k][ch.index(v)] += n
			known += n
		}
		if rest := m.Count - known; rest > 0 {
			steps[k][ch.index("")] += rest
		}
	}
	for _, counts := range steps {
		total := int64(0)
		for _, n := range counts {
			total += n
		}
		ch.Max = max(ch.Max, total)
	}
	width := chartWidth * float64(ch.Step) / float64(ch.To.Sub(ch.From))
	for _, k := range slices.Sorted(maps.Keys(steps)) {
		at := ch.From.Add(time.Duration(k) * ch.Step)
		y := float64(ch.Base)
		for i, n := range steps[k] {
			if n == 0 {
				continue
			}
			h := max(1.5, float64(n)/float64(ch.Max)*float64(ch.Base-chartTop))
			y -= h
			name := ch.Series[i].Name
			if name == "" {
				name = "version unknown"
			}
			ch.Bars = append(ch.Bars, Bar{
				X: ch.x(at) + 0.5, Y: round(y), W: round(max(1, width-1)), H: round(h), Series: i,
				Link: "#minute-" + at.UTC().Format("1504"), Text: fmt.Sprintf("%s: %s errors, %s", at.UTC().Format("15:04"), number(n), shortVersion(name)),
			})
		}
	}
}

func round(f float64) float64 { return float64(int(f*10+0.5)) / 10 }
