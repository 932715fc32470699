package slackio

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/snapflame/snapflame/bot"
)

const (
	maxBody = 1 << 20 // Slack's payloads are far smaller
	// skew is how far a request's time may be from ours:
	// https://docs.slack.dev/authentication/verifying-requests-from-slack.
	skew = 5 * time.Minute
)

// Register adds the three doors that Slack calls: POST /slack/commands,
// /slack/interactions and /slack/events.
func (r *Receiver) Register(mux *http.ServeMux) {
	mux.Handle("POST /slack/commands", r.endpoint(doorCommand))
	mux.Handle("POST /slack/interactions", r.endpoint(doorInteraction))
	mux.Handle("POST /slack/events", r.endpoint(doorEvent))
}

func (r *Receiver) endpoint(d door) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, ok := r.verified(w, req)
		if !ok {
			return
		}
		raw, form, ok := unpack(d, body)
		if !ok {
			http.Error(w, "the body is not what Slack sends here", http.StatusBadRequest)
			return
		}
		if d == doorEvent {
			if challenge := verification(raw); challenge != "" {
				// Plain text: one released version of Slack's Go library writes the JSON wrong.
				w.Header().Set("Content-Type", "text/plain; charset=utf-8")
				w.Header().Set("X-Content-Type-Options", "nosniff")
				write(w, []byte(challenge))
				return
			}
		}
		in, err := parse(d, raw, form, r.now())
		if errors.Is(err, errNotForUs) {
			w.WriteHeader(http.StatusOK)
			return
		}
		if err != nil {
			http.Error(w, "the body is not what Slack sends here", http.StatusBadRequest)
			return
		}
		// A retry is a request whose acknowledgement was lost, or one that was sent
		// while we were away. It is told from a repetition by its id alone.
		in.retry, _ = strconv.Atoi(req.Header.Get("X-Slack-Retry-Num"))
		payload, err := r.take(req.Context(), in)
		r.acknowledge(w, in, payload, err)
	})
}

func (r *Receiver) acknowledge(w http.ResponseWriter, in inbound, payload any, err error) {
	switch {
	case errors.Is(err, errBusy) && in.Kind == bot.RequestCommand:
		payload = busy()
	case errors.Is(err, errBusy):
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	case err != nil:
		r.log.Error().Err(err).Str("kind", string(in.Kind)).Msg("answer a form")
	}
	if payload == nil {
		w.WriteHeader(http.StatusOK)
		return
	}
	out, err := json.Marshal(payload)
	if err != nil {
		r.log.Error().Err(err).Msg("encode an acknowledgement")
		w.WriteHeader(http.StatusOK)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	write(w, out)
}

// busy is the answer to a command that finds no place in the queue.
func busy() map[string]string {
	return map[string]string{"response_type": "ephemeral", "text": "Too much is asked at once. Please try again in a minute."}
}

func write(w http.ResponseWriter, b []byte) {
	if _, err := w.Write(b); err != nil {
		return // Slack hung up; it asks again
	}
}

// verified reads the body and checks Slack's signature over it. All that fails
// is 401, without a word on why.
func (r *Receiver) verified(w http.ResponseWriter, req *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		http.Error(w, "the body is too large or was cut off", http.StatusRequestEntityTooLarge)
		return nil, false
	}
	if !r.signed(req.Header, body) {
		r.observe("", "refused", r.now())
		http.Error(w, "not signed by Slack", http.StatusUnauthorized)
		return nil, false
	}
	return body, true
}

func (r *Receiver) signed(h http.Header, body []byte) bool {
	if r.opts.SigningSecret == "" {
		return false
	}
	stamp := h.Get("X-Slack-Request-Timestamp")
	at, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return false
	}
	if d := r.now().Sub(time.Unix(at, 0)); d > skew || d < -skew {
		return false
	}
	given, err := hex.DecodeString(strings.TrimPrefix(h.Get("X-Slack-Signature"), "v0="))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, []byte(r.opts.SigningSecret))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	return hmac.Equal(given, mac.Sum(nil))
}

// unpack takes the payload out of the body.
func unpack(d door, body []byte) (raw []byte, form url.Values, ok bool) {
	if d == doorEvent {
		return body, nil, len(bytes.TrimSpace(body)) > 0
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, nil, false
	}
	if d == doorCommand {
		return body, form, form.Get("command") != ""
	}
	p := form.Get("payload")
	return []byte(p), nil, p != ""
}

// verification is the challenge by which Slack checks a new address.
func verification(raw []byte) string {
	var v struct {
		Type      string `json:"type"`
		Challenge string `json:"challenge"`
	}
	if json.Unmarshal(raw, &v) != nil || v.Type != "url_verification" {
		return ""
	}
	return v.Challenge
}
