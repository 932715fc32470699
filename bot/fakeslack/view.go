package fakeslack

import (
	"encoding/json"
	"strconv"
	"time"
)

// triggerLife is how long a trigger id may be exchanged for a view.
const triggerLife = 3 * time.Second

func (w *Workspace) openView(r *request) (map[string]any, error) {
	t := w.triggers[r.args["trigger_id"]]
	switch {
	case t == nil:
		return nil, refuse("invalid_trigger_id")
	case t.used:
		return nil, refuse("exchanged_trigger_id")
	case r.now.Sub(t.at) > triggerLife:
		return nil, refuse("expired_trigger_id")
	}
	body := json.RawMessage(r.args["view"])
	if err := checkView(body, "modal"); err != nil {
		return nil, err
	}
	t.used = true
	v := &View{ID: w.id("V"), User: t.user, Hash: w.hash(r.now), Body: body}
	w.views[v.ID] = v
	w.touch()
	r.call.User, r.call.Effect = t.user, true
	return map[string]any{"view": shown(v, "modal")}, nil
}

func (w *Workspace) updateView(r *request) (map[string]any, error) {
	v := w.views[r.args["view_id"]]
	if v == nil {
		return nil, refuse("not_found")
	}
	if h := r.args["hash"]; h != "" && h != v.Hash {
		return nil, refuse("hash_conflict")
	}
	body := json.RawMessage(r.args["view"])
	if err := checkView(body, "modal"); err != nil {
		return nil, err
	}
	v.Body, v.Hash = body, w.hash(r.now)
	v.Updates++
	w.touch()
	r.call.User, r.call.Effect = v.User, true
	return map[string]any{"view": shown(v, "modal")}, nil
}

func (w *Workspace) publishView(r *request) (map[string]any, error) {
	user := r.args["user_id"]
	if w.users[user] == nil {
		return nil, refuse("invalid_arguments")
	}
	body := json.RawMessage(r.args["view"])
	if err := checkView(body, "home"); err != nil {
		return nil, err
	}
	v := w.homes[user]
	if v == nil {
		v = &View{ID: w.id("V"), User: user}
		w.homes[user] = v
	} else if h := r.args["hash"]; h != "" && h != v.Hash {
		return nil, refuse("hash_conflict")
	}
	v.Body, v.Hash = body, w.hash(r.now)
	v.Updates++
	w.touch()
	r.call.User, r.call.Effect = user, true
	return map[string]any{"view": shown(v, "home")}, nil
}

func (w *Workspace) hash(now time.Time) string {
	w.seq++
	return strconv.FormatInt(now.Unix(), 10) + "." + strconv.Itoa(w.seq)
}

func shown(v *View, kind string) map[string]any {
	out := map[string]any{}
	if json.Unmarshal(v.Body, &out) != nil {
		out = map[string]any{}
	}
	out["id"], out["hash"], out["type"], out["team_id"] = v.ID, v.Hash, kind, Team
	return out
}
