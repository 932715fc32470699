package bot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snapflame/snapflame/capture"
)

// maxWords bounds what is read of a command, in bytes. Slack takes 4,000.
const maxWords = 1000

// ParseCommand reads the words after the command's name or after a mention.
// Flags may stand in any order: object=, version=, env= (or with a colon), and
// a duration as it is said (10s, 30m, 1d). A nil *UsageError means that the
// words are good as far as words go.
func ParseCommand(text string) (Command, *UsageError) {
	if len(text) > maxWords {
		return Command{}, &UsageError{Read: clip(text, 60), Why: fmt.Sprintf("That is longer than %d characters.", maxWords), Topic: VerbHelp}
	}
	words := split(text)
	if len(words) == 0 {
		return Command{}, nil
	}
	p := parser{words: words, cmd: Command{Verb: Verb(strings.ToLower(words[0].text))}}
	if p.cmd.Verb == "?" || p.cmd.Verb == "-h" || p.cmd.Verb == "--help" {
		p.cmd.Verb = VerbHelp
	}
	if words[0].quoted || !slices.Contains(Verbs(), p.cmd.Verb) {
		return Command{}, unknownVerb(words)
	}
	for _, w := range words[1:] {
		if err := p.word(w); err != nil {
			err.Read, err.Topic = clip(text, 200), p.cmd.Verb
			if err.Example == "" {
				err.Example = example(p.cmd.Verb)
			}
			return Command{}, err
		}
	}
	return p.cmd, nil
}

type word struct {
	text   string
	quoted bool // in quotes: never a flag, a duration or a number
}

type parser struct {
	words []word
	cmd   Command
}

// word takes in one word after the verb.
func (p *parser) word(w word) *UsageError {
	c := &p.cmd
	if !w.quoted {
		if handled, err := p.special(w.text); handled || err != nil {
			return err
		}
	}
	switch c.Verb {
	case VerbCPU, VerbHeap, VerbObjects, VerbList, VerbSilence, VerbUnsilence:
		if c.Worker != "" {
			return p.extra(w.text)
		}
		c.Worker, c.Class, _ = strings.Cut(w.text, "/")
		if c.Worker == "" {
			return &UsageError{Why: "A Worker's name is missing before the `/`."}
		}
	case VerbShow:
		return p.ids(w.text, 1)
	case VerbCompare:
		return p.ids(w.text, 2)
	case VerbTop, VerbPeek, VerbDiff:
		if len(c.Captures) == 0 {
			return p.ids(w.text, 1)
		}
		// A function's name may hold spaces ("get size"): the rest is one name.
		c.Function = strings.TrimSpace(c.Function + " " + w.text)
	case VerbWhy:
		if c.Incident != "" {
			return p.extra(w.text)
		}
		c.Incident = w.text
	case VerbHelp:
		if c.Topic != "" {
			return p.extra(w.text)
		}
		c.Topic = strings.ToLower(w.text)
	default:
		return p.extra(w.text)
	}
	return nil
}

// special reads flags, durations and anyway, for the verbs that know them.
func (p *parser) special(s string) (handled bool, err *UsageError) {
	c := &p.cmd
	if c.Verb == VerbPeek || c.Verb == VerbTop || c.Verb == VerbDiff || c.Verb == VerbHelp {
		return false, nil // what follows are names of functions and words
	}
	if strings.EqualFold(s, "anyway") && (c.Verb == VerbCPU || c.Verb == VerbHeap) {
		c.Anyway = true
		return true, nil
	}
	if name, value, ok := flag(s); ok {
		return true, p.flag(name, value)
	}
	if d, ok := duration(s); ok && p.takesDuration() {
		return true, p.setDuration(d)
	}
	if c.Worker != "" && (c.Verb == VerbCPU || c.Verb == VerbHeap) {
		if n, err := strconv.Atoi(s); err == nil { // "cpu checkout 10"
			return true, p.setDuration(time.Duration(min(n, 1_000_000)) * time.Second)
		}
	}
	return false, nil
}

func (p *parser) takesDuration() bool {
	switch p.cmd.Verb {
	case VerbCPU, VerbHeap, VerbSilence:
		return p.cmd.Worker != "" // a Worker may be called 10s
	case VerbPause:
		return true
	default:
		return false
	}
}

func (p *parser) setDuration(d time.Duration) *UsageError {
	if p.cmd.Duration != 0 {
		return &UsageError{Why: "There are two durations; one is enough."}
	}
	p.cmd.Duration = d
	if p.cmd.Verb != VerbCPU && p.cmd.Verb != VerbHeap {
		if d <= 0 {
			return &UsageError{Why: "That duration is not in the future."}
		}
		return nil
	}
	var limit time.Duration
	switch {
	case d < capture.MinDuration:
		limit = capture.MinDuration
	case d > capture.MaxDuration:
		limit = capture.MaxDuration
	default:
		return nil
	}
	fixed := p.rest(limit)
	return &UsageError{
		Why: fmt.Sprintf("%s is not possible: Cloudflare takes captures of %s to %s.", span(max(0, d)), span(capture.MinDuration), span(capture.MaxDuration)),
		Try: []Suggestion{{Label: "Take " + span(limit), Command: fixed}},
	}
}

