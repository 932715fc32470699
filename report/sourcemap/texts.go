package sourcemap

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/snapflame/snapflame/report"
)

// texts are the lines of sources, by their names.
type texts map[string][]string

// readTexts splits what a map brings of its sources. Sources without a text,
// and a list that is damaged, are left out: they only say whether a map fits.
func readTexts(names []string, contents json.RawMessage) texts {
	var list []*string
	if json.Unmarshal(contents, &list) != nil {
		return nil
	}
	t := texts{}
	for i, text := range list {
		if text != nil && i < len(names) {
			t[names[i]] = strings.Split(*text, "\n")
		}
	}
	return t
}

// around is how many lines from its position a function's name may stand: V8
// gives the place of the parameters, and a declaration can be broken before it.
const around = 2

// holds reports whether a function's name stands where its position is. Names
// that bundlers and V8 make, and short ones, say nothing.
func (t texts) holds(at report.Position, name string) (holds, known bool) {
	lines := t[at.File]
	if name = own(name); lines == nil || name == "" {
		return false, false
	}
	if at.Line > int64(len(lines)) {
		return false, true
	}
	for i := max(at.Line-1-around, 0); i <= min(at.Line-1+around, int64(len(lines))-1); i++ {
		if strings.Contains(lines[i], name) {
			return true, true
		}
	}
	return false, true
}

// own is the name as its author wrote it: without "get " and an object before
// it, nor the number that a bundler adds to tell two of one name apart; empty
// when it cannot be one.
func own(name string) string {
	name = name[strings.LastIndexAny(name, " .")+1:]
	name = strings.TrimRight(name, "0123456789")
	if len(name) < 3 {
		return ""
	}
	for _, r := range name {
		if r != '_' && r != '$' && r != '#' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return ""
		}
	}
	return name
}
