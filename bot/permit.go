package bot

import (
	"context"
	"slices"
)

// Permit says who may start captures, and silence and pause them. Everything
// else is open to everyone who sees the bot.
//
// Two questions are asked each time, on each click too: may this person, and
// may it be done here. An empty list asks nothing.
type Permit struct {
	Team     string   // workspace id; people of others (shared channels) may not; empty: not checked
	Org      string   // id of the organisation the workspace is in, by which Slack names its people too
	Users    []string // user ids
	Groups   []string // user group ids: whoever is in one may as well
	Channels []string // channel ids; empty: anywhere
	Members  Members  // who is in a group; required with Groups
}

// Check returns why the person may not, or nil. Who cannot be checked may not.
func (p Permit) Check(ctx context.Context, r Request) *Refusal {
	if p.Team != "" && r.TeamID != "" && r.TeamID != p.Team && (p.Org == "" || r.TeamID != p.Org) {
		return &Refusal{Reason: RefusedWorkspace, Sentence: "Only people of the workspace that runs snapflame may do this. Ask one of them; everyone can read."}
	}
	if len(p.Channels) > 0 && !slices.Contains(p.Channels, r.ChannelID) {
		return &Refusal{Reason: RefusedChannel, Refs: p.Channels, Sentence: "This cannot be done in this channel, but in those of slack.allowed_channels. Say it there."}
	}
	if len(p.Users) == 0 && len(p.Groups) == 0 {
		return nil
	}
	if slices.Contains(p.Users, r.UserID) {
		return nil
	}
	unchecked := false
	for _, g := range p.Groups {
		if p.Members == nil {
			unchecked = true
			break
		}
		in, err := p.Members.InGroup(ctx, r.UserID, g)
		if in {
			return nil
		}
		unchecked = unchecked || err != nil
	}
	if unchecked {
		return &Refusal{Reason: RefusedUser, Sentence: "Slack could not tell just now whether you are in a group that may do this. Try again in a minute; if it stays, the bot lacks the scope usergroups:read."}
	}
	return &Refusal{
		Reason: RefusedUser, Refs: append(slices.Clone(p.Users), p.Groups...),
		Sentence: "You are not among those who may do this. Ask one of them, or have your id (" + r.UserID + ") added to slack.allowed_users.",
	}
}
