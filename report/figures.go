package report

import (
	"cmp"
	"slices"
	"strings"
)

// Bounds under which shares cannot be told apart.
const (
	weakSamples = 100 // busy samples by count
	weakRecords = 20  // heap records
)

// v8Frames is how many frames V8 keeps of a stack, the innermost ones
// (CpuProfiler's TickSample::kMaxFramesCount).
const v8Frames = 255

// build sums one or several captures of one type. Their frames must be the
// same table.
func build(parts []*profile, meta Meta) (*Report, *sums) {
	r := &Report{Type: parts[0].typ, Meta: meta, parts: parts, Functions: []Function{}, Findings: []Finding{}}
	s := newSums(parts[0].frames)
	for _, p := range parts {
		r.Merged = r.Merged || p.merged
		r.DurationNS = plus(r.DurationNS, p.duration)
		s.add(p)
	}
	if r.Type == CPU {
		r.BusyNS, r.IdleNS, r.ProgramNS = s.busy, s.idle, s.program
	} else {
		r.BusyBytes = plus(plus(s.busy, s.idle), s.program)
	}
	r.Verdict = s.verdict(r.Type)
	if s.busy > 0 {
		r.GCShare = float64(s.gc) / float64(s.busy)
	}
	r.Functions = s.functions(r.Type)
	r.Modules = s.modules()
	r.Tree, s.trimmed = buildTree(parts, r.Type)
	return r, s
}

// sums is everything that is added up once per distinct stack.
type sums struct {
	frames              []Frame
	busy, idle, program int64
	gc                  int64
	count, records      int64
	seen                []bool
	self, total, charge []int64
	stamp               []uint32
	turn                uint32

	recur []int64  // value of stacks that hold the frame twice and more
	times []uint32 // of the frame in this stack
	depth []uint32 // the most times in any stack
	cut   int64    // samples whose stack is as deep as V8 keeps it

	trimmed int64 // busy samples whose stack the tree does not hold whole

	module      []int32 // module of each frame; -1 is none
	names       []string
	kinds       []Kind
	mSelf, mSum []int64
	mStamp      []uint32
}

func newSums(frames []Frame) *sums {
	n := len(frames)
	s := &sums{
		frames: frames, seen: make([]bool, n), self: make([]int64, n), total: make([]int64, n),
		charge: make([]int64, n), stamp: make([]uint32, n), module: make([]int32, n),
		recur: make([]int64, n), times: make([]uint32, n), depth: make([]uint32, n),
	}
	byName := map[string]int32{}
	for i, f := range frames {
		if f.Module == "" {
			s.module[i] = -1
			continue
		}
		m, ok := byName[f.Module]
		if !ok {
			m = int32(len(s.names)) //nolint:gosec // at most the number of frames
			byName[f.Module] = m
			s.names = append(s.names, f.Module)
			s.kinds = append(s.kinds, f.Kind)
		}
		s.module[i] = m
	}
	s.mSelf, s.mSum = make([]int64, len(s.names)), make([]int64, len(s.names))
	s.mStamp = make([]uint32, len(s.names))
	return s
}

func (s *sums) add(p *profile) {
	for i := range p.stacks {
		st := &p.stacks[i]
		if st.records == 0 || st.from == st.to {
			continue
		}
		switch {
		case p.typ == CPU && st.class == classIdle:
			s.idle = plus(s.idle, st.value)
			continue
		case p.typ == CPU && st.class == classProgram:
			s.program = plus(s.program, st.value)
			continue
		}
		s.busy = plus(s.busy, st.value)
		s.count = plus(s.count, st.count)
		s.records = plus(s.records, st.records)
		if st.to-st.from >= v8Frames {
			s.cut = plus(s.cut, st.count)
		}
		s.stack(p.of(st), st.value)
	}
}

// stack adds one stack's value to each of its functions, once however often a
// function recurs in it.
func (s *sums) stack(frames []int32, v int64) {
	s.turn++
	leaf := frames[0]
	s.self[leaf] = plus(s.self[leaf], v)
	if s.frames[leaf].Kind == KindGC {
		s.gc = plus(s.gc, v)
	}
	charged := chargedFrame(s.frames, frames)
	s.charge[charged] = plus(s.charge[charged], v)
	if m := s.module[charged]; m >= 0 {
		s.mSelf[m] = plus(s.mSelf[m], v)
	}
	for _, f := range frames {
		if s.stamp[f] == s.turn {
			s.again(f, v)
			continue
		}
		s.stamp[f] = s.turn
		s.times[f] = 1
		s.seen[f] = true
		s.total[f] = plus(s.total[f], v)
		if m := s.module[f]; m >= 0 && s.mStamp[m] != s.turn {
			s.mStamp[m] = s.turn
			s.mSum[m] = plus(s.mSum[m], v)
		}
	}
}

// again notes a frame that the stack has had already.
func (s *sums) again(f int32, v int64) {
	s.times[f]++
	if s.times[f] == 2 {
		s.recur[f] = plus(s.recur[f], v)
	}
	s.depth[f] = max(s.depth[f], s.times[f])
}

func (s *sums) verdict(t Type) Verdict {
	switch {
	case s.records == 0 || s.busy == 0:
		return Empty
	case t == CPU && s.count < weakSamples, t == Heap && s.records < weakRecords:
		return Weak
	default:
		return Conclusive
	}
}

func (s *sums) share(v int64) float64 {
	if s.busy == 0 {
		return 0
	}
	return float64(v) / float64(s.busy)
}

func (s *sums) functions(t Type) []Function {
	type row struct {
		self  int64
		frame int32
	}
	order := make([]row, 0, len(s.seen))
	for i, seen := range s.seen {
		if seen {
			order = append(order, row{s.self[i], int32(i)})
		}
	}
	slices.SortFunc(order, func(a, b row) int {
		if a.self != b.self {
			return cmp.Compare(b.self, a.self)
		}
		return byName(&s.frames[a.frame], &s.frames[b.frame])
	})
	out := make([]Function, len(order))
	for i, o := range order {
		k := o.frame
		f := &s.frames[k]
		out[i] = Function{
			Name: f.Name, File: f.File, Line: f.Line, Kind: f.Kind,
			SelfShare: s.share(s.self[k]), TotalShare: s.share(s.total[k]),
		}
		if t == CPU {
			out[i].SelfNS, out[i].TotalNS = s.self[k], s.total[k]
		} else {
			out[i].SelfBytes, out[i].TotalBytes = s.self[k], s.total[k]
			out[i].ChargedShare = s.share(s.charge[k])
		}
	}
	return out
}

func byName(a, b *Frame) int {
	if c := strings.Compare(a.Name, b.Name); c != 0 { // cmp.Or would compare the rest too
		return c
	}
	return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
}

// modules are sums by file and by npm package. Their self share includes what
// built-ins without a file did for them: a module is asked "how much is
// yours", and join and exec are nobody's.
func (s *sums) modules() []Module {
	var out []Module
	for i, name := range s.names {
		if s.mStamp[i] == 0 {
			continue
		}
		out = append(out, Module{Name: name, Kind: s.kinds[i], SelfShare: s.share(s.mSelf[i]), TotalShare: s.share(s.mSum[i])})
	}
	slices.SortFunc(out, func(a, b Module) int {
		return cmp.Or(cmp.Compare(b.SelfShare, a.SelfShare), cmp.Compare(b.TotalShare, a.TotalShare), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// plus adds non-negative numbers and stops at the largest one.
func plus(a, b int64) int64 {
	const most = 1<<63 - 1
	if a > most-b {
		return most
	}
	return a + b
}
