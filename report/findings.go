package report

import (
	"fmt"
	"strconv"
	"strings"
)

// IDs of findings. They are stable: rules and pages refer to them.
const (
	FindIdle           = "idle"
	FindFewSamples     = "few_samples"
	FindMostlyWaiting  = "mostly_waiting"
	FindGCDominates    = "gc_dominates"
	FindGCPressure     = "gc_pressure"
	FindDominant       = "dominant_function"
	FindRepeated       = "repeated_work"
	FindRecursion      = "recursion"
	FindModule         = "module_dominates"
	FindMinified       = "minified"
	FindEmptyHeap      = "empty_heap"
	FindAllocation     = "allocation_not_retention"
	FindIsolateShared  = "do_isolate_shared"
	maxRecursionFinds  = 2
	maxRepeatedFinds   = 2
	maxNameInSentences = 60
)

// From which shares on something is worth a sentence.
const (
	gcPressureShare  = 0.30
	gcDominatesShare = 0.90
	dominantShare    = 0.50
	moduleShare      = 0.50
	recursionShare   = 0.10
	repeatedShare    = 0.10
	waitingLoad      = 0.50
)

// findings is what an expert would point out, the most important first. Shares
// of a weak profile are not interpreted.
func findings(r *Report, s *sums) []Finding {
	out := []Finding{}
	for _, find := range []func(*Report, *sums) []Finding{
		findEmpty, findFew, findGC, findWaiting, findDominant, findRepeated,
		findRecursion, findModule, findMinified, findAllocation, findShared,
	} {
		out = append(out, find(r, s)...)
	}
	return out
}

func one(id, text, next string) []Finding { return []Finding{{ID: id, Text: text, Next: next}} }

func findEmpty(r *Report, _ *sums) []Finding {
	switch {
	case r.Verdict != Empty:
		return nil
	case r.Type == Heap && r.Meta.Stateless:
		return one(FindEmptyHeap,
			"The heap capture is empty: this isolate allocated less than one sample (512 kB) while it was watched. That is usual for a stateless Worker, where a capture is one isolate of many and most of them have no traffic.",
			"Capture again while requests arrive; if it stays empty, take a CPU capture.")
	case r.Type == Heap:
		return one(FindEmptyHeap,
			"The heap capture is empty: the isolate allocated less than one sample (512 kB) while it was watched.",
			"Capture again while requests arrive; if it stays empty, take a CPU capture.")
	default:
		return one(FindIdle,
			fmt.Sprintf("The isolate was idle: %s, none of them busy%s.", plural(r.Samples, "sample"), during(r)),
			"Capture again while requests arrive; an idle isolate says nothing about the code.")
	}
}

func during(r *Report) string {
	if r.DurationNS <= 0 {
		return ""
	}
	return " in " + seconds(r.DurationNS)
}

func findFew(r *Report, s *sums) []Finding {
	if r.Verdict != Weak {
		return nil
	}
	n, least, what := s.count, weakSamples, "busy samples"
	if r.Type == Heap {
		n, least, what = s.records, weakRecords, "heap records"
	}
	return one(FindFewSamples,
		fmt.Sprintf("Only %d %s: shares cannot be told apart under %d.", n, what, least),
		"Capture longer (up to 50 s) or while there is more traffic.")
}

func findShared(r *Report, _ *sums) []Finding {
	if r.Meta.Class == "" && r.Meta.ObjectID == "" || r.Verdict == Empty {
		return nil
	}
	what := "other objects of its class"
	if c := short(r.Meta.Class); c != "" {
		what = "other objects of " + c
	}
	return one(FindIsolateShared,
		"A capture of a Durable Object shows its whole isolate: that may hold "+what+" and, when the class stands in the same script, the stateless code too.",
		"Read the shares as the isolate's; the object's own part is what lies under its methods.")
}

// named is a function as sentences name it: name and where it is defined.
func named(f *Frame) string {
	if f.File == "" {
		return short(f.Name) + " (native)"
	}
	at := short(plainFile(f.File))
	if f.Line > 0 {
		at += ":" + strconv.FormatInt(f.Line, 10)
	}
	return short(f.Name) + " (defined at " + at + ")"
}

// short bounds a name from the file; escaping is each medium's own business.
func short(name string) string {
	r := []rune(name)
	if len(r) <= maxNameInSentences {
		return name
	}
	return string(r[:maxNameInSentences-1]) + "…"
}

func percent(x float64) string {
	return strconv.FormatFloat(100*x, 'f', 1, 64) + " %"
}

func seconds(ns int64) string {
	return strconv.FormatFloat(float64(ns)/1e9, 'f', 1, 64) + " s"
}

func of(t Type) string {
	if t == Heap {
		return "of allocated bytes"
	}
	return "of busy CPU"
}

func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
