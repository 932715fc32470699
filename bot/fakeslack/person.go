package fakeslack

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// base is where the workspace can be reached, for URLs in payloads.
func (w *Workspace) base() string {
	if w.host == "" {
		return "http://slack.test"
	}
	return "http://" + w.host
}

// trigger makes a trigger id; the caller holds mu.
func (w *Workspace) newTrigger(user string) string {
	id := w.id("trig")
	w.triggers[id] = &trigger{at: w.Now(), user: user}
	return id
}

func (w *Workspace) person(id string) object {
	return object{"id": id, "username": w.name(id), "name": w.name(id), "team_id": Team}
}

func (w *Workspace) place(id string) object {
	c := w.channels[id]
	if c == nil {
		return object{"id": id, "name": "directmessage"}
	}
	return object{"id": id, "name": c.Name}
}

func team() object { return object{"id": Team, "domain": "fake"} }

// Slash types a slash command, such as "/profile cpu checkout". Slack takes
// none in threads.
func (w *Workspace) Slash(ctx context.Context, user, channel, line string) (Ack, error) {
	w.init()
	command, text, _ := strings.Cut(line, " ")
	w.mu.Lock()
	a := Act{Kind: Command, User: user, Channel: channel, Payload: map[string]any{
		"team_id": Team, "team_domain": "fake", "channel_id": channel, "channel_name": w.place(channel)["name"], "user_id": user, "user_name": w.name(user),
		"command": command, "text": text, "api_app_id": appID, "is_enterprise_install": "false",
		"response_url": w.reply(w.Now(), w.base(), user, channel, "", nil), "trigger_id": w.newTrigger(user),
	}}
	w.mu.Unlock()
	return w.Deliver(ctx, a)
}

// Mention says something to the bot, in a thread when ts is that of a message.
// The text is as typed; Slack escapes it.
func (w *Workspace) Mention(ctx context.Context, user, channel, thread, text string) (Ack, error) {
	w.init()
	w.mu.Lock()
	escaped := "<@" + Bot + "> " + strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	m := w.store(&Message{Channel: channel, TS: w.ts(w.Now()), ThreadTS: thread, User: user, At: w.Now(), Text: escaped})
	e := object{"type": "app_mention", "user": user, "text": escaped, "ts": m.TS, "event_ts": m.TS, "channel": channel}
	if thread != "" {
		e["thread_ts"] = thread
	}
	a := w.event(user, e)
	a.Channel = channel
	w.mu.Unlock()
	return w.Deliver(ctx, a)
}

// OpenHome opens the app's Home tab.
func (w *Workspace) OpenHome(ctx context.Context, user string) (Ack, error) {
	w.init()
	w.mu.Lock()
	a := w.event(user, object{"type": "app_home_opened", "user": user, "channel": "D0" + user, "tab": "home", "event_ts": w.ts(w.Now())})
	w.mu.Unlock()
	return w.Deliver(ctx, a)
}

func (w *Workspace) event(user string, e object) Act {
	return Act{Kind: Event, User: user, Payload: map[string]any{
		"type": "event_callback", "team_id": Team, "api_app_id": appID, "event_id": w.id("Ev"), "event_time": w.Now().Unix(), "event": e,
		"authorizations": []object{{"team_id": Team, "user_id": Bot, "is_bot": true}},
	}}
}

// Click presses a button of a message, or chooses an option of a select there
// (by the option's value).
func (w *Workspace) Click(ctx context.Context, user string, m Message, actionID, option string) (Ack, error) {
	w.init()
	w.mu.Lock()
	action, err := pressed(m.Blocks, actionID, option)
	if err != nil {
		w.mu.Unlock()
		return Ack{}, err
	}
	var source *Message
	for _, s := range w.messages[m.Channel] {
		if s.TS == m.TS {
			source = s
		}
	}
	action["action_ts"] = w.ts(w.Now())
	container := object{"type": "message", "message_ts": m.TS, "channel_id": m.Channel, "is_ephemeral": m.Only != ""}
	if m.ThreadTS != "" {
		container["thread_ts"] = m.ThreadTS
	}
	p := map[string]any{
		"type": "block_actions", "user": w.person(user), "api_app_id": appID, "team": team(), "container": container, "trigger_id": w.newTrigger(user),
		"channel": w.place(m.Channel), "response_url": w.reply(w.Now(), w.base(), user, m.Channel, m.ThreadTS, source), "state": object{"values": object{}}, "actions": []object{action},
	}
	if m.Only == "" {
		p["message"] = wire(&m, true)
	}
	a := Act{Kind: Interaction, User: user, Channel: m.Channel, Payload: p}
	w.mu.Unlock()
	return w.Deliver(ctx, a)
}

