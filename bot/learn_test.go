package bot_test

import (
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

// TestTheOwnerIsLearned: a logged id says which object, not whose; the account
// does when it is asked, and the thread names the class from then on.
func TestTheOwnerIsLearned(t *testing.T) {
	object := strings.Repeat("3fa1c07d", 8)
	now := time.Date(2026, 11, 30, 3, 14, 0, 0, time.UTC)
	c := bot.New(triggers.Decision{
		Action: triggers.ActionCapture, Class: triggers.ClassOverloaded, Attribution: triggers.AttributionLogged,
		Target: triggers.Target{Kind: triggers.TargetDurableObject, ObjectID: object}, Event: triggers.Event{Script: "edge", Time: now},
	}, bot.Opening{ID: "i1", Channel: "C0", Now: now}, bot.Policy{})
	key := c.Target.Key()
	r := c.Captures[0].Record
	r.State, r.StartedAt = capture.Started, now
	r.Resolved = capture.Target{Kind: capture.DurableObject, Script: "room-api", Class: "Room", ObjectID: object}
	c, changed := c.CaptureChanged(r, nil, nil, bot.Policy{}, now.Add(time.Second))
	if !changed || c.Target.Script != "room-api" || c.Target.Entrypoint != "Room" || c.Target.Key() != key {
		t.Errorf("got %+v", c.Target)
	}
	if root := (bot.Writer{}).Root(c, now); !strings.Contains(root.Title, "room-api Room 3fa1c07d") {
		t.Errorf("the root is titled %q", root.Title)
	}
	r.Resolved.Script = "other"
	if c, _ = c.CaptureChanged(r, nil, nil, bot.Policy{}, now.Add(2*time.Second)); c.Target.Script != "room-api" {
		t.Errorf("what was known was overwritten: %+v", c.Target)
	}
}
