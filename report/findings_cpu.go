package report

import (
	"cmp"
	"fmt"
	"regexp"
)

// v8Period is the sampling period that V8 reaches when 1 ms is asked for: it
// sleeps between samples, so the interval is a floor (measured: 1.08 to 1.10).
const v8Period = 1.09

// findGC: the collector hangs under the root, never under who allocates, so a
// CPU capture can only send the reader on.
func findGC(r *Report, _ *sums) []Finding {
	if r.Type != CPU || r.Verdict != Conclusive || r.GCShare < gcPressureShare {
		return nil
	}
	next := "Take a heap capture of the same target: a CPU profile cannot say who allocates."
	if r.GCShare >= gcDominatesShare {
		return one(FindGCDominates,
			fmt.Sprintf("The garbage collector takes %s of busy CPU: the isolate does little else, as it does close to its memory limit.", percent(r.GCShare)), next)
	}
	return one(FindGCPressure, fmt.Sprintf("The garbage collector takes %s of busy CPU: something allocates much.", percent(r.GCShare)), next)
}

// load is the part of the capture in which the isolate ran: samples times
// period. The sum of sample times is no measure of it, as waits are in there.
func load(r *Report, s *sums) (float64, bool) {
	if r.Type != CPU || r.DurationNS <= 0 {
		return 0, false
	}
	period := float64(cmp.Or(r.parts[0].period, 1e6)) * v8Period
	return float64(s.count) * period / float64(r.DurationNS), true
}

func findWaiting(r *Report, s *sums) []Finding {
	l, ok := load(r, s)
	if !ok || r.Verdict == Empty || l >= waitingLoad {
		return nil
	}
	return one(FindMostlyWaiting,
		fmt.Sprintf("It ran for about %s of the %s (%d busy samples) and waited for the rest: for storage, for other services, for requests, or for its turn on a busy machine. All shares are of the time it ran.", percent(l), seconds(r.DurationNS), s.count),
		"If it was slow meanwhile, its own CPU is at most part of the cause: look also at what it awaits (storage, fetch, RPC), in traces.")
}

// onceOnly names work that belongs at start-up and not into a request.
var onceOnly = regexp.MustCompile(`(?i)schema|migrat|set_?up|^init|bootstrap|parse|compile|load_?config|ensure_?[a-z]|create_?table|register|hydrate|deserializ`)

// In so many of the blocks work must occur to count as done again and again.
const repeatedBlocks = 0.8

// findRepeated: set-up work that goes on through the whole capture.
func findRepeated(r *Report, s *sums) []Finding {
	if r.Type != CPU || r.Verdict != Conclusive {
		return nil
	}
	var out []Finding
	for _, k := range s.above(s.total, repeatedShare) {
		f := &s.frames[k]
		if len(out) == maxRepeatedFinds || !onceOnly.MatchString(f.Name) {
			continue
		}
		if r.entered(k) > 0.1 { // a request's own handler must run every time
			continue
		}
		in, of, ok := r.blocksWith(k)
		if !ok || of < leastBlocks || float64(in) < repeatedBlocks*float64(of) {
			continue
		}
		under := ""
		if n := r.entries(k); n > 1 {
			under = fmt.Sprintf(", under %d entry points", n)
		}
		out = append(out, Finding{
			ID:   FindRepeated,
			Text: fmt.Sprintf("%s takes %s of busy CPU with all that it calls, and ran in %d of %d quarter seconds%s: it is done over and over, not once.", named(f), percent(s.share(s.total[k])), in, of, under),
			Next: "Do it once per isolate or object (in the constructor, under blockConcurrencyWhile, or behind a version check) and keep the result.",
		})
	}
	return out
}

// blocksWith counts the blocks of busy time in which a frame ran; not ok when
// the order of the samples is lost.
func (r *Report) blocksWith(frame int32) (in, of int, ok bool) {
	for _, p := range r.parts {
		if p.merged {
			return 0, 0, false
		}
		has := make([]bool, len(p.stacks))
		for i := range p.stacks {
			for _, f := range p.of(&p.stacks[i]) {
				has[i] = has[i] || f == frame
			}
		}
		var x int64
		hit := false
		for i, st := range p.order {
			if p.stacks[st].class != classBusy {
				continue
			}
			x += p.values[i]
			hit = hit || has[st]
			if x >= blockNS {
				of++
				if hit {
					in++
				}
				x, hit = 0, false
			}
		}
	}
	return in, of, true
}

// entered is the part of a frame's samples in which it is the outermost frame
// with a file: the handler itself.
func (r *Report) entered(frame int32) float64 {
	var outermost, all float64
	for _, p := range r.parts {
		for i := range p.stacks {
			entry, has := int32(-1), false
			for _, f := range p.of(&p.stacks[i]) {
				has = has || f == frame
				if p.frames[f].File != "" {
					entry = f
				}
			}
			if !has {
				continue
			}
			all += float64(p.stacks[i].value)
			if entry == frame {
				outermost += float64(p.stacks[i].value)
			}
		}
	}
	if all == 0 {
		return 0
	}
	return outermost / all
}

// entries counts the outermost frames with a file under which a frame occurs.
func (r *Report) entries(frame int32) int {
	found := map[int32]bool{}
	for _, p := range r.parts {
		for i := range p.stacks {
			entry, has := int32(-1), false
			for _, f := range p.of(&p.stacks[i]) {
				has = has || f == frame
				if p.frames[f].File != "" {
					entry = f
				}
			}
			if has && entry != frame && entry >= 0 {
				found[entry] = true
			}
		}
	}
	return len(found)
}
