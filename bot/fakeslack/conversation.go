package fakeslack

import (
	"slices"
	"strconv"
)

func (w *Workspace) authTest(r *request) (map[string]any, error) {
	return map[string]any{
		"url": r.base + "/", "team": "Fake", "team_id": Team, "user": botName, "user_id": Bot, "bot_id": "B0SNAPFLAME",
	}, nil
}

func (w *Workspace) conversationInfo(r *request) (map[string]any, error) {
	c := w.channels[r.args["channel"]]
	if c == nil || (c.Private && !c.Member) {
		return nil, refuse("channel_not_found")
	}
	return map[string]any{"channel": map[string]any{
		"id": c.ID, "name": c.Name, "is_channel": !c.Private, "is_private": c.Private, "is_archived": c.Archived, "is_member": c.Member,
	}}, nil
}

func (w *Workspace) join(r *request) (map[string]any, error) {
	c := w.channels[r.args["channel"]]
	switch {
	case c == nil:
		return nil, refuse("channel_not_found")
	case c.Private:
		return nil, refuse("method_not_supported_for_channel_type")
	case c.Archived:
		return nil, refuse("is_archived")
	}
	c.Member = true
	r.call.Effect = true
	return map[string]any{"channel": map[string]any{"id": c.ID, "name": c.Name}}, nil
}

// readable checks that history of the channel may be read: membership and the
// scope of its kind.
func (w *Workspace) readable(id string) (*Channel, error) {
	c := w.channels[id]
	if c == nil || (c.Private && !c.Member) {
		return nil, refuse("channel_not_found")
	}
	need := "channels:history"
	if c.Private {
		need = "groups:history"
	}
	if !w.scope(need) {
		return nil, refusal{"missing_scope", map[string]any{"needed": need, "provided": ""}}
	}
	if !c.Member {
		return nil, refuse("not_in_channel")
	}
	return c, nil
}

func (w *Workspace) history(r *request) (map[string]any, error) {
	c, err := w.readable(r.args["channel"])
	if err != nil {
		return nil, err
	}
	return w.list(r, c.ID, func(m *Message) bool { return m.ThreadTS == "" }, true)
}

func (w *Workspace) replies(r *request) (map[string]any, error) {
	c, err := w.readable(r.args["channel"])
	if err != nil {
		return nil, err
	}
	root := r.args["ts"]
	if w.find(c.ID, root) == nil {
		return nil, refuse("thread_not_found")
	}
	return w.list(r, c.ID, func(m *Message) bool { return m.TS == root || m.ThreadTS == root }, false)
}

// list pages through messages: history newest first, a thread oldest first.
func (w *Workspace) list(r *request, channel string, want func(*Message) bool, newest bool) (map[string]any, error) {
	oldest, latest := seconds(r.args["oldest"], 0), seconds(r.args["latest"], 1e12)
	var hits []*Message
	for _, m := range w.messages[channel] {
		at := seconds(m.TS, 0)
		if m.Deleted || m.Only != "" || !want(m) || at < oldest || at > latest {
			continue
		}
		hits = append(hits, m)
	}
	if newest {
		slices.Reverse(hits)
	}
	from := r.number("cursor", 0)
	limit := min(max(r.number("limit", 100), 1), 999)
	if from > len(hits) {
		return nil, refuse("invalid_cursor")
	}
	page := hits[from:min(from+limit, len(hits))]
	out := make([]map[string]any, len(page))
	for i, m := range page {
		all := r.args["include_all_metadata"]
		out[i] = wire(m, all == "1" || all == "true")
	}
	next := ""
	if from+limit < len(hits) {
		next = strconv.Itoa(from + limit)
	}
	return map[string]any{"messages": out, "has_more": next != "", "response_metadata": map[string]any{"next_cursor": next}}, nil
}

func seconds(ts string, otherwise float64) float64 {
	f, err := strconv.ParseFloat(ts, 64)
	if err != nil {
		return otherwise
	}
	return f
}

func (w *Workspace) userInfo(r *request) (map[string]any, error) {
	u := w.users[r.args["user"]]
	if u == nil {
		return nil, refuse("user_not_found")
	}
	return map[string]any{"user": map[string]any{"id": u.ID, "name": u.Name, "real_name": u.Name, "is_bot": u.Bot}}, nil
}

func (w *Workspace) groupUsers(r *request) (map[string]any, error) {
	var out []string
	known := false
	for _, u := range w.users {
		if slices.Contains(u.Groups, r.args["usergroup"]) {
			out, known = append(out, u.ID), true
		}
	}
	if !known {
		return nil, refuse("no_such_subteam")
	}
	slices.Sort(out)
	return map[string]any{"users": out}, nil
}
