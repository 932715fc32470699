package conf

import "github.com/snapflame/snapflame/triggers"

// CompileRules makes the rules that triggers decides by. Load has checked them.
func (c *Config) CompileRules() (*triggers.Rules, error) {
	return triggers.CompileRules(c.triggerRules(), triggers.Defaults{Duration: c.Capture.Duration, Quiet: c.Incident.Quiet})
}

func (c *Config) triggerRules() []triggers.Rule {
	rules := make([]triggers.Rule, len(c.Rules))
	for i, r := range c.Rules {
		rules[i] = triggers.Rule{
			Name: r.Name, Profile: triggers.ProfileType(r.Profile), Duration: r.Duration, Repeat: r.Repeat,
			Channel: r.Channel, Mention: r.Mention, Quiet: r.Quiet, Ignore: r.Ignore,
			Match: triggers.Match{
				Class: triggers.Class(r.Match.Class), Subclass: triggers.Subclass(r.Match.Subclass),
				Script: r.Match.Script, Environment: r.Match.Environment, Entrypoint: r.Match.Entrypoint,
				Text: r.Match.Text, Count: r.Match.Count, Window: r.Match.Window, ReturnedAfter: r.Match.ReturnedAfter,
			},
		}
	}
	return rules
}
