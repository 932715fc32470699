package bot

import (
	"strings"
	"time"

	"github.com/snapflame/snapflame/capture"
)

// Verb is the first word of a command.
type Verb string

// The verbs. VerbForm is no word at all.
const (
	VerbForm      Verb = ""
	VerbCPU       Verb = "cpu"
	VerbHeap      Verb = "heap"
	VerbObjects   Verb = "objects"
	VerbList      Verb = "list"
	VerbShow      Verb = "show"
	VerbCompare   Verb = "compare"
	VerbTop       Verb = "top"
	VerbPeek      Verb = "peek"
	VerbDiff      Verb = "diff"
	VerbWhy       Verb = "why"
	VerbSilence   Verb = "silence"
	VerbUnsilence Verb = "unsilence"
	VerbStatus    Verb = "status"
	VerbPause     Verb = "pause"
	VerbResume    Verb = "resume"
	VerbHelp      Verb = "help"
)

// Verbs is every word that begins a command, in the order of the help.
func Verbs() []Verb {
	return []Verb{
		VerbCPU, VerbHeap, VerbObjects, VerbList, VerbShow, VerbCompare, VerbTop, VerbPeek, VerbDiff,
		VerbWhy, VerbSilence, VerbUnsilence, VerbStatus, VerbPause, VerbResume, VerbHelp,
	}
}

// Baseline is what stands in a Command's Captures for "the quiet time".
const Baseline = "baseline"

// Command is what a person typed, read. Fields that were not given are empty;
// whether a verb can do without depends on where it was said: in the thread of
// an incident, the incident is meant.
type Command struct {
	Verb        Verb
	Worker      string
	Class       string        // of a Durable Object, after a slash
	Object      string        // 64 lower-case hexadecimal digits
	Version     string        // version id, or a prefix of at least 8 characters
	Environment string        // wrangler environment
	Duration    time.Duration // of a capture, a silence or a pause
	Captures    []string      // capture ids, or Baseline
	Function    string
	Incident    string
	Topic       string // of help
	// Anyway does it although the Worker is silenced or not known.
	Anyway bool
}

// Script is the Worker's name with its environment, as wrangler deploys it.
func (c Command) Script() string {
	if c.Environment == "" || strings.HasSuffix(c.Worker, "-"+c.Environment) {
		return c.Worker
	}
	return c.Worker + "-" + c.Environment
}

// Type is the kind of profile of VerbCPU and VerbHeap.
func (c Command) Type() capture.Type {
	if c.Verb == VerbHeap {
		return capture.Heap
	}
	return capture.CPU
}

// String writes the command so that ParseCommand reads the same again. Buttons
// that run a corrected command hold it.
func (c Command) String() string {
	words := []string{string(c.Verb)}
	add := func(s string) {
		if s != "" {
			words = append(words, quote(s))
		}
	}
	worker := c.Worker
	if c.Class != "" {
		worker += "/" + c.Class
	}
	add(worker)
	for _, id := range c.Captures {
		add(id)
	}
	add(c.Incident)
	add(c.Topic)
	add(c.Function)
	flag := func(name, value string) {
		if value != "" {
			words = append(words, name+"="+quote(value))
		}
	}
	flag("object", c.Object)
	flag("version", c.Version)
	flag("env", c.Environment)
	if c.Duration > 0 {
		words = append(words, durationWord(c.Duration))
	}
	if c.Anyway {
		words = append(words, "anyway")
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// quote puts quotes around what would not be read as one plain word.
func quote(s string) string {
	plain := s != ""
	for _, r := range s {
		if r <= ' ' || strings.ContainsRune("\"'`“”‘’<>=|", r) {
			plain = false
		}
	}
	if plain && !looksSpecial(s) {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func durationWord(d time.Duration) string {
	if d >= 24*time.Hour && d%(24*time.Hour) == 0 {
		return number(int64(d/(24*time.Hour))) + "d"
	}
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = strings.TrimSuffix(s, zero[1:])
		}
	}
	return s
}

// Suggestion is a command that was probably meant; it becomes a button.
type Suggestion struct {
	Label   string
	Command string
}

// UsageError is a mistake in a command, told to the one who made it: what was
// read, why that does not work, and what was probably meant.
type UsageError struct {
	Read    string // the words, as they were understood
	Why     string
	Try     []Suggestion
	Example string
	Topic   Verb // help about it
}

func (e *UsageError) Error() string { return e.Why }

// Missing says what a verb still lacks where it was said; nil when nothing.
func (c Command) Missing() *UsageError {
	lacks := func(what string, try ...Suggestion) *UsageError {
		return &UsageError{Read: c.String(), Try: try, Why: "`" + string(c.Verb) + "` needs " + what + ".", Example: example(c.Verb), Topic: c.Verb}
	}
	switch c.Verb {
	case VerbCPU, VerbHeap, VerbObjects, VerbSilence, VerbUnsilence:
		if c.Worker == "" {
			return lacks("the name of a Worker")
		}
	case VerbShow, VerbCompare, VerbTop, VerbDiff:
		if len(c.Captures) == 0 {
			return lacks("the id of a capture (see `list`)", Suggestion{"List captures", string(VerbList)})
		}
	case VerbPeek:
		if len(c.Captures) == 0 {
			return lacks("the id of a capture (see `list`) and the name of a function", Suggestion{"List captures", string(VerbList)})
		}
		if c.Function == "" {
			return lacks("the name of a function (see `top "+c.Captures[0]+"`)", Suggestion{"Top functions", string(VerbTop) + " " + c.Captures[0]})
		}
	case VerbWhy:
		if c.Incident == "" {
			return lacks("the id of an incident (it stands under its first message)")
		}
	default:
	}
	return nil
}

func example(v Verb) string {
	switch v {
	case VerbCPU:
		return "cpu checkout 10s"
	case VerbHeap:
		return "heap room-api/RoomObject object=<64 hex digits>"
	case VerbObjects:
		return "objects room-api"
	case VerbList:
		return "list checkout"
	case VerbShow:
		return "show k7f3q9-1"
	case VerbCompare:
		return "compare k7f3q9-1 baseline"
	case VerbTop:
		return "top k7f3q9-1"
	case VerbPeek:
		return "peek k7f3q9-1 parseCatalog"
	case VerbDiff:
		return "diff k7f3q9-1 parseCatalog"
	case VerbWhy:
		return "why k7f3q9"
	case VerbSilence:
		return "silence checkout 1h"
	case VerbUnsilence:
		return "unsilence checkout"
	case VerbPause:
		return "pause 1h"
	case VerbHelp:
		return "help cpu"
	default:
		return string(v)
	}
}
