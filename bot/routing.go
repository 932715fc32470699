package bot

import (
	"path"

	"github.com/snapflame/snapflame/triggers"
)

// Route sends incidents of a kind to a channel. Empty fields match everything;
// Script and Environment are globs.
type Route struct {
	Class       triggers.Class
	Script      string
	Environment string
	Channel     string
	Mention     string
}

// Routing chooses the channel of an incident: the rule's own, else the first
// route that matches, else the default.
type Routing struct {
	Channel string // default channel id
	Mention string // default mention; empty: nobody
	Routes  []Route
}

// For returns the channel, and whom to mention on the first post.
func (r Routing) For(d triggers.Decision) (channel, mention string) {
	channel, mention = d.Channel, d.Mention
	for _, route := range r.Routes {
		if !route.matches(d.Class, orText(d.Target.Script, d.Event.Script), d.Event.Script, d.Event.Environment) {
			continue
		}
		channel, mention = orText(channel, route.Channel), orText(mention, route.Mention)
		break
	}
	return orText(channel, r.Channel), orText(mention, r.Mention)
}

// matches tries the script that owns the target and the one that reported it:
// either team wants to hear of it.
func (r Route) matches(class triggers.Class, owner, reporter, environment string) bool {
	if r.Class != "" && r.Class != class {
		return false
	}
	if !globs(r.Script, owner) && !globs(r.Script, reporter) {
		return false
	}
	return globs(r.Environment, environment)
}

// globs matches a name with * and ?; a pattern that is no pattern matches itself.
func globs(pattern, name string) bool {
	if pattern == "" || pattern == name {
		return true
	}
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
