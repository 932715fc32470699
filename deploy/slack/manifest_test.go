package slack_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/snapflame/snapflame/bot/slackio"
	"github.com/snapflame/snapflame/deploy/slack"
)

// app is a manifest with the fields that Slack's schema bounds.
type app struct {
	Metadata struct {
		Major int `json:"major_version"`
		Minor int `json:"minor_version"`
	} `json:"_metadata"`
	Display struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Color       string `json:"background_color"`
	} `json:"display_information"`
	Features struct {
		Home struct {
			Home     bool `json:"home_tab_enabled"`
			Messages bool `json:"messages_tab_enabled"`
			ReadOnly bool `json:"messages_tab_read_only_enabled"`
		} `json:"app_home"`
		Bot struct {
			Name   string `json:"display_name"`
			Online bool   `json:"always_online"`
		} `json:"bot_user"`
		Commands []struct {
			Command     string `json:"command"`
			URL         string `json:"url,omitempty"`
			Description string `json:"description"`
			Hint        string `json:"usage_hint"`
			Escape      bool   `json:"should_escape"`
		} `json:"slash_commands"`
		Shortcuts []struct {
			Name        string `json:"name"`
			Type        string `json:"type"`
			CallbackID  string `json:"callback_id"`
			Description string `json:"description"`
		} `json:"shortcuts"`
	} `json:"features"`
	OAuth struct {
		Scopes struct {
			Bot      []string `json:"bot"`
			Optional []string `json:"bot_optional"`
		} `json:"scopes"`
	} `json:"oauth_config"`
	Settings struct {
		Events struct {
			URL    string   `json:"request_url,omitempty"`
			Events []string `json:"bot_events"`
		} `json:"event_subscriptions"`
		Interactivity struct {
			Enabled bool   `json:"is_enabled"`
			URL     string `json:"request_url,omitempty"`
			Options string `json:"message_menu_options_url,omitempty"`
		} `json:"interactivity"`
		OrgDeploy bool `json:"org_deploy_enabled"`
		Socket    bool `json:"socket_mode_enabled"`
		Rotation  bool `json:"token_rotation_enabled"`
	} `json:"settings"`
}

func read(t *testing.T, raw []byte) app {
	t.Helper()
	var a app
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		t.Fatalf("the manifest has a key that is not in Slack's schema, or is no JSON: %v", err)
	}
	return a
}

// The limits are those of Slack's schema:
// https://docs.slack.dev/reference/app-manifest.
func TestLimits(t *testing.T) {
	for name, raw := range map[string][]byte{"socket": slack.SocketMode, "http": slack.HTTP} {
		t.Run(name, func(t *testing.T) {
			a := read(t, raw)
			short := func(what, s string, limit int) {
				if n := len([]rune(s)); n == 0 || n > limit {
					t.Errorf("%s has %d characters; Slack takes 1 to %d", what, n, limit)
				}
			}
			short("the name", a.Display.Name, 35)
			short("the description", a.Display.Description, 140)
			if !regexp.MustCompile(`^#[0-9a-fA-F]{6}$`).MatchString(a.Display.Color) {
				t.Errorf("background_color is %q", a.Display.Color)
			}
			if !regexp.MustCompile(`^[a-z0-9._-]{1,80}$`).MatchString(a.Features.Bot.Name) {
				t.Errorf("the bot's name %q is not one for Slack", a.Features.Bot.Name)
			}
			for _, c := range a.Features.Commands {
				// https://docs.slack.dev/interactivity/implementing-slash-commands
				if !regexp.MustCompile(`^/[a-z0-9_-]{1,31}$`).MatchString(c.Command) {
					t.Errorf("%q is no slash command", c.Command)
				}
				short("a command's description", c.Description, 2000)
				short("a command's hint", c.Hint, 1000)
				if c.Escape {
					t.Error("should_escape is on: the grammar reads names as they are typed")
				}
			}
			for _, s := range a.Features.Shortcuts {
				short("a shortcut's name", s.Name, 24)
				short("a shortcut's description", s.Description, 150)
				short("a shortcut's callback_id", s.CallbackID, 255)
			}
			if len(a.Features.Commands) == 0 || len(a.Features.Shortcuts) == 0 {
				t.Error("no command or no shortcut")
			}
			if a.Settings.Rotation {
				t.Error("token rotation is on: nothing renews the token")
			}
		})
	}
}

