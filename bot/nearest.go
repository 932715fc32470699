package bot

import (
	"cmp"
	"slices"
	"strings"
)

// nearEnough is how many slips of the finger a name may be away.
const nearEnough = 2

// Nearest returns up to n of the names that were probably meant, nearest first:
// those within two slips (a letter more, less, other, or two swapped), and those
// that begin with what was typed.
func Nearest(typed string, names []string, n int) []string {
	type near struct {
		name string
		away int
	}
	if len(typed) < 2 {
		return nil // one letter is one slip away from every other
	}
	var found []near
	low := strings.ToLower(typed)
	for _, name := range names {
		l := strings.ToLower(name)
		if d := distance(low, l, nearEnough); d <= min(nearEnough, max(1, len(low)/3)) {
			found = append(found, near{name, d})
		} else if len(low) >= 2 && strings.HasPrefix(l, low) {
			found = append(found, near{name, nearEnough + 1})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.away, b.away) })
	var out []string
	for _, f := range found[:min(n, len(found))] {
		if !slices.Contains(out, f.name) {
			out = append(out, f.name)
		}
	}
	return out
}

// distance is the Damerau-Levenshtein distance (optimal string alignment) of a
// and b, or more than limit when it is more than that.
func distance(a, b string, limit int) int {
	ra, rb := []rune(a), []rune(b)
	if len(ra)-len(rb) > limit || len(rb)-len(ra) > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(rb)+1), make([]int, len(rb)+1), make([]int, len(rb)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(ra); i++ {
		row[0] = i
		least := row[0]
		for j := 1; j <= len(rb); j++ {
			cost := 1
			if ra[i-1] == rb[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && ra[i-1] == rb[j-2] && ra[i-2] == rb[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit+1 {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return last[len(rb)]
}
