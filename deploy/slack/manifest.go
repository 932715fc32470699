package slack

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
)

// SocketMode is the manifest of an app that opens its connections itself.
//
//go:embed manifest.socket.json
var SocketMode []byte

// HTTP is the manifest of an app that Slack calls; its addresses begin with
// https://snapflame.example.com.
//
//go:embed manifest.http.json
var HTTP []byte

// Scope is one permission of the bot token.
type Scope struct {
	Name string
	// Optional is one that the workspace may decline at installation.
	Optional bool
	// Lost is what does not work without it, as half a sentence.
	Lost string
}

// manifest is the part of Slack's format that names scopes:
// https://docs.slack.dev/reference/app-manifest.
type manifest struct {
	OAuth struct {
		Scopes struct {
			Bot      []string `json:"bot"`
			Optional []string `json:"bot_optional"`
		} `json:"scopes"`
	} `json:"oauth_config"`
}

// Scopes are those of the manifests, which agree in this. It fails only when
// the embedded file is broken.
func Scopes() ([]Scope, error) {
	var m manifest
	if err := json.Unmarshal(SocketMode, &m); err != nil {
		return nil, fmt.Errorf("read the embedded manifest: %w", err)
	}
	lost := losses()
	out := make([]Scope, 0, len(m.OAuth.Scopes.Bot))
	for _, name := range m.OAuth.Scopes.Bot {
		out = append(out, Scope{Name: name, Optional: slices.Contains(m.OAuth.Scopes.Optional, name), Lost: lost[name]})
	}
	return out, nil
}

// Extras are scopes that are not in the manifests, since they let the bot read
// what people write: it would look, after an answer of Slack's was lost,
// whether the message stands there already, and at nothing else.
func Extras() []Scope {
	const lost = "a message whose answer from Slack was lost may be posted a second time"
	return []Scope{
		{Name: "channels:history", Optional: true, Lost: lost + ", in a public channel"},
		{Name: "groups:history", Optional: true, Lost: lost + ", in a private channel"},
	}
}

func losses() map[string]string {
	return map[string]string{
		"app_mentions:read": "mentions in threads are not heard",
		"channels:join":     "the bot must be invited to each channel before it can post pictures",
		"channels:read":     "doctor cannot check public channels",
		"chat:write":        "no message can be posted",
		"chat:write.public": "the bot must be in a channel to post there",
		"commands":          "the slash command and the shortcuts do not exist",
		"files:write":       "flamegraphs cannot be uploaded",
		"groups:read":       "doctor cannot check private channels",
		"im:history":        "direct messages get no answer",
		"usergroups:read":   "slack.allowed_usergroups cannot be used",
	}
}
