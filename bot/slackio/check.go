package slackio

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"
)

// Finding is one line of the doctor.
type Finding struct {
	Name   string
	OK     bool
	Detail string
	Fix    string // what to do when not OK, or what would be better
}

// CheckOptions say what to check beside the token.
type CheckOptions struct {
	Channels []string // ids that messages go to
	Command  string
	Socket   bool // Socket Mode is wanted
	Groups   bool // allow-lists name user groups
}

// ValidChannel refuses a channel that is no id: Slack's uploads take ids only.
func ValidChannel(s string) error {
	if regexp.MustCompile(`^[CG][A-Z0-9]{7,20}$`).MatchString(s) {
		return nil
	}
	return fmt.Errorf("%q is not a channel id: in Slack, open the channel, click its name, and copy the id at the bottom of About (it begins with C)", s)
}

// ValidCommand refuses what Slack takes for no slash command: at most 32
// characters, lower case.
func ValidCommand(s string) error {
	if regexp.MustCompile(`^/[a-z0-9_-]{1,31}$`).MatchString(s) {
		return nil
	}
	return fmt.Errorf("%q is not a slash command: it is / and 1 to 31 lower-case letters, digits, - or _", s)
}

// scopes with what they are for.
func neededScopes(o CheckOptions) map[string]string {
	m := map[string]string{
		"chat:write": "messages", "commands": "the slash command", "files:write": "flamegraphs in threads", "app_mentions:read": "mentions in threads",
	}
	if o.Groups {
		m["usergroups:read"] = "slack.allowed_usergroups"
	}
	return m
}

func niceScopes() map[string]string {
	return map[string]string{
		"channels:join": "joining public channels by itself", "channels:read": "checking membership", "chat:write.public": "writing to public channels before it joins",
		"channels:history": "looking whether a message arrived when Slack's answer was lost (else it may stand there twice)",
	}
}

// Check asks Slack about the token, its scopes, the channels, the clock and
// Socket Mode. It changes nothing.
func (c *Client) Check(ctx context.Context, o CheckOptions) []Finding {
	auth, err := c.api.AuthTestContext(ctx)
	if err != nil {
		f := sortFailure(err)
		return []Finding{{Name: "slack token", Detail: f.code, Fix: unreachable(f)}}
	}
	out := []Finding{{Name: "slack token", OK: true, Detail: fmt.Sprintf("%s in %s", auth.User, auth.Team)}}
	out = append(out, c.checkClock(auth.Header), c.checkScopes(o))
	if o.Command != "" {
		f := Finding{Name: "slack command", OK: true, Detail: o.Command, Fix: "Slack does not tell which commands an app has: compare with the app's settings"}
		if err := ValidCommand(o.Command); err != nil {
			f = Finding{Name: "slack command", Detail: o.Command, Fix: err.Error()}
		}
		out = append(out, f)
	}
	for _, ch := range o.Channels {
		out = append(out, c.checkChannel(ctx, ch))
	}
	if o.Socket {
		out = append(out, c.checkSocket(ctx))
	}
	return out
}

func unreachable(f failure) string {
	if f.kind == down || f.kind == ambiguous {
		return "Slack cannot be reached: check the network, a proxy, and SLACK_API_URL"
	}
	return fix(f.code, f.scope)
}

func (c *Client) checkClock(h http.Header) Finding {
	at, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return Finding{Name: "slack clock", OK: true, Detail: "Slack sent no date"}
	}
	if d := c.now().Sub(at).Abs(); d > skew/2 {
		return Finding{Name: "slack clock", Detail: d.Round(time.Second).String() + " from Slack's", Fix: "set this machine's clock: signed requests more than 5 minutes away are refused"}
	}
	return Finding{Name: "slack clock", OK: true, Detail: "within a few seconds or minutes of Slack's"}
}

