package pages

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/triggers"
)

// incidentBody is what the page of one incident shows.
type incidentBody struct {
	Case     bot.Case
	Advice   string
	Chart    Chart
	Minutes  []Minute
	Captures []captureCard
	Groups   []group
	Sizes    []bin
	Thread   string
}

// captureCard is one capture on an incident's page.
type captureCard struct {
	bot.CaptureView
	Around  Around
	Ran     bool
	Picture bool
	Why     string // of a failure
}

// group is one kind of detail of the failing requests, most frequent first.
type group struct {
	Name string
	Rows []tallied
	Rest int
}

type tallied struct {
	Name  string
	Count int64
	Share float64
}

// bin is one step of the request sizes.
type bin struct {
	Name  string
	Count int
	Share float64
}

func (p *pages) incident(w http.ResponseWriter, r *http.Request) {
	c, err := p.Cases.Case(r.Context(), r.PathValue("id"))
	if p.fail(w, err, "incident") {
		return
	}
	body := p.incidentBody(r.Context(), c)
	p.render(w, r, "incident", page{Title: targetWords(c.Target, c.Script) + ": " + classWords(c.Class), Here: "incidents", Live: c.State == bot.Open, Body: body})
}

func (p *pages) incidentBody(ctx context.Context, c bot.Case) incidentBody {
	b := incidentBody{Case: c, Minutes: minutes(c), Sizes: sizes(c.Sizes)}
	if c.Class != bot.ClassRequested {
		b.Advice = triggers.Advice(c.Class, c.Subclass)
	}
	b.Chart = chart(c, b.Minutes, p.deployments(ctx, cmp.Or(c.Target.Script, c.Script)))
	for _, v := range slices.Backward(c.Captures) {
		b.Captures = append(b.Captures, card(c, v))
	}
	for _, g := range []struct {
		name string
		m    map[string]int64
	}{{"Routes", c.Routes}, {"Versions", c.Versions}, {"Colos", c.Colos}, {"Reported by", c.Scripts}} {
		if len(g.m) > 0 {
			b.Groups = append(b.Groups, grouped(g.name, g.m))
		}
	}
	if p.Threads != nil {
		b.Thread = p.Threads.Permalink(ctx, c.ID)
	}
	return b
}

// deployments are marks only: the page stands without them.
func (p *pages) deployments(ctx context.Context, script string) []Deployment {
	if p.Deployments == nil || script == "" {
		return nil
	}
	list, err := p.Deployments.Deployments(ctx, script)
	if err != nil {
		p.Log.Debug().Err(err).Str("script", script).Msg("no deployment marks")
	}
	return list
}

func card(c bot.Case, v bot.CaptureView) captureCard {
	cc := captureCard{CaptureView: v}
	cc.Around, cc.Ran = correlate(c, v.Record)
	cc.Picture = v.Summary != nil && v.PNG != nil
	if v.Record.Failure != nil {
		cc.Why = v.Record.Failure.Explain()
	}
	return cc
}

// maxRows is how many rows a group shows.
const maxRows = 8

func grouped(name string, m map[string]int64) group {
	g := group{Name: name}
	total := sum(m)
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b))
	})
	for i, n := range names {
		if i == maxRows {
			g.Rest = len(names) - maxRows
			break
		}
		g.Rows = append(g.Rows, tallied{Name: n, Count: m[n], Share: float64(m[n]) / float64(max(total, 1))})
	}
	return g
}

// sizes bins the sample of request sizes coarsely, so that "all of them
// are over 16 MB" is seen at a glance.
func sizes(sample []int64) []bin {
	edges := []struct {
		name string
		to   int64
	}{{"under 1 kB", 1e3}, {"1 to 16 kB", 16e3}, {"16 to 256 kB", 256e3}, {"256 kB to 1 MB", 1e6}, {"1 to 4 MB", 4e6}, {"4 to 16 MB", 16e6}, {"over 16 MB", 1<<63 - 1}}
	counts := make([]int, len(edges))
	for _, n := range sample {
		i := slices.IndexFunc(edges, func(e struct {
			name string
			to   int64
		},
		) bool {
			return n < e.to
		})
		if i >= 0 {
			counts[i]++
		}
	}
	var out []bin
	for i, n := range counts {
		if n > 0 {
			out = append(out, bin{Name: edges[i].name, Count: n, Share: float64(n) / float64(len(sample))})
		}
	}
	return out
}
