package cloudflare

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/snapflame/snapflame/capture"
)

// profileBody is the documented body; nothing else is accepted by the API.
type profileBody struct {
	DurationMS  int64  `json:"duration_ms"`
	ProfileType string `json:"profile_type"`
	NamespaceID string `json:"namespace_id,omitempty"`
	ActorID     string `json:"actor_id,omitempty"`
}

// Profile takes one capture. It holds for the capture's duration, at most
// Options.Margin longer, and makes exactly one request. The error is a
// *capture.Failure.
func (c *Client) Profile(ctx context.Context, r capture.Request) ([]byte, error) {
	if f := refuse(r); f != nil {
		return nil, f
	}
	b := profileBody{DurationMS: r.Duration.Milliseconds(), ProfileType: string(r.Type)}
	if r.Target.Kind == capture.DurableObject {
		b.NamespaceID, b.ActorID = r.Target.NamespaceID, r.Target.ObjectID
	}
	body, err := json.Marshal(b)
	if err != nil {
		return nil, &capture.Failure{Kind: capture.FailBadRequest, Message: err.Error(), Unsent: true}
	}
	ctx, cancel := context.WithTimeout(ctx, r.Duration+c.o.Margin)
	defer cancel()
	worker := r.Target.Script
	if r.Target.DispatchNamespace != "" {
		if worker, err = c.dispatched(ctx, r.Target); err != nil {
			return nil, err
		}
	}
	target := c.base + "/workers/workers/" + url.PathEscape(worker) + "/versions/" + url.PathEscape(r.Target.VersionID) + "/profile"
	a, err := c.do(ctx, http.MethodPost, target, bytes.NewReader(body), capture.MaxProfile)
	if err != nil {
		return nil, err
	}
	if a.status/100 != 2 {
		return nil, c.classify(a)
	}
	if f := capture.Sniff(a.body); f != nil {
		if looksLikeEnvelope(a.body) { // an error with status 200
			f = c.classify(a)
		}
		f.Status = a.status
		return nil, f
	}
	return a.body, nil
}

// refuse finds what must not be sent.
func refuse(r capture.Request) *capture.Failure {
	bad := func(text string) *capture.Failure {
		return &capture.Failure{Kind: capture.FailBadRequest, Message: text, Unsent: true}
	}
	t := r.Target
	switch {
	case t.Script == "":
		return bad("the Worker is not known")
	case t.VersionID == "" || strings.EqualFold(t.VersionID, "latest"):
		return bad("a version must be named: the newest upload need not be deployed")
	case r.Duration < capture.MinDuration || r.Duration > capture.MaxDuration:
		return bad("a capture lasts 1 s to 50 s")
	case r.Type != capture.CPU && r.Type != capture.Heap:
		return bad("a profile is cpu or heap")
	case t.Kind == capture.DurableObject && (t.NamespaceID == "" || !isObjectID(t.ObjectID)):
		return bad("an object needs its namespace and its id of 64 hexadecimal digits")
	}
	return nil
}

func isObjectID(s string) bool {
	if len(s) != 64 {
		return false
	}
	return strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

func looksLikeEnvelope(body []byte) bool {
	var env envelope
	return len(body) <= maxErrorBody && json.Unmarshal(body, &env) == nil && len(env.Errors) > 0
}
