package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// findDominant: one function that answers for half and more, with the
// built-ins it calls.
func findDominant(r *Report, s *sums) []Finding {
	if r.Verdict != Conclusive {
		return nil
	}
	best := s.heaviest(s.charge)
	if best < 0 || s.share(s.charge[best]) < dominantShare || s.frames[best].Kind == KindGC {
		return nil
	}
	f := &s.frames[best]
	next := "Start there. V8 gives inlined functions and most built-ins (JSON, regular expressions, SQL) no frame, so look also at what it calls."
	if r.Type == Heap {
		next = "Start there: reuse buffers, avoid copies, build strings once."
	}
	if f.Kind == KindDependency {
		next = "It is a dependency: look for the caller that can call it less, or cache its result."
	}
	return one(FindDominant, fmt.Sprintf("One function has %s %s, in or called by it: %s.", percent(s.share(s.charge[best])), of(r.Type), named(f)), next)
}

// heaviest is the frame with the largest value, the first by name among equals.
func (s *sums) heaviest(v []int64) int32 {
	best := int32(-1)
	for i := range v {
		if v[i] == 0 {
			continue
		}
		k := int32(i)
		if best < 0 || cmp.Or(cmp.Compare(v[k], v[best]), byName(&s.frames[best], &s.frames[k])) > 0 {
			best = k
		}
	}
	return best
}

// above lists frames of code (not built-ins) whose value is at least a share,
// the heaviest first.
func (s *sums) above(v []int64, share float64) []int32 {
	var out []int32
	for i := range v {
		if k := s.frames[i].Kind; s.share(v[i]) >= share && (k == KindApp || k == KindDependency || k == KindWasm) {
			out = append(out, int32(i))
		}
	}
	slices.SortFunc(out, func(a, b int32) int {
		return cmp.Or(cmp.Compare(v[b], v[a]), byName(&s.frames[a], &s.frames[b]))
	})
	return out
}

// rewalks names functions that are called for every node anyway, so that
// recursing in them does the work of each subtree once per ancestor.
var rewalks = regexp.MustCompile(`(?i)replacer|reviver|tojson|stringify|serializ|clone|visit|walk|travers`)

func findRecursion(r *Report, s *sums) []Finding {
	if r.Verdict != Conclusive {
		return nil
	}
	var out []Finding
	for _, k := range s.above(s.recur, recursionShare) {
		if len(out) == maxRecursionFinds {
			break
		}
		f := &s.frames[k]
		if len(out) > 0 && f.Name == nameAnonymous {
			continue // a callback of what is named already
		}
		next := "Check that it does not visit the same thing twice: memoise, or pass results up instead of computing them again."
		if rewalks.MatchString(f.Name) {
			next = "If something calls it for every node anyway (JSON.stringify does that with a replacer or toJSON), it must not walk the children itself: each subtree is then processed once per ancestor."
		}
		text := fmt.Sprintf("%s is on the stack more than once, up to %d times, in %s %s: it recurses, directly or through others.",
			named(f), s.depth[k], percent(s.share(s.recur[k])), of(r.Type))
		out = append(out, Finding{ID: FindRecursion, Text: text, Next: next})
	}
	return out
}

// findModule needs more than one file: a bundle without source map is one file
// for everything, and its share says nothing.
func findModule(r *Report, s *sums) []Finding {
	if r.Verdict != Conclusive || len(r.Modules) < 2 {
		return nil
	}
	m := r.Modules[0]
	if m.SelfShare < moduleShare {
		return nil
	}
	// One function that is all of it has its own sentence.
	best := s.heaviest(s.charge)
	if f := &s.frames[best]; f.Module == m.Name && s.share(s.charge[best]) > 0.8*m.SelfShare {
		return nil
	}
	what, next := "One file", "No single function stands out in it: ask how often it is called per request, and whether it must be."
	if m.Kind == KindDependency {
		what, next = "One npm package", "Ask how often it is called per request, and whether a smaller or newer one does."
	}
	var names []string
	for _, f := range r.Functions {
		if moduleOf(f.File) == m.Name && f.File != "" && len(names) < 3 {
			names = append(names, short(f.Name))
		}
	}
	return one(FindModule, fmt.Sprintf("%s has %s %s: %s, mostly %s.", what, percent(m.SelfShare), of(r.Type), short(m.Name), list(names)), next)
}

// Minifiers leave one or two letters; handlers and exported names stay long.
const (
	minifiedLetters = 2
	minifiedLeast   = 5
)

func findMinified(r *Report, _ *sums) []Finding {
	var names []string
	functions, short := 0, 0
	for _, f := range r.Functions {
		if f.Kind != KindApp || f.Name == nameAnonymous {
			continue
		}
		functions++
		if utf8.RuneCountInString(f.Name) > minifiedLetters {
			continue
		}
		short++
		if len(names) < 4 {
			names = append(names, f.Name)
		}
	}
	if short < minifiedLeast || 2*short < functions {
		return nil
	}
	return one(FindMinified,
		fmt.Sprintf("The bundle is minified: %d of %d named functions have one or two letters (%s).", short, functions, strings.Join(names, ", ")),
		"Deploy with \"minify\": false and \"upload_source_maps\": true in the Wrangler configuration, or keep the build's map and give it with --source-map. A map alone cannot place functions of a minified line when the profile has no columns.")
}
