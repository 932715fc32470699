package fakeslack

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// A response URL takes five messages in thirty minutes.
const (
	responseLife = 30 * time.Minute
	responseUses = 5
)

// reply makes a response URL for something a person did.
func (w *Workspace) reply(now time.Time, base, user, channel, thread string, source *Message) string {
	id := w.id("R")
	w.urls[id] = &responseURL{at: now, channel: channel, thread: thread, user: user, source: source}
	return base + "/response/" + id
}

// respond takes an answer at a response URL. It does not know tokens: who has
// the URL may answer.
func (w *Workspace) respond(rw *httptest.ResponseRecorder, r *http.Request, req *request) {
	u := w.urls[strings.TrimPrefix(r.URL.Path, "/response/")]
	fail := func(status int, code string) {
		req.call.Error = code
		http.Error(rw, code, status)
	}
	switch {
	case u == nil:
		fail(http.StatusNotFound, "no_such_url")
		return
	case req.now.Sub(u.at) > responseLife:
		fail(http.StatusNotFound, "expired_url")
		return
	case u.uses >= responseUses:
		fail(http.StatusNotFound, "used_url")
		return
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var body struct {
		Text    string          `json:"text"`
		Blocks  json.RawMessage `json:"blocks"`
		Type    string          `json:"response_type"`
		Thread  string          `json:"thread_ts"`
		Replace bool            `json:"replace_original"`
		Delete  bool            `json:"delete_original"`
	}
	if err != nil || json.Unmarshal(raw, &body) != nil {
		fail(http.StatusBadRequest, "invalid_payload")
		return
	}
	if string(body.Blocks) == "null" {
		body.Blocks = nil
	}
	if len(body.Blocks) > 0 {
		if err := checkBlocks(body.Blocks, inMessage); err != nil {
			fail(http.StatusBadRequest, err.Error())
			return
		}
	}
	if body.Text == "" && body.Blocks == nil && !body.Delete {
		fail(http.StatusBadRequest, "no_text")
		return
	}
	u.uses++
	w.mentions("response_url", body.Text, body.Blocks)
	req.call.User, req.call.Channel, req.call.Effect = u.user, u.channel, true
	m := u.source
	switch {
	case body.Delete && m != nil:
		m.Deleted = true
		w.touch()
	case body.Replace && m != nil:
		m.Edits = append(m.Edits, Edit{At: req.now, Text: m.Text, Blocks: m.Blocks})
		m.Text, m.Blocks = body.Text, body.Blocks
		w.touch()
	default:
		m = &Message{Channel: u.channel, TS: w.ts(req.now), ThreadTS: u.thread, User: Bot, At: req.now, Text: body.Text, Blocks: body.Blocks}
		if body.Thread != "" {
			m.ThreadTS = body.Thread
		}
		if body.Type != "in_channel" {
			m.Only = u.user
		}
		w.store(m)
	}
	req.call.TS, req.call.ThreadTS = m.TS, m.ThreadTS
	fmt.Fprint(rw, "ok")
}