func (c *Client) checkScopes(o CheckOptions) Finding {
	have := c.Scopes()
	if have == nil {
		return Finding{Name: "slack scopes", OK: true, Detail: "Slack did not tell"}
	}
	missing := lacking(neededScopes(o), have)
	if len(missing) > 0 {
		return Finding{Name: "slack scopes", Detail: "missing " + strings.Join(missing, "; "), Fix: "add them under OAuth & Permissions and install the app again"}
	}
	f := Finding{Name: "slack scopes", OK: true, Detail: fmt.Sprintf("%d granted", len(have))}
	if better := lacking(niceScopes(), have); len(better) > 0 {
		f.Fix = "optional: " + strings.Join(better, "; ")
	}
	return f
}

func lacking(want map[string]string, have []string) []string {
	var out []string
	for s, why := range want {
		if !slices.Contains(have, s) {
			out = append(out, s+" ("+why+")")
		}
	}
	slices.Sort(out)
	return out
}

func (c *Client) checkChannel(ctx context.Context, id string) Finding {
	f := Finding{Name: "slack channel", Detail: id}
	if err := ValidChannel(id); err != nil {
		f.Fix = err.Error()
		return f
	}
	info, err := c.api.GetConversationInfoContext(ctx, &slack.GetConversationInfoInput{ChannelID: id})
	if err != nil {
		e := sortFailure(err)
		if e.code == "missing_scope" {
			f.OK, f.Fix = true, "optional: the scope "+e.scope+", to check membership"
			return f
		}
		f.Detail, f.Fix = id+": "+e.code, fix(e.code, e.scope)
		return f
	}
	f.Detail = id + " #" + info.Name
	switch {
	case info.IsArchived:
		f.Fix = fix("is_archived", "")
	case !info.IsMember && info.IsPrivate:
		f.Fix = fix("not_in_channel", "")
	case !info.IsMember && !slices.Contains(c.Scopes(), "channels:join"):
		f.Fix = fix("not_in_channel", "") + " (text may arrive without, pictures do not)"
	case !info.IsMember:
		f.OK, f.Fix = true, "the bot joins with the first picture"
	default:
		f.OK = true
	}
	return f
}

func (c *Client) checkSocket(ctx context.Context) Finding {
	f := Finding{Name: "slack socket mode", OK: true, Detail: "an address was given"}
	if _, _, err := c.api.StartSocketModeContext(ctx); err != nil {
		f.OK, f.Detail = false, sortFailure(err).code
		f.Fix = "SLACK_APP_TOKEN must begin with xapp- and have the scope connections:write; Socket Mode must be on in the app's settings"
	}
	return f
}

// Scopes are the bot token's as Slack last told them; nil before the first
// call.
func (c *Client) Scopes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.scopes)
}

// Home is the workspace that the bot token belongs to.
type Home struct {
	URL  string // for Permalink
	Team string // its id
	Org  string // id of the Enterprise Grid organisation it is in; empty: none
}

// Home asks Slack for it.
func (c *Client) Home(ctx context.Context) (Home, error) {
	auth, err := c.api.AuthTestContext(ctx)
	if err != nil {
		return Home{}, fmt.Errorf("ask Slack for the workspace: %w", err)
	}
	return Home{URL: auth.URL, Team: auth.TeamID, Org: auth.EnterpriseID}, nil
}

const groupFor = time.Minute

// groups remembers who is in a user group for a minute, so that a click costs
// no call.
type groups struct {
	mu    sync.Mutex
	known map[string]members
}

type members struct {
	users []string
	at    time.Time
}

// InGroup implements bot.Members. Needs the scope usergroups:read.
func (c *Client) InGroup(ctx context.Context, user, group string) (bool, error) {
	c.groups.mu.Lock()
	m, ok := c.groups.known[group]
	c.groups.mu.Unlock()
	if !ok || c.now().Sub(m.at) > groupFor {
		users, err := c.api.GetUserGroupMembersContext(ctx, group)
		if err != nil {
			f := sortFailure(err)
			return false, errors.New("ask Slack who is in " + group + ": " + unreachable(f))
		}
		m = members{users, c.now()}
		c.groups.mu.Lock()
		if c.groups.known == nil {
			c.groups.known = map[string]members{}
		}
		c.groups.known[group] = m
		c.groups.mu.Unlock()
	}
	return slices.Contains(m.users, user), nil
}
