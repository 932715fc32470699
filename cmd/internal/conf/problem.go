package conf

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Problem is one thing that is wrong: where (file and line, or variable), which
// key, and what to do. Its Error is one line.
type Problem struct { //nolint:errname // Problem is the word of the messages
	Where string
	Key   string
	What  string
}

func (p Problem) Error() string {
	var b strings.Builder
	if p.Where != "" {
		b.WriteString(p.Where + ": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key + " ")
	}
	b.WriteString(p.What)
	return b.String()
}

// Problems is every mistake of a configuration, in the order they were found.
type Problems []Problem //nolint:errname // as Problem

// Error is the first problem and how many follow, in one line.
func (p Problems) Error() string {
	switch len(p) {
	case 0:
		return "no problem"
	case 1:
		return p[0].Error()
	default:
		return fmt.Sprintf("%s (and %d more: snapflame config check)", p[0].Error(), len(p)-1)
	}
}

// inOrder sorts by line of the file, as a person mends them; what is not from
// the file comes last.
func (p Problems) inOrder() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int { return a.line() - b.line() })
	return p
}

func (p Problem) line() int {
	i := strings.LastIndexByte(p.Where, ':')
	if n, err := strconv.Atoi(p.Where[i+1:]); i > 0 && err == nil {
		return n
	}
	return math.MaxInt32
}
