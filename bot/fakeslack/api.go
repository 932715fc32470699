package fakeslack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Call is one request to the workspace and what came of it, for checkers.
type Call struct {
	At       time.Time `json:"at"`
	Method   string    `json:"method"` // "chat.postMessage", "upload", "response_url"
	Channel  string    `json:"channel,omitempty"`
	TS       string    `json:"ts,omitempty"`
	ThreadTS string    `json:"thread_ts,omitempty"`
	Key      string    `json:"key,omitempty"` // of the message's metadata
	File     string    `json:"file,omitempty"`
	User     string    `json:"user,omitempty"`
	Status   int       `json:"status"`
	Error    string    `json:"error,omitempty"`
	Effect   bool      `json:"effect"` // the workspace changed, whatever the caller heard
	Lost     bool      `json:"lost,omitempty"`
}

// Log is every call so far.
func (w *Workspace) Log() []Call {
	w.init()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}

func (w *Workspace) record(c Call) {
	w.log = append(w.log, c)
	if w.Journal == nil {
		return
	}
	line, err := json.Marshal(c)
	if err == nil {
		_, err = w.Journal.Write(append(line, '\n'))
	}
	if err != nil {
		w.note("write the journal: %v", err)
	}
}

type args map[string]string

type request struct {
	args
	method string
	now    time.Time
	base   string // scheme and host, for URLs in answers
	call   *Call
}

// refusal is an error as the API words it.
type refusal struct {
	code  string
	extra map[string]any
}

func (r refusal) Error() string { return r.code }

func refuse(code string) error { return refusal{code: code} }

// refuseBlocks names the place, as Slack does in response_metadata.
func refuseBlocks(code, where string) error {
	return refusal{code: code, extra: map[string]any{"response_metadata": map[string]any{"messages": []string{"[ERROR] " + where}}}}
}

type method struct {
	scopes []string // any of these
	run    func(*Workspace, *request) (map[string]any, error)
}

func methods() map[string]method {
	return map[string]method{
		"auth.test":                    {nil, (*Workspace).authTest},
		"chat.postMessage":             {[]string{"chat:write"}, (*Workspace).postMessage},
		"chat.update":                  {[]string{"chat:write"}, (*Workspace).update},
		"chat.delete":                  {[]string{"chat:write"}, (*Workspace).deleteMessage},
		"chat.postEphemeral":           {[]string{"chat:write"}, (*Workspace).postEphemeral},
		"chat.getPermalink":            {nil, (*Workspace).permalink},
		"conversations.info":           {[]string{"channels:read", "groups:read"}, (*Workspace).conversationInfo},
		"conversations.join":           {[]string{"channels:join"}, (*Workspace).join},
		"conversations.history":        {[]string{"channels:history", "groups:history"}, (*Workspace).history},
		"conversations.replies":        {[]string{"channels:history", "groups:history"}, (*Workspace).replies},
		"files.getUploadURLExternal":   {[]string{"files:write"}, (*Workspace).uploadURL},
		"files.completeUploadExternal": {[]string{"files:write"}, (*Workspace).completeUpload},
		"files.info":                   {[]string{"files:read"}, (*Workspace).fileInfo},
		"views.open":                   {nil, (*Workspace).openView},
		"views.update":                 {nil, (*Workspace).updateView},
		"views.publish":                {nil, (*Workspace).publishView},
		"reactions.add":                {[]string{"reactions:write"}, (*Workspace).addReaction},
		"users.info":                   {[]string{"users:read"}, (*Workspace).userInfo},
		"usergroups.users.list":        {[]string{"usergroups:read"}, (*Workspace).groupUsers},
	}
}

// api answers one call; false asks for the connection to be cut.
func (w *Workspace) api(rw http.ResponseWriter, r *http.Request) bool {
	name := strings.TrimPrefix(r.URL.Path, "/api/")
	switch {
	case strings.HasPrefix(r.URL.Path, "/upload/"):
		name = "upload"
	case strings.HasPrefix(r.URL.Path, "/response/"):
		name = "response_url"
	}
	a, token, err := arguments(r, name)
	c := Call{At: w.Now(), Method: name, Channel: a["channel"], TS: a["ts"], ThreadTS: a["thread_ts"], Key: Message{Metadata: json.RawMessage(a["metadata"])}.Key()}
	if c.Channel == "" {
		c.Channel = a["channel_id"]
	}
	f := w.fault(c)
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-r.Context().Done():
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	c.At = w.Now()
	w.host = r.Host
	w.settle(c.At)
	defer func() { w.record(c) }()
	if done := f.before(rw, &c); done {
		return !c.Lost
	}
	out := httptest.NewRecorder()
	req := &request{args: a, method: name, now: c.At, base: "http://" + r.Host, call: &c}
	switch {
	case err != nil:
		w.answer(out, req, nil, err)
	case name == "upload":
		w.receive(out, r, token, req)
	case name == "response_url":
		w.respond(out, r, req)
	default:
		res, err := w.dispatch(req, token, r.Header.Get("Authorization") != "")
		w.answer(out, req, res, err)
	}
	c.Status = out.Code
	if f.Reset == After {
		c.Lost = true
		return false
	}
	maps.Copy(rw.Header(), out.Header())
	rw.WriteHeader(out.Code)
	if _, err := rw.Write(out.Body.Bytes()); err != nil {
		c.Lost = true
	}
	return true
}

