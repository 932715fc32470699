package triggers

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"time"
)

// Rule is one line of what is captured when. Every field of Match that is set
// must hold; the first rule that matches decides.
type Rule struct {
	Name     string        // as explain and threads show it; required, unique
	Match    Match         //
	Profile  ProfileType   // cpu, heap, or none to report without a capture; empty: by class
	Duration time.Duration // of the capture, 1s to 50s; 0: the default
	Repeat   int           // captures in one incident; 0: by class
	Channel  string        // Slack channel id; empty: routed
	Mention  string        // for the first post only
	Quiet    time.Duration // until the incident closes; 0: the default
	Ignore   bool          // matching events open no incident
}

// ProfileNone makes a rule report without a capture.
const ProfileNone ProfileType = "none"

// Match is what an event must be. Globs are those of path.Match.
type Match struct {
	// Class; empty is every class but none. A rule for class none needs a Text:
	// it makes an incident of the record's own Worker or object.
	Class       Class
	Subclass    Subclass
	Script      string // glob, over the script that the event is from
	Environment string // glob, over the wrangler environment
	Entrypoint  string // glob, over the event's entrypoint or the target's
	Text        string // regular expression (RE2), over the texts of the event
	// Count is how many events of one class and target must come within Window
	// (default 1m). Every replica counts the events that it handles.
	Count  int
	Window time.Duration
	// ReturnedAfter wants the same trouble to have been seen before, and then
	// to have been quiet for this long.
	ReturnedAfter time.Duration
}

// Defaults are what a rule leaves open.
type Defaults struct {
	Duration time.Duration // 10s when zero
	Quiet    time.Duration // left to the bot when zero
}

// BuiltinRules are the rules used when none are configured: one per class,
// named after it.
func BuiltinRules() []Rule {
	return []Rule{
		{Name: string(ClassOverloaded), Match: Match{Class: ClassOverloaded}, Profile: ProfileCPU},
		{Name: string(ClassExceededMemory), Match: Match{Class: ClassExceededMemory}, Profile: ProfileHeap},
		{Name: string(ClassExceededCPU), Match: Match{Class: ClassExceededCPU}, Profile: ProfileCPU},
		{Name: string(ClassAccountOverloaded), Match: Match{Class: ClassAccountOverloaded}, Profile: ProfileNone},
	}
}

// Rules are compiled rules. They are immutable: a reload makes new ones.
type Rules struct {
	rules    []compiled
	wantNone bool // some rule is for events of no class
}

type compiled struct {
	Rule
	text *regexp.Regexp
	own  bool // the duration is the rule's own, not the default
}

// CompileRules checks rules and fills in the defaults. Without rules the
// built-in ones are used. The error names the rule and the key.
func CompileRules(rules []Rule, d Defaults) (*Rules, error) {
	if len(rules) == 0 {
		rules = BuiltinRules()
	}
	if d.Duration == 0 {
		d.Duration = 10 * time.Second
	}
	var (
		out   Rules
		errs  []error
		names = make(map[string]bool, len(rules))
	)
	for i, r := range rules {
		c, err := compileRule(r, d)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("rules[%d] (%s): %w", i, r.Name, err))
			continue
		case r.Name == "":
			errs = append(errs, fmt.Errorf("rules[%d].name is missing; explain and threads show it", i))
		case names[r.Name]:
			errs = append(errs, fmt.Errorf("rules[%d].name %q is another rule's too; names are unique", i, r.Name))
		}
		names[r.Name] = true
		out.wantNone = out.wantNone || c.Match.Class == ClassNone
		out.rules = append(out.rules, c)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &out, nil
}

func compileRule(r Rule, d Defaults) (compiled, error) {
	c := compiled{Rule: r, own: r.Duration > 0}
	m := &c.Match
	if err := checkMatch(*m); err != nil {
		return c, err
	}
	if m.Text != "" {
		re, err := regexp.Compile(m.Text)
		if err != nil {
			return c, fmt.Errorf("match.text is not a regular expression: %w", err)
		}
		c.text = re
	}
	if m.Count > 1 && m.Window == 0 {
		m.Window = time.Minute
	}
	switch r.Profile {
	case "", ProfileCPU, ProfileHeap, ProfileNone:
	default:
		return c, fmt.Errorf("profile %q is unknown; use cpu, heap or none", r.Profile)
	}
	switch {
	case r.Duration == 0:
		c.Duration = d.Duration
	case r.Duration < time.Second || r.Duration > 50*time.Second:
		// The limits of the profiling API.
		return c, fmt.Errorf("duration %s is out of bounds; use 1s to 50s", r.Duration)
	}
	if r.Repeat < 0 || r.Quiet < 0 {
		return c, errors.New("repeat and quiet cannot be negative")
	}
	if c.Quiet == 0 {
		c.Quiet = d.Quiet
	}
	return c, nil
}

func checkMatch(m Match) error {
	switch m.Class {
	case "", ClassOverloaded, ClassExceededMemory, ClassExceededCPU, ClassAccountOverloaded:
	case ClassNone:
		if m.Text == "" {
			return errors.New("match.class none needs match.text; without one it would match every healthy event")
		}
	default:
		return fmt.Errorf("match.class %q is unknown; use overloaded, exceeded_memory, exceeded_cpu, account_overloaded or none", m.Class)
	}
	switch m.Subclass {
	case "", SubclassRequestsQueued, SubclassDataQueued, SubclassQueuedTooLong, SubclassTooManyInWindow:
	default:
		return fmt.Errorf("match.subclass %q is unknown; use requests_queued, data_queued, queued_too_long or too_many_in_window", m.Subclass)
	}
	if m.Subclass != "" && m.Class != "" && m.Class != ClassOverloaded {
		return fmt.Errorf("match.subclass belongs to class overloaded, not %s", m.Class)
	}
	globs := []struct{ key, glob string }{{"script", m.Script}, {"environment", m.Environment}, {"entrypoint", m.Entrypoint}}
	for _, g := range globs {
		if _, err := path.Match(g.glob, ""); err != nil {
			return fmt.Errorf("match.%s %q is not a glob; close its brackets or escape them with \\", g.key, g.glob)
		}
	}
	if m.Count < 0 || m.Window < 0 || m.ReturnedAfter < 0 {
		return errors.New("match.count, match.window and match.returned_after cannot be negative")
	}
	if m.Window > 0 && m.Count < 2 {
		return errors.New("match.window needs a match.count of at least 2")
	}
	return nil
}

// fits says whether all but the counting parts of the match hold.
func (c *compiled) fits(e *Event, f finding, t Target) bool {
	m := &c.Match
	switch {
	case m.Class == "" && f.class == ClassNone, m.Class != "" && m.Class != f.class, m.Subclass != "" && m.Subclass != f.sub:
		return false
	case !glob(m.Script, e.Script), !glob(m.Environment, e.Environment):
		return false
	case m.Entrypoint != "" && !glob(m.Entrypoint, e.Entrypoint) && (t.Entrypoint == "" || !glob(m.Entrypoint, t.Entrypoint)):
		return false
	case c.text == nil:
		return true
	}
	return slices.ContainsFunc(e.Texts, func(t Text) bool {
		return c.text.MatchString(t.Message) || t.Name != "" && c.text.MatchString(t.Name+": "+t.Message)
	})
}

func glob(pattern, name string) bool {
	if pattern == "" || pattern == "*" {
		return true
	}
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
