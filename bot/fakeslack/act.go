package fakeslack

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Kind is which of an app's three doors an act goes through.
type Kind string

// The kinds.
const (
	Command     Kind = "commands"
	Interaction Kind = "interactions"
	Event       Kind = "events"
)

// Act is something a person did, as Slack tells the app.
type Act struct {
	Kind    Kind
	Payload map[string]any
	Retry   int // number of an Events API retry, 0 for the first delivery
	User    string
	Channel string
}

func (a Act) envelope() string {
	switch a.Kind {
	case Command:
		return "slash_commands"
	case Event:
		return "events_api"
	case Interaction:
	}
	return "interactive"
}

// Ack is how the app acknowledged.
type Ack struct {
	Status  int
	Payload json.RawMessage // of the acknowledgement: options, errors, a text
	Took    time.Duration
	Tries   int
	Act     Act // to deliver it again
}

var errLate = errors.New("operation_timeout: the app did not acknowledge in time")

// Deliver hands an act to the app, over HTTP when RequestURL is set and else
// over Socket Mode, and does what Slack does with the acknowledgement.
func (w *Workspace) Deliver(ctx context.Context, a Act) (Ack, error) {
	w.init()
	w.mu.Lock()
	w.acted[a.User] = true
	w.mu.Unlock()
	send := w.overSocket
	if w.RequestURL != "" {
		send = w.overHTTP
	}
	ack, err := send(ctx, a)
	ack.Act = a
	if errors.Is(err, errLate) {
		w.violate("%s by %s was not acknowledged within %s", a.Kind, a.User, w.AckWithin)
	}
	if err != nil {
		return ack, err
	}
	return ack, w.accept(a, ack)
}

// Repeat delivers an act once more, as Slack does when it is not sure.
func (w *Workspace) Repeat(ctx context.Context, a Ack) (Ack, error) {
	a.Act.Retry++
	return w.Deliver(ctx, a.Act)
}

// Body is an act as an HTTP body and its content type.
func (a Act) Body() ([]byte, string, error) {
	if a.Kind == Command {
		form := url.Values{}
		for k, v := range a.Payload {
			form.Set(k, fmt.Sprint(v))
		}
		return []byte(form.Encode()), "application/x-www-form-urlencoded", nil
	}
	raw, err := json.Marshal(a.Payload)
	if err != nil {
		return nil, "", fmt.Errorf("encode an act: %w", err)
	}
	if a.Kind == Event {
		return raw, "application/json", nil
	}
	return []byte(url.Values{"payload": {string(raw)}}.Encode()), "application/x-www-form-urlencoded", nil
}

// Sign is the signature of a body at a time:
// https://docs.slack.dev/authentication/verifying-requests-from-slack.
func Sign(secret string, at time.Time, body []byte) (timestamp, signature string) {
	timestamp = strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "v0:%s:%s", timestamp, body)
	return timestamp, "v0=" + hex.EncodeToString(mac.Sum(nil))
}

func (w *Workspace) overHTTP(ctx context.Context, a Act) (Ack, error) {
	body, kind, err := a.Body()
	if err != nil {
		return Ack{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, w.AckWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(w.RequestURL, "/")+"/slack/"+string(a.Kind), bytes.NewReader(body))
	if err != nil {
		return Ack{}, fmt.Errorf("deliver %s: %w", a.Kind, err)
	}
	ts, sig := Sign(SigningSecret, w.Now(), body)
	req.Header.Set("Content-Type", kind)
	req.Header.Set("X-Slack-Request-Timestamp", ts)
	req.Header.Set("X-Slack-Signature", sig)
	if a.Retry > 0 {
		req.Header.Set("X-Slack-Retry-Num", strconv.Itoa(a.Retry))
		req.Header.Set("X-Slack-Retry-Reason", "http_timeout")
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	start := time.Now()
	res, err := client.Do(req)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return Ack{Tries: 1}, errLate
		}
		return Ack{}, fmt.Errorf("deliver %s: %w", a.Kind, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return Ack{}, fmt.Errorf("read the acknowledgement of %s: %w", a.Kind, err)
	}
	return Ack{Status: res.StatusCode, Payload: raw, Took: time.Since(start), Tries: 1}, nil
}

// accept does with an acknowledgement what Slack does: it shows a command's
// text, a form's errors, a select's options.
func (w *Workspace) accept(a Act, ack Ack) error {
	if ack.Status != http.StatusOK {
		return fmt.Errorf("the app answered %d to %s", ack.Status, a.Kind)
	}
	if len(bytes.TrimSpace(ack.Payload)) == 0 {
		return nil
	}
	var p struct {
		Text    string          `json:"text"`
		Blocks  json.RawMessage `json:"blocks"`
		Action  string          `json:"response_action"`
		Errors  map[string]any  `json:"errors"`
		View    json.RawMessage `json:"view"`
		Options []object        `json:"options"`
	}
	if err := json.Unmarshal(ack.Payload, &p); err != nil {
		p.Text = string(ack.Payload) // a command may be answered in plain text
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case a.Kind == Command && (p.Text != "" || len(p.Blocks) > 0):
		if len(p.Blocks) > 0 {
			if err := checkBlocks(p.Blocks, inMessage); err != nil {
				return fmt.Errorf("acknowledge a command: %w", err)
			}
		}
		w.mentions("acknowledgement", p.Text, p.Blocks)
		w.store(&Message{Channel: a.Channel, TS: w.ts(w.Now()), User: Bot, At: w.Now(), Text: p.Text, Blocks: p.Blocks, Only: a.User})
	case p.Action == "update" || p.Action == "push":
		if err := checkView(p.View, inModal); err != nil {
			return fmt.Errorf("acknowledge a form: %w", err)
		}
	case p.Action == "errors":
		for id := range p.Errors {
			if !strings.Contains(fmt.Sprint(a.Payload["view"]), id) {
				return fmt.Errorf("acknowledge a form: an error for %q, which is no input of it", id)
			}
		}
	case p.Options != nil:
		c := &checker{surface: inModal, actions: map[string]bool{}}
		all := make([]any, len(p.Options))
		for i, o := range p.Options {
			all[i] = o
		}
		if c.options("", all, 0, 100); c.fault != "" {
			return fmt.Errorf("acknowledge a select: %s", c.fault)
		}
	}
	return nil
}