// Both manifests are one app; only the way in differs.
func TestTheTwoDifferInTheWayInOnly(t *testing.T) {
	socket, web := read(t, slack.SocketMode), read(t, slack.HTTP)
	if !socket.Settings.Socket || web.Settings.Socket {
		t.Errorf("socket_mode_enabled is %v and %v", socket.Settings.Socket, web.Settings.Socket)
	}
	doors := http.NewServeMux()
	slackio.NewReceiver(slackio.NewClient("xoxb-x", slackio.ClientOptions{}), nil, slackio.ReceiverOptions{}).Register(doors)
	for what, address := range map[string]*string{
		"command": &web.Features.Commands[0].URL, "events": &web.Settings.Events.URL,
		"interactivity": &web.Settings.Interactivity.URL, "options": &web.Settings.Interactivity.Options,
	} {
		u, err := url.Parse(*address)
		if err != nil || u.Scheme != "https" || u.Host != "snapflame.example.com" {
			t.Errorf("the address of %s is %q", what, *address)
			continue
		}
		if _, pattern := doors.Handler(&http.Request{Method: http.MethodPost, URL: u, Host: u.Host}); pattern == "" {
			t.Errorf("the address of %s is %s, which is no door of the program", what, u.Path)
		}
		*address = ""
	}
	web.Settings.Socket = true
	if !reflect.DeepEqual(socket, web) {
		t.Errorf("they differ in more than addresses:\nsocket %+v\nhttp   %+v", socket, web)
	}
}

// What each Web API method and event needs, by Slack's reference pages. A call
// that is new in the code must be entered here, and then its scope be asked for.
var needs = map[string]string{
	"AuthTestContext": "", "PostMessageContext": "chat:write", "PostMessageWithResponseContext": "chat:write", "PostEphemeralContext": "chat:write",
	"UpdateMessageContext": "chat:write", "DeleteMessageContext": "chat:write", "JoinConversationContext": "channels:join",
	"GetConversationInfoContext": "channels:read", "GetUploadURLExternalContext": "files:write", "UploadToURL": "",
	"CompleteUploadExternalContext": "files:write", "PublishViewContext": "", "OpenViewContext": "", "UpdateViewContext": "",
	"GetUserGroupMembersContext": "usergroups:read", "StartSocketModeContext": "",
	"GetConversationRepliesContext": "channels:history", "GetConversationHistoryContext": "channels:history",
}

func TestScopesAreThoseThatTheCodeUses(t *testing.T) {
	used := map[string]bool{
		"commands": true, "chat:write.public": true, // the slash command; posts before joining
		"groups:read": true, "groups:history": true, // the private halves of channels:read and channels:history
		"im:history": true, "app_mentions:read": true, // the events of TestEvents
	}
	for call := range calls(t) {
		scope, known := needs[call]
		if !known {
			t.Errorf("%s is called: enter the scope that Slack's reference names for it", call)
		}
		used[scope] = true
	}
	asked := map[string]bool{}
	all, err := slack.Scopes()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(all, slack.Extras()...) {
		asked[s.Name] = true
		if !used[s.Name] {
			t.Errorf("%s is asked for and nothing uses it", s.Name)
		}
		if s.Lost == "" {
			t.Errorf("nothing says what is lost without %s", s.Name)
		}
	}
	for s := range used {
		if s != "" && !asked[s] {
			t.Errorf("the code uses %s, which is not asked for", s)
		}
	}
	a := read(t, slack.SocketMode)
	if !slices.IsSorted(a.OAuth.Scopes.Bot) {
		t.Error("scopes are not sorted")
	}
	for _, s := range a.OAuth.Scopes.Optional {
		if !slices.Contains(a.OAuth.Scopes.Bot, s) {
			t.Errorf("%s is optional and not in bot: Slack refuses that", s)
		}
	}
}

func TestEvents(t *testing.T) {
	code := sources(t)
	scopes := map[string]string{"app_mention": "app_mentions:read", "message.im": "im:history", "app_home_opened": ""}
	a := read(t, slack.SocketMode)
	for _, e := range a.Settings.Events.Events {
		kind, _, _ := strings.Cut(e, ".")
		if !strings.Contains(code, `e.Type == "`+kind+`"`) {
			t.Errorf("the event %s is asked for and nothing reads it", e)
		}
		scope, known := scopes[e]
		if !known || scope != "" && !slices.Contains(a.OAuth.Scopes.Bot, scope) {
			t.Errorf("the event %s needs a scope that is not asked for", e)
		}
	}
	for _, m := range regexp.MustCompile(`e\.Type == "(\w+)"`).FindAllStringSubmatch(code, -1) {
		if !slices.ContainsFunc(a.Settings.Events.Events, func(e string) bool { return strings.HasPrefix(e, m[1]) }) {
			t.Errorf("the code reads the event %s, which is not asked for", m[1])
		}
	}
}
