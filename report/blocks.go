package report

import "cmp"

// Consecutive samples of 1 ms come from one request and are not independent:
// intervals on the plain number of samples cover a fifth of what they claim.
// So the busy time is cut into blocks, and how much a share differs between
// blocks says how many independent samples the capture is worth.
//
// blockNS of busy time was the smallest length at which intervals covered 91 %
// and more in every scenario of the simulation beside the tests.
const blockNS = 250e6

// Where a file has lost the order of its samples, this many stand for one.
// Heap files list by call tree, not by time; the same load captured three times
// gave a module 53, 59 and 68 %, which is what 1 in 100 would.
const (
	lostOrderCPU  = 50
	lostOrderHeap = 100
)

// heapPeriod is V8's sampling interval where the file does not say it.
const heapPeriod = 512 << 10

// moments of one function over the blocks: y is its time in a block of x.
type moments struct{ y, yy, xy float64 }

// segments are the blocks of one cut, or the bursts of the other.
type segments struct {
	k     int
	x, xx float64
	of    []moments // per subject
}

// series is what a report says about the subjects of a comparison.
type series struct {
	n       float64 // samples
	busy    float64
	wall    float64 // ns; 0 when unknown
	k       int     // blocks
	lost    bool    // the order is lost
	sum     []float64
	blocks  segments
	bursts  segments
	perTime float64 // independent samples per sample when the order is lost
}

// subjects says which subject each frame of a profile is; -1 is none.
type subjects struct{ of []int32 }

// observe walks one report's samples in time order. Subjects 0..n-1 are self
// shares (charged to the nearest caller with a file, since whether a built-in
// gets a frame depends on how its caller was compiled), n..2n-1 the total ones.
func observe(r *Report, of func(p *profile) subjects, n int) *series {
	s := &series{sum: make([]float64, 2*n), blocks: newSegments(2 * n), bursts: newSegments(2 * n)}
	for _, p := range r.parts {
		s.add(p, of(p), n)
	}
	s.wall = r.wallNS()
	s.k = s.blocks.k
	if s.lost {
		s.k = int(s.busy / blockNS)
		s.perTime = 1.0 / lostOrderCPU
		if r.Type == Heap {
			s.perTime = 1.0 / lostOrderHeap
			s.k = int(s.n * s.perTime)
		}
	}
	return s
}

func newSegments(n int) segments { return segments{of: make([]moments, n)} }

func (s *series) add(p *profile, sub subjects, n int) {
	hits := p.hits(sub, n)
	block, burst := newCut(2*n), newCut(2*n)
	s.lost = s.lost || p.merged || p.typ == Heap
	for i, st := range p.order {
		c := &p.stacks[st]
		v := float64(p.values[i])
		if p.typ == CPU && c.class != classBusy {
			s.bursts.close(burst)
			continue
		}
		// A capped sample carries a wait: what follows it is another request.
		if p.values[i] >= p.cap && p.cap > 0 {
			s.bursts.close(burst)
		}
		s.n++
		s.busy += v
		block.x += v
		burst.x += v
		for _, h := range hits[st] {
			s.sum[h] += v
			block.hit(h, v)
			burst.hit(h, v)
		}
		if block.x >= blockNS {
			s.blocks.close(block)
		}
		if burst.x >= blockNS {
			s.bursts.close(burst)
		}
	}
	switch {
	case p.typ == Heap:
		// Merged or not, one V8 sample is one period of bytes.
		s.n = s.busy / float64(cmp.Or(p.period, heapPeriod))
	case p.merged:
		s.n += float64(p.busyCount()) - float64(p.busyRecords())
	}
	// A rest of less than half a block says too little to be one.
	if block.x >= blockNS/2 || s.blocks.k == 0 {
		s.blocks.close(block)
	}
	s.bursts.close(burst)
}

func (p *profile) busyCount() (n int64) {
	for i := range p.stacks {
		if c := &p.stacks[i]; c.class == classBusy {
			n = plus(n, c.count)
		}
	}
	return n
}

func (p *profile) busyRecords() (n int64) {
	for i := range p.stacks {
		if c := &p.stacks[i]; c.class == classBusy {
			n += c.records
		}
	}
	return n
}

// cut is the block that is being filled. touched keeps its cost at what
// occurs in it.
type cut struct {
	x       float64
	y       []float64
	touched []int32
}

func newCut(n int) *cut { return &cut{y: make([]float64, n)} }

func (c *cut) hit(h int32, v float64) {
	if c.y[h] == 0 {
		c.touched = append(c.touched, h)
	}
	c.y[h] += v
}

func (g *segments) close(c *cut) {
	if c.x == 0 {
		return
	}
	const ms = 1e-6 // squares of nanoseconds would lose digits
	x := c.x * ms
	g.k++
	g.x += x
	g.xx += x * x
	for _, h := range c.touched {
		y := c.y[h] * ms
		m := &g.of[h]
		m.y += y
		m.yy += y * y
		m.xy += x * y
		c.y[h] = 0
	}
	c.x, c.touched = 0, c.touched[:0]
}

// effective is how many independent samples these segments are worth for the
// share p of subject h.
func (g *segments) effective(h int, p float64) float64 {
	if g.k < 2 || g.x == 0 {
		return float64(g.k)
	}
	m, k := g.of[h], float64(g.k)
	ss := m.yy - 2*p*m.xy + p*p*g.xx
	if p <= 0 || p >= 1 || ss <= 0 {
		return k
	}
	return p * (1 - p) / (k / (k - 1) * ss / (g.x * g.x))
}

// share is the interval of subject h.
func (s *series) share(h int) interval {
	if s.busy == 0 {
		return interval{0, 0, 1}
	}
	p := min(1, s.sum[h]/s.busy)
	t := tQuantile(s.k - 1)
	if s.lost {
		return wilson(p, s.n*s.perTime, t)
	}
	return wilson(p, min(s.n, s.blocks.effective(h, p), s.bursts.effective(h, p)), t)
}

// hits lists the subjects of each stack: the one it charges, then n plus each
// that occurs in it.
func (p *profile) hits(sub subjects, n int) [][]int32 {
	out := make([][]int32, len(p.stacks))
	var flat []int32
	stamp := make([]int, n)
	for i := range p.stacks {
		from := len(flat)
		st := p.of(&p.stacks[i])
		if len(st) == 0 {
			continue
		}
		if h := sub.of[chargedFrame(p.frames, st)]; h >= 0 {
			flat = append(flat, h)
		}
		for _, f := range st {
			if h := sub.of[f]; h >= 0 && stamp[h] != i+1 {
				stamp[h] = i + 1
				flat = append(flat, h+int32(n)) //nolint:gosec // a few hundred at most
			}
		}
		out[i] = flat[from:len(flat):len(flat)]
	}
	return out
}

// chargedFrame is who answers for a stack's time: its leaf, or, for built-ins
// without a file, the nearest caller with one. The collector answers for itself.
func chargedFrame(frames []Frame, stack []int32) int32 {
	if frames[stack[0]].Kind == KindGC {
		return stack[0]
	}
	for _, f := range stack {
		if frames[f].File != "" {
			return f
		}
	}
	return stack[0]
}
