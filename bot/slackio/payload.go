package slackio

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/blocks"
)

// door is which of Slack's three kinds of delivery something came by.
type door string

const (
	doorCommand     door = "command"
	doorInteraction door = "interaction"
	doorEvent       door = "event"
)

// inbound is one delivery, read. Only what is used is decoded, into types of
// our own: a message in a payload may hold blocks that no library knows.
type inbound struct {
	bot.Request
	once      string // what it is recognised by when it comes again
	ephemeral bool   // the clicked message is seen by one person only
	stale     bool   // a button of another version
	retry     int    // Slack's count of deliveries before this one
	acked     time.Duration
}

// errNotForUs is a delivery that asks for nothing.
var errNotForUs = errors.New("not for us")

type interaction struct {
	Type string `json:"type"`
	Team struct {
		ID string `json:"id"`
	} `json:"team"`
	User struct {
		ID       string `json:"id"`
		Username string `json:"username"`
		Name     string `json:"name"`
		TeamID   string `json:"team_id"` // the person's, which team is not in a channel that workspaces share
	} `json:"user"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Container struct {
		MessageTS string `json:"message_ts"`
		ChannelID string `json:"channel_id"`
		ThreadTS  string `json:"thread_ts"`
		Ephemeral bool   `json:"is_ephemeral"`
	} `json:"container"`
	Message struct {
		TS       string `json:"ts"`
		ThreadTS string `json:"thread_ts"`
	} `json:"message"`
	MessageTS   string `json:"message_ts"`
	TriggerID   string `json:"trigger_id"`
	ResponseURL string `json:"response_url"`
	CallbackID  string `json:"callback_id"`
	ActionID    string `json:"action_id"`
	Value       string `json:"value"`
	Actions     []struct {
		ActionID string `json:"action_id"`
		Value    string `json:"value"`
		Selected *struct {
			Value string `json:"value"`
		} `json:"selected_option"`
	} `json:"actions"`
	View struct {
		ID       string `json:"id"`
		Hash     string `json:"hash"`
		Metadata string `json:"private_metadata"`
		State    struct {
			Values map[string]map[string]struct {
				Value    *string `json:"value"`
				Selected *struct {
					Value string `json:"value"`
				} `json:"selected_option"`
			} `json:"values"`
		} `json:"state"`
	} `json:"view"`
}

// parse reads a delivery. Its raw form is a JSON object, or for commands over
// HTTP a form.
func parse(d door, raw []byte, form url.Values, now time.Time) (inbound, error) {
	var in inbound
	var err error
	switch {
	case d == doorCommand && form != nil:
		in = command(form.Get)
	case d == doorCommand:
		var m map[string]any
		if err = json.Unmarshal(raw, &m); err == nil {
			in = command(func(k string) string { s, _ := m[k].(string); return s })
		}
	case d == doorInteraction:
		in, err = readInteraction(raw)
	default:
		in, err = readEvent(raw)
	}
	if err != nil {
		return in, fmt.Errorf("read a Slack %s: %w", d, err)
	}
	if in.once == "" { // nothing of Slack's to know it by: its content
		sum := sha256.Sum256(append(raw, form.Encode()...))
		in.once = hex.EncodeToString(sum[:16])
	}
	in.ID, in.At = in.once, now
	return in, nil
}

func command(get func(string) string) inbound {
	return inbound{once: get("trigger_id"), Request: bot.Request{
		Kind: bot.RequestCommand, TeamID: get("team_id"), UserID: get("user_id"), UserName: get("user_name"), ChannelID: get("channel_id"),
		ActionID: get("command"), Text: strings.TrimSpace(get("text")), TriggerID: get("trigger_id"), ResponseURL: get("response_url"),
	}}
}

func readInteraction(raw []byte) (inbound, error) {
	var p interaction
	if err := json.Unmarshal(raw, &p); err != nil {
		return inbound{}, err
	}
	in := inbound{once: p.TriggerID, ephemeral: p.Container.Ephemeral, Request: bot.Request{
		TeamID: first(p.User.TeamID, p.Team.ID), UserID: p.User.ID, UserName: first(p.User.Username, p.User.Name), ChannelID: first(p.Channel.ID, p.Container.ChannelID),
		ThreadTS: first(p.Container.ThreadTS, p.Message.ThreadTS), MessageTS: first(p.Container.MessageTS, p.MessageTS, p.Message.TS),
		TriggerID: p.TriggerID, ResponseURL: p.ResponseURL,
	}}
	switch p.Type {
	case "block_actions":
		if len(p.Actions) == 0 {
			return in, errNotForUs
		}
		a := p.Actions[0]
		value := a.Value
		if a.Selected != nil {
			value = a.Selected.Value
		}
		in.Kind, in.ActionID = bot.RequestClick, blocks.ParseActionID(a.ActionID)
		var ok bool
		in.Value, ok = blocks.ParseValue(value)
		in.stale = !ok
	case "view_submission":
		in.Kind, in.Value, in.Values = bot.RequestSubmit, p.View.Metadata, map[string]string{}
		in.once = first(p.TriggerID, p.View.ID+"/"+p.View.Hash)
		for block, actions := range p.View.State.Values {
			for _, v := range actions {
				switch {
				case v.Selected != nil:
					in.Values[block] = v.Selected.Value
				case v.Value != nil:
					in.Values[block] = *v.Value
				}
			}
		}
	case "block_suggestion":
		in.Kind, in.ActionID, in.Query, in.Value = bot.RequestSuggest, p.ActionID, p.Value, p.View.Metadata
	case "message_action", "shortcut":
		in.Kind, in.ActionID = bot.RequestShortcut, p.CallbackID
	default:
		return in, errNotForUs
	}
	return in, nil
}

func readEvent(raw []byte) (inbound, error) {
	var p struct {
		Type    string `json:"type"`
		TeamID  string `json:"team_id"`
		EventID string `json:"event_id"`
		Event   struct {
			Type     string `json:"type"`
			Subtype  string `json:"subtype"`
			BotID    string `json:"bot_id"`
			User     string `json:"user"`
			Text     string `json:"text"`
			TS       string `json:"ts"`
			ThreadTS string `json:"thread_ts"`
			Channel  string `json:"channel"`
			Kind     string `json:"channel_type"`
			Tab      string `json:"tab"`
			// Whose workspace the author is of, which team_id is not in a channel
			// that several workspaces share.
			Team     string `json:"team"`
			UserTeam string `json:"user_team"`
		} `json:"event"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return inbound{}, err
	}
	e := p.Event
	in := inbound{once: p.EventID, Request: bot.Request{TeamID: first(e.UserTeam, e.Team, p.TeamID), UserID: e.User, ChannelID: e.Channel, ThreadTS: e.ThreadTS, MessageTS: e.TS}}
	switch {
	case p.Type != "event_callback" || e.BotID != "" || e.Subtype != "" || e.User == "":
		return in, errNotForUs // ours too: what the bot says is an event as well
	case e.Type == "app_mention", e.Type == "message" && e.Kind == "im":
		in.Kind, in.Text = bot.RequestMention, typed(e.Text)
	case e.Type == "app_home_opened" && (e.Tab == "home" || e.Tab == ""):
		in.Kind, in.ChannelID = bot.RequestHome, ""
	default:
		return in, errNotForUs
	}
	return in, nil
}

var (
	called   = regexp.MustCompile(`^\s*<@[A-Z0-9]+(\|[^>]*)?>\s*`)
	labelled = regexp.MustCompile(`<(?:https?://|mailto:)[^|>]*\|([^>]*)>`)
	linked   = regexp.MustCompile(`<((?:https?://|mailto:)[^>]*)>`)
)

// typed is a message as its author typed it: without the mention of the bot at
// its head, with Slack's escapes and automatic links undone.
func typed(s string) string {
	s = called.ReplaceAllString(s, "")
	s = labelled.ReplaceAllString(s, "$1")
	s = linked.ReplaceAllString(s, "$1")
	return strings.TrimSpace(strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s))
}

func first(ss ...string) string {
	for _, s := range ss {
		if s != "" {
			return s
		}
	}
	return ""
}