func (w *Workspace) dispatch(r *request, token string, inHeader bool) (map[string]any, error) {
	switch r.method {
	case "apps.connections.open":
		if token != AppToken || !inHeader {
			return nil, refuse("invalid_auth")
		}
		return w.openSocket(r)
	case "files.upload":
		w.note("files.upload was called; Slack retired it on 2025-11-12")
		return nil, refuse("method_deprecated")
	}
	m, ok := methods()[r.method]
	if !ok {
		return nil, refuse("unknown_method")
	}
	switch token {
	case "":
		return nil, refuse("not_authed")
	case BotToken:
	default:
		return nil, refuse("invalid_auth")
	}
	if len(m.scopes) > 0 && !slices.ContainsFunc(m.scopes, w.scope) {
		return nil, refusal{"missing_scope", map[string]any{"needed": m.scopes[0], "provided": strings.Join(w.Scopes, ",")}}
	}
	return m.run(w, r)
}

func (w *Workspace) scope(s string) bool { return slices.Contains(w.Scopes, s) }

func (w *Workspace) answer(rw http.ResponseWriter, r *request, res map[string]any, err error) {
	if res == nil {
		res = map[string]any{}
	}
	res["ok"] = err == nil
	if err != nil {
		var ref refusal
		if !errors.As(err, &ref) {
			ref = refusal{code: err.Error()}
		}
		res["error"] = ref.code
		maps.Copy(res, ref.extra)
		r.call.Error = ref.code
		if ref.code == "ratelimited" {
			rw.Header().Set("Retry-After", "1")
			rw.WriteHeader(http.StatusTooManyRequests)
		}
	}
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	rw.Header().Set("X-OAuth-Scopes", strings.Join(w.Scopes, ","))
	if err := json.NewEncoder(rw).Encode(res); err != nil {
		w.note("encode an answer: %v", err)
	}
}

// arguments reads a call's arguments wherever Slack allows them, and its token.
func arguments(r *http.Request, name string) (args, string, error) {
	a := args{}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if name == "upload" || name == "response_url" {
		return a, token, nil
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "application/json" {
		raw, err := io.ReadAll(io.LimitReader(r.Body, 4<<20))
		if err != nil {
			return a, token, refuse("request_timeout")
		}
		var body map[string]json.RawMessage
		if len(raw) > 0 && json.Unmarshal(raw, &body) != nil {
			return a, token, refuse("invalid_json")
		}
		for k, v := range body {
			var s string
			if json.Unmarshal(v, &s) != nil {
				s = string(v)
			}
			a[k] = s
		}
		return a, token, nil
	}
	r.Body = http.MaxBytesReader(nil, r.Body, 4<<20)
	if err := r.ParseForm(); err != nil {
		return a, token, refuse("invalid_form_data")
	}
	for k, v := range r.Form {
		a[k] = v[0]
	}
	if token == "" {
		token = a["token"]
	}
	delete(a, "token")
	return a, token, nil
}

// direct calls the workspace in place of a network.
type direct struct{ w *Workspace }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	d.w.init()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	in := r.Clone(r.Context())
	in.Host, in.RequestURI = r.URL.Host, r.URL.RequestURI()
	if in.Body == nil {
		in.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	ok := true
	if strings.HasPrefix(r.URL.Path, "/api/") || strings.HasPrefix(r.URL.Path, "/upload/") || strings.HasPrefix(r.URL.Path, "/response/") {
		ok = d.w.api(rec, in)
	} else {
		d.w.ServeHTTP(rec, in)
	}
	if r.Body != nil {
		if err := r.Body.Close(); err != nil {
			return nil, err
		}
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("read answer from %s: %w", r.URL.Host, io.ErrUnexpectedEOF)
	}
	res := rec.Result()
	res.Request = r
	return res, nil
}

// hangUp cuts the connection without an answer.
func hangUp(rw http.ResponseWriter) {
	h, ok := rw.(http.Hijacker)
	if !ok {
		return
	}
	if c, _, err := h.Hijack(); err == nil {
		_ = c.Close()
	}
}

func (a args) number(name string, otherwise int) int {
	n, err := strconv.Atoi(a[name])
	if err != nil {
		return otherwise
	}
	return n
}