// ClickHome presses a button of the person's Home tab.
func (w *Workspace) ClickHome(ctx context.Context, user, actionID, option string) (Ack, error) {
	v, ok := w.Home(user)
	if !ok {
		return Ack{}, fmt.Errorf("%s has no Home tab", user)
	}
	var body struct {
		Blocks json.RawMessage `json:"blocks"`
	}
	if err := json.Unmarshal(v.Body, &body); err != nil {
		return Ack{}, fmt.Errorf("read the Home tab: %w", err)
	}
	action, err := pressed(body.Blocks, actionID, option)
	if err != nil {
		return Ack{}, err
	}
	w.mu.Lock()
	a := Act{Kind: Interaction, User: user, Payload: map[string]any{
		"type": "block_actions", "user": w.person(user), "api_app_id": appID, "team": team(), "trigger_id": w.newTrigger(user),
		"container": object{"type": "view", "view_id": v.ID}, "view": shown(&v, "home"), "actions": []object{action},
	}}
	w.mu.Unlock()
	return w.Deliver(ctx, a)
}

// pressed finds an element and makes the action it sends.
func pressed(blocks json.RawMessage, actionID, option string) (object, error) {
	var found object
	walk(blocks, func(n map[string]any) {
		if n["action_id"] == actionID {
			found = n
		}
	})
	if found == nil {
		return nil, fmt.Errorf("there is no %q to click", actionID)
	}
	a := object{"type": found["type"], "action_id": actionID, "block_id": "b1"}
	if found["type"] == "button" {
		a["text"] = found["text"]
		if v, ok := found["value"]; ok {
			a["value"] = v
		}
		return a, nil
	}
	for _, o := range list(found["options"]) {
		if m, _ := o.(object); m["value"] == option {
			a["selected_option"] = m
			return a, nil
		}
	}
	return nil, fmt.Errorf("%q has no option %q", actionID, option)
}

// Shortcut uses a shortcut on a message, or a global one when m is zero.
func (w *Workspace) Shortcut(ctx context.Context, user, callback string, m Message) (Ack, error) {
	w.init()
	w.mu.Lock()
	p := map[string]any{"type": "shortcut", "callback_id": callback, "user": w.person(user), "team": team(), "trigger_id": w.newTrigger(user), "action_ts": w.ts(w.Now())}
	if m.TS != "" {
		p["type"], p["message_ts"], p["message"], p["channel"] = "message_action", m.TS, wire(&m, true), w.place(m.Channel)
		p["response_url"] = w.reply(w.Now(), w.base(), user, m.Channel, m.ThreadTS, nil)
	}
	w.mu.Unlock()
	return w.Deliver(ctx, Act{Kind: Interaction, User: user, Channel: m.Channel, Payload: p})
}

// Submit fills a modal in (by input id) and sends it.
func (w *Workspace) Submit(ctx context.Context, user string, v View, values map[string]string) (Ack, error) {
	w.init()
	var body struct {
		Blocks []struct {
			ID      string `json:"block_id"`
			Element struct {
				Type     string `json:"type"`
				ActionID string `json:"action_id"`
			} `json:"element"`
		} `json:"blocks"`
	}
	if err := json.Unmarshal(v.Body, &body); err != nil {
		return Ack{}, fmt.Errorf("read the modal: %w", err)
	}
	state := object{}
	for _, b := range body.Blocks {
		e := object{"type": b.Element.Type}
		val, filled := values[b.ID]
		switch {
		case strings.HasSuffix(b.Element.Type, "select") && filled:
			e["selected_option"] = object{"value": val, "text": object{"type": "plain_text", "text": val}}
		case strings.HasSuffix(b.Element.Type, "select"):
			e["selected_option"] = nil
		case filled:
			e["value"] = val
		default:
			e["value"] = nil
		}
		state[b.ID] = object{b.Element.ActionID: e}
	}
	w.mu.Lock()
	view := shown(&v, "modal")
	view["state"] = object{"values": state}
	a := Act{Kind: Interaction, User: user, Payload: map[string]any{
		"type": "view_submission", "user": w.person(user), "team": team(), "api_app_id": appID, "trigger_id": w.newTrigger(user), "view": view, "response_urls": []any{},
	}}
	w.mu.Unlock()
	return w.Deliver(ctx, a)
}

// Suggest types into an external select of a modal.
func (w *Workspace) Suggest(ctx context.Context, user string, v View, actionID, query string) (Ack, error) {
	w.init()
	w.mu.Lock()
	a := Act{Kind: Interaction, User: user, Payload: map[string]any{
		"type": "block_suggestion", "user": w.person(user), "team": team(), "api_app_id": appID, "container": object{"type": "view", "view_id": v.ID},
		"action_id": actionID, "block_id": actionID, "value": query, "view": shown(&v, "modal"),
	}}
	w.mu.Unlock()
	return w.Deliver(ctx, a)
}
