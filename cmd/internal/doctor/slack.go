package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/slack-go/slack"

	slackapp "github.com/snapflame/snapflame/deploy/slack"
)

// slackChecks share one auth.test.
type slackChecks struct {
	o    Options
	test func(ctx context.Context) (*slack.AuthTestResponse, http.Header, error)
}

func newSlackChecks(o Options) *slackChecks {
	s := &slackChecks{o: o}
	var (
		once   sync.Once
		res    *slack.AuthTestResponse
		header http.Header
		err    error
	)
	s.test = func(ctx context.Context) (*slack.AuthTestResponse, http.Header, error) {
		once.Do(func() {
			keep := &headerKeeper{next: o.HTTP}
			res, err = s.client(keep).AuthTestContext(ctx)
			header = keep.header
		})
		return res, header, err
	}
	return s
}

// headerKeeper keeps the header of the last answer, which slack-go drops.
type headerKeeper struct {
	next   http.RoundTripper
	header http.Header
}

func (k *headerKeeper) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := k.next.RoundTrip(r)
	if err == nil {
		k.header = res.Header
	}
	return res, err
}

func (s *slackChecks) client(rt http.RoundTripper) *slack.Client {
	c := s.o.Config.Slack
	return slack.New(c.BotToken.Reveal(), slack.OptionAPIURL(c.APIURL), slack.OptionAppLevelToken(c.AppToken.Reveal()),
		slack.OptionHTTPClient(&http.Client{Transport: rt, Timeout: patience / 2}))
}

const unset = "slack.bot_token is not set; set SLACK_BOT_TOKEN"

func (s *slackChecks) token(ctx context.Context) Finding {
	if !s.o.Config.Slack.BotToken.IsSet() {
		return bad(unset)
	}
	res, _, err := s.test(ctx)
	if err != nil {
		return bad("%s", slackError(err))
	}
	return ok("%s in workspace %s", res.User, res.Team)
}

func (s *slackChecks) scopes(ctx context.Context) Finding {
	if !s.o.Config.Slack.BotToken.IsSet() {
		return note("not known without a token")
	}
	_, header, err := s.test(ctx)
	if err != nil {
		return note("not known while the token does not work")
	}
	granted := strings.FieldsFunc(header.Get("X-OAuth-Scopes"), func(r rune) bool { return r == ',' || r == ' ' })
	if len(granted) == 0 {
		return note("Slack did not name the token's scopes")
	}
	wanted, err := slackapp.Scopes()
	if err != nil {
		return bad("%v; this build is broken, get another", err)
	}
	return compare(granted, wanted)
}

// compare holds what the workspace granted to the manifest of this version.
func compare(granted []string, wanted []slackapp.Scope) Finding {
	var lacking, optional, known []string
	for _, sc := range wanted {
		known = append(known, sc.Name)
		missing := fmt.Sprintf("%s (%s)", sc.Name, sc.Lost)
		switch {
		case slices.Contains(granted, sc.Name):
		case sc.Optional:
			optional = append(optional, missing)
		default:
			lacking = append(lacking, missing)
		}
	}
	for _, sc := range slackapp.Extras() {
		known = append(known, sc.Name)
	}
	more := slices.DeleteFunc(slices.Clone(granted), func(s string) bool { return slices.Contains(known, s) })
	switch {
	case len(lacking) > 0:
		return bad("lacks %s; add it under OAuth & Permissions and reinstall the app", strings.Join(lacking, ", "))
	case len(optional) > 0:
		return note("works without %s", strings.Join(optional, ", "))
	case len(more) > 0:
		return ok("all %d of the manifest granted; nothing here uses %s", len(wanted), strings.Join(more, ", "))
	}
	return ok("all %d of the manifest granted", len(wanted))
}

// transport checks the way in: the app token of Socket Mode, or the signing
// secret and address of HTTP.
func (s *slackChecks) transport(ctx context.Context) Finding {
	c := s.o.Config
	if c.SlackMode() == "http" {
		switch {
		case !c.Slack.SigningSecret.IsSet():
			return bad("http mode without slack.signing_secret refuses every request; set SLACK_SIGNING_SECRET, or SLACK_APP_TOKEN for Socket Mode")
		case c.PublicURL == "":
			return note("http mode: Slack must reach /slack/commands, /slack/interactions and /slack/events; public_url is not set, so this is not known")
		}
		return ok("http: set the request URLs to %s/slack/…", c.PublicURL)
	}
	if _, _, err := s.client(s.o.HTTP).StartSocketModeContext(ctx); err != nil {
		return bad("Socket Mode cannot be opened: %s; the app token needs connections:write and Socket Mode must be on", slackError(err))
	}
	return ok("socket: the app token opens connections")
}

func (s *slackChecks) channels(ctx context.Context) Finding {
	c := s.o.Config
	var ids []string
	add := func(id string) {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	add(c.Slack.Channel)
	for _, r := range c.Slack.Routes {
		add(r.Channel)
	}
	for _, r := range c.Rules {
		add(r.Channel)
	}
	switch {
	case len(ids) == 0:
		return bad("slack.channel is not set; set SNAPFLAME_SLACK_CHANNEL to a channel id (C…)")
	case !c.Slack.BotToken.IsSet():
		return note("not known without a token")
	}
	var wrong, fine []string
	for _, id := range ids {
		ch, err := s.client(s.o.HTTP).GetConversationInfoContext(ctx, &slack.GetConversationInfoInput{ChannelID: id})
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Sprintf("%s: %s", id, slackError(err)))
		case ch.IsArchived:
			wrong = append(wrong, fmt.Sprintf("#%s (%s) is archived; choose another channel", ch.Name, id))
		case !ch.IsMember:
			wrong = append(wrong, fmt.Sprintf("the bot is not in #%s (%s); type /invite @snapflame there", ch.Name, id))
		default:
			fine = append(fine, "#"+ch.Name)
		}
	}
	if len(wrong) > 0 {
		return bad("%s", strings.Join(wrong, "; "))
	}
	return ok("the bot is in %s", strings.Join(fine, ", "))
}

// slackError puts Slack's error words into a sentence with the fix.
func slackError(err error) string {
	word := err.Error()
	if e, isSlack := errors.AsType[slack.SlackErrorResponse](err); isSlack {
		word = e.Err
	}
	fixes := map[string]string{
		"invalid_auth":             "Slack does not know the token; copy it again from the app's page",
		"not_authed":               "no token was sent; set SLACK_BOT_TOKEN",
		"account_inactive":         "the app was removed from the workspace; install it again",
		"token_revoked":            "the token was revoked; reinstall the app and set the new one",
		"token_expired":            "the token has expired; switch token rotation off or renew it",
		"missing_scope":            "a scope is missing; see slack-scopes",
		"channel_not_found":        "there is no such channel, or it is private and the bot is not in it; check the id, then /invite @snapflame",
		"not_allowed_token_type":   "this is the wrong kind of token; bot tokens begin with xoxb-, app tokens with xapp-",
		"ratelimited":              "Slack limits requests at the moment; try again in a minute",
		"enterprise_is_restricted": "the organisation does not allow this app; ask an administrator",
	}
	if fix := fixes[word]; fix != "" {
		return fix + " (" + word + ")"
	}
	return word + "; see api.slack.com for this answer, and check network and proxy if it is none of Slack's"
}
