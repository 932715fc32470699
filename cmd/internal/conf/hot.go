package conf

import (
	"reflect"
	"slices"
)

// Reload returns c with every hot key (rules, routing, permissions, limits of
// incidents, log level) taken from next, and the keys that differ but need a
// restart. Both configurations are left as they are.
func (c *Config) Reload(next *Config) (merged *Config, restart []string) {
	out := *c
	out.sources = map[string]string{}
	out.Warnings = slices.Clone(next.Warnings)
	now, then := fieldsOf(&out), fieldsOf(next)
	for i, f := range now {
		from := c
		if f.Hot {
			f.value.Set(then[i].value)
			from = next
		} else if !reflect.DeepEqual(f.value.Interface(), then[i].value.Interface()) {
			restart = append(restart, f.Key)
		}
		if s := from.sources[f.Key]; s != "" {
			out.sources[f.Key] = s
		}
	}
	return &out, restart
}

// Missing lists what `serve` cannot do its work without, one problem each. A
// configuration that is only used by other commands may lack all of it.
func (c *Config) Missing() Problems {
	var bad Problems
	need := func(set bool, key, what string) {
		if !set {
			bad = append(bad, Problem{Where: c.path, Key: key, What: what})
		}
	}
	need(c.Cloudflare.AccountID != "", "cloudflare.account_id", "is not set; set CLOUDFLARE_ACCOUNT_ID")
	need(c.Cloudflare.APIToken.IsSet(), "cloudflare.api_token", "is not set; set CLOUDFLARE_API_TOKEN or CLOUDFLARE_API_TOKEN_FILE")
	need(c.Slack.BotToken.IsSet(), "slack.bot_token", "is not set; set SLACK_BOT_TOKEN or SLACK_BOT_TOKEN_FILE")
	need(c.Slack.Channel != "", "slack.channel", "is not set; set SNAPFLAME_SLACK_CHANNEL to a channel id (C…)")
	return bad
}