// rest is the command with another duration and all that can be read beside it.
func (p *parser) rest(d time.Duration) string {
	q := parser{cmd: Command{Verb: p.cmd.Verb}}
	for _, w := range p.words[1:] {
		if _, isDuration := duration(w.text); isDuration && !w.quoted && q.cmd.Worker != "" {
			continue
		}
		if _, isNumber := strconv.Atoi(w.text); isNumber == nil && q.cmd.Worker != "" {
			continue
		}
		_ = q.word(w) // a second mistake is told when the button is clicked
	}
	q.cmd.Duration = d
	return q.cmd.String()
}

func (p *parser) flag(name, value string) *UsageError {
	c := &p.cmd
	if c.Verb != VerbCPU && c.Verb != VerbHeap {
		return &UsageError{Why: fmt.Sprintf("`%s` takes no `%s=`.", c.Verb, name)}
	}
	if value == "" {
		return &UsageError{Why: fmt.Sprintf("`%s=` has no value.", name)}
	}
	switch name {
	case "object":
		c.Object = strings.ToLower(value)
		if !isObjectID(c.Object) {
			return &UsageError{Why: fmt.Sprintf(
				"An object's id is 64 hexadecimal digits; `%s` has %d characters. The id stands in the evidence of an incident and in `objects <worker>`.", clip(value, 70), len(value))}
		}
	case "version":
		c.Version = strings.ToLower(value)
		if len(c.Version) < 8 || strings.Trim(c.Version, "0123456789abcdef-") != "" {
			return &UsageError{Why: fmt.Sprintf("`%s` is no version: it takes an id of at least 8 hexadecimal digits. `latest` is never used: the newest upload need not be deployed.", clip(value, 60))}
		}
	case "env":
		c.Environment = value
	case "class":
		c.Class = value
	}
	return nil
}

func (p *parser) ids(s string, most int) *UsageError {
	if len(p.cmd.Captures) == most {
		return p.extra(s)
	}
	p.cmd.Captures = append(p.cmd.Captures, strings.ToLower(s))
	return nil
}

func (p *parser) extra(s string) *UsageError {
	fixed := p.cmd.String()
	return &UsageError{
		Why: fmt.Sprintf("I don't know what to do with `%s` after `%s`.", clip(s, 60), clip(fixed, 100)),
		Try: []Suggestion{{Label: "Run " + clip(fixed, 60), Command: fixed}},
	}
}

// flag cuts name=value and name:value, of the names that there are.
func flag(s string) (name, value string, ok bool) {
	i := strings.IndexAny(s, "=:")
	if i <= 0 {
		return "", "", false
	}
	switch name = strings.ToLower(strings.TrimLeft(s[:i], "-")); name {
	case "object", "version", "env", "class":
		return name, s[i+1:], true
	case "environment":
		return "env", s[i+1:], true
	case "obj", "id", "do":
		return "object", s[i+1:], true
	}
	return "", "", false
}

// duration reads 10s, 500ms, 30m, 1h30m and 1d.
func duration(s string) (time.Duration, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	if days, ok := strings.CutSuffix(strings.ToLower(s), "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n > 10_000 {
			return 0, false
		}
		return time.Duration(n) * 24 * time.Hour, true
	}
	if s[len(s)-1] >= '0' && s[len(s)-1] <= '9' {
		return 0, false // no unit: a name, or a number of seconds
	}
	d, err := time.ParseDuration(strings.ToLower(s))
	return d, err == nil
}

// looksSpecial says that a word would be read as something else than a name.
func looksSpecial(s string) bool {
	if _, _, isFlag := flag(s); isFlag || strings.EqualFold(s, "anyway") {
		return true
	}
	if _, err := strconv.Atoi(s); err == nil {
		return true
	}
	_, isDuration := duration(s)
	return isDuration
}

func isObjectID(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// unknownVerb says what was probably meant: a verb misspelt, or a Worker
// without one.
func unknownVerb(words []word) *UsageError {
	read := words[0].text
	e := &UsageError{Read: clip(read, 60), Why: fmt.Sprintf("I don't know the word `%s`.", clip(read, 60)), Example: example(VerbCPU), Topic: VerbHelp}
	var after strings.Builder
	for _, w := range words[1:] {
		text := w.text
		if w.quoted {
			text = quote(text)
		}
		after.WriteString(" " + text)
	}
	rest := after.String()
	var verbs []string
	for _, v := range Verbs() {
		verbs = append(verbs, string(v))
	}
	for _, near := range Nearest(strings.ToLower(read), verbs, 3) {
		e.Try = append(e.Try, Suggestion{Label: clip(near+rest, 60), Command: near + rest})
	}
	if len(e.Try) == 0 && len(words) <= 2 {
		for _, v := range []Verb{VerbCPU, VerbHeap} {
			c := string(v) + " " + quote(read) + rest
			e.Try = append(e.Try, Suggestion{Label: clip(c, 60), Command: c})
		}
	}
	return e
}
