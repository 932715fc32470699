package triggers

import "time"

// Silence keeps matching events from opening incidents until it expires. An
// empty field matches everything; a Silence without any matches nothing.
type Silence struct {
	ID         string    `json:"id"`
	Script     string    `json:"script,omitempty"` // glob, over the event's script or the target's
	Class      Class     `json:"class,omitempty"`
	Entrypoint string    `json:"entrypoint,omitempty"` // glob
	ObjectID   string    `json:"object_id,omitempty"`
	Until      time.Time `json:"until"`
	By         string    `json:"by,omitempty"`   // who asked for it
	Note       string    `json:"note,omitempty"` // why
}

// Matches says whether the silence covers a decision at a time.
func (s Silence) Matches(d Decision, now time.Time) bool {
	return s.matches(&d, &d.Event, now)
}

func (s Silence) matches(d *Decision, e *Event, now time.Time) bool {
	if !now.Before(s.Until) || s.Script == "" && s.Class == "" && s.Entrypoint == "" && s.ObjectID == "" {
		return false
	}
	if s.Class != "" && s.Class != d.Class || s.ObjectID != "" && s.ObjectID != d.Target.ObjectID {
		return false
	}
	if s.Entrypoint != "" && !glob(s.Entrypoint, d.Target.Entrypoint) && !glob(s.Entrypoint, e.Entrypoint) {
		return false
	}
	return s.Script == "" || glob(s.Script, e.Script) || d.Target.Script != "" && glob(s.Script, d.Target.Script)
}
