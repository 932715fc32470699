package report

import "time"

// FromSamples is a report of made-up samples, for simulations.
func FromSamples(frames []Frame, stacks [][]int32, order []uint32, values []int64, wall time.Duration) *Report {
	p := &profile{typ: CPU, frames: frames, order: order, values: values, duration: int64(wall), cap: int64(DefaultSampleCap)}
	for _, st := range stacks {
		from := len(p.flat)
		p.flat = append(p.flat, st...)
		p.stacks = append(p.stacks, callStack{from: uint32(from), to: uint32(len(p.flat))})
	}
	for i, st := range order {
		p.stacks[st].records++
		p.stacks[st].count++
		p.stacks[st].value += values[i]
	}
	p.classify()
	r, _ := build([]*profile{p}, Meta{})
	return r
}

// ShareInterval is one function's interval, by name.
func ShareInterval(r *Report, name string) (p, low, high float64) {
	s := observe(r, func(p *profile) subjects {
		of := make([]int32, len(p.frames))
		for i := range p.frames {
			of[i] = -1
			if p.frames[i].Name == name {
				of[i] = 0
			}
		}
		return subjects{of}
	}, 1)
	v := s.share(0)
	return v.p, v.low, v.high
}
