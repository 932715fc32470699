package report

import (
	"cmp"
	"fmt"
	"slices"
)

// Merge sums several captures of one target into one report, in which every
// function carries the spread of its self share between them: a capture is one
// isolate, and one isolate is an anecdote. The captures must be of one type.
// The error wraps ErrNoBase, ErrDifferentUse or ErrNoSamples.
func Merge(reports []*Report) (*Report, error) {
	if len(reports) == 0 {
		return nil, fmt.Errorf("merge nothing: %w", ErrNoBase)
	}
	if err := sameUse(reports); err != nil {
		return nil, err
	}
	u := union{ids: map[frameKey]int32{}}
	for _, r := range reports {
		for _, p := range r.parts {
			u.add(p)
		}
	}
	for _, p := range u.parts {
		p.frames = u.frames
	}
	out, s := build(u.parts, reports[0].Meta)
	out.Captures = len(u.parts)
	for _, r := range reports {
		out.Samples = plus(out.Samples, r.Samples)
		out.RemovedNS = plus(out.RemovedNS, r.RemovedNS)
		for _, n := range r.Notes {
			if !slices.Contains(out.Notes, n) {
				out.Notes = append(out.Notes, n)
			}
		}
	}
	out.spread()
	out.Findings = findings(out, s)
	return out, nil
}

// union renumbers the frames of several captures into one table. The captures
// themselves are left as they are.
type union struct {
	frames []Frame
	ids    map[frameKey]int32
	parts  []*profile
}

func (u *union) add(p *profile) {
	to := make([]int32, len(p.frames))
	for i, f := range p.frames {
		k := frameKey{f.Name, f.File, f.Line}
		id, ok := u.ids[k]
		if !ok {
			id = int32(len(u.frames)) //nolint:gosec // at most maxLines per capture
			u.ids[k] = id
			u.frames = append(u.frames, f)
		}
		to[i] = id
	}
	c := *p
	c.flat = make([]int32, len(p.flat))
	for i, f := range p.flat {
		c.flat[i] = to[f]
	}
	u.parts = append(u.parts, &c)
}

// spread fills in how far the self shares of the captures lie apart.
func (r *Report) spread() {
	if len(r.parts) < 2 {
		return
	}
	shares := map[frameKey][]float64{}
	for _, p := range r.parts {
		s := newSums(p.frames)
		s.add(p)
		if s.busy == 0 {
			continue
		}
		for i, f := range p.frames {
			k := frameKey{f.Name, f.File, f.Line}
			shares[k] = append(shares[k], s.share(s.self[i]))
		}
	}
	for i := range r.Functions {
		f := &r.Functions[i]
		if v := shares[frameKey{f.Name, f.File, f.Line}]; len(v) > 1 {
			f.Spread = &Spread{Low: slices.MinFunc(v, cmp.Compare[float64]), High: slices.MaxFunc(v, cmp.Compare[float64])}
		}
	}
}
