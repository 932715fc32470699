package slackio_test

import (
	"testing"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/bot/slackio"
)

// In a channel that workspaces share, Slack names ours beside the person, and
// the person's own with the person: the latter is who asks.
func TestGuestsAreOfTheirOwnWorkspace(t *testing.T) {
	const theirs = "T0GUESTS001"
	for name, socket := range transports() {
		t.Run(name, func(t *testing.T) {
			f := newOffice(t, &fakeslack.Workspace{}, socket, slackio.ReceiverOptions{})
			f.answers(nil)
			person := map[string]any{"id": "U0GUEST0001", "username": "guest", "team_id": theirs}
			team := map[string]any{"id": fakeslack.Team}
			channel := map[string]any{"id": fakeslack.Incidents}
			for what, a := range map[string]fakeslack.Act{
				"click": {Kind: fakeslack.Interaction, Payload: map[string]any{
					"type": "block_actions", "user": person, "team": team, "channel": channel, "trigger_id": "1.click",
					"actions": []any{map[string]any{"type": "button", "action_id": "pf.again", "value": "v1:i"}},
				}},
				"mention": {Kind: fakeslack.Event, Payload: map[string]any{
					"type": "event_callback", "team_id": fakeslack.Team, "event_id": "Ev0GUEST",
					"event": map[string]any{"type": "app_mention", "user": "U0GUEST0001", "user_team": theirs, "text": "<@" + fakeslack.Bot + "> cpu x", "ts": "1.1", "channel": fakeslack.Incidents},
				}},
			} {
				a.User, a.Channel = "U0GUEST0001", fakeslack.Incidents
				if _, err := f.w.Deliver(t.Context(), a); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				<-f.came
				rs := f.requests()
				if r := rs[len(rs)-1]; r.TeamID != theirs || r.UserID != "U0GUEST0001" {
					t.Errorf("%s: of %q, want the person's own workspace", what, r.TeamID)
				}
			}
			f.answers(func(bot.Request) (bot.Reply, error) { return bot.Reply{}, nil })
			if _, err := f.w.Slash(t.Context(), fakeslack.Ana, fakeslack.Incidents, "/profile help"); err != nil {
				t.Fatal(err)
			}
			<-f.came
			rs := f.requests()
			if r := rs[len(rs)-1]; r.TeamID != fakeslack.Team {
				t.Errorf("ours: of %q", r.TeamID)
			}
		})
	}
}
