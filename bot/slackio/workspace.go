package slackio

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

func unreachable(f failure) string {
	if f.kind == down || f.kind == ambiguous {
		return "Slack cannot be reached: check the network, a proxy, and SLACK_API_URL"
	}
	return fix(f.code, f.scope)
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
