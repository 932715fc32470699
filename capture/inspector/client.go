package inspector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/snapflame/snapflame/capture"
)

const (
	// samplingMicros and samplingBytes are Cloudflare's (blog, "Workers on-demand
	// profiling", 2026-10-09; "Profiling in production").
	samplingMicros = 1000
	samplingBytes  = 512 << 10
	margin         = 40 * time.Second // for stop: V8 writes the profile then
	maxList        = 1 << 20
	maxMessage     = 256 << 20 // of a profile as JSON; 50 s are about 1.5 MB
)

// Options of a Client.
type Options struct {
	// URL of the inspector: http://127.0.0.1:9229 for wrangler dev, or what
	// workerd's --inspector-addr says. ws:// and a bare host:port are accepted.
	URL string
	// HTTP lists the targets; nil is a transport of its own.
	HTTP http.RoundTripper
	// Now stamps the profile; nil is time.Now.
	Now func() time.Time
}

// Client is one inspector. It implements capture.API.
type Client struct {
	base *url.URL
	hc   *http.Client
	now  func() time.Time
}

var _ capture.API = (*Client)(nil)

// Target is one isolate that can be profiled.
type Target struct {
	ID    string `json:"id"` // workerd: the name of the service
	Title string `json:"title"`
	URL   string `json:"webSocketDebuggerUrl"`
}

// New makes a client. It makes no call.
func New(o Options) (*Client, error) {
	s := o.URL
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("the inspector's URL %q is none: use one such as http://127.0.0.1:9229", o.URL)
	}
	switch u.Scheme {
	case "ws":
		u.Scheme = "http"
	case "wss":
		u.Scheme = "https"
	case "http", "https":
	default:
		return nil, fmt.Errorf("the inspector's URL %q must begin with http:// or ws://", o.URL)
	}
	if o.HTTP == nil {
		o.HTTP = &http.Transport{DisableKeepAlives: true}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Client{base: u, hc: &http.Client{Transport: o.HTTP, Timeout: 10 * time.Second}, now: o.Now}, nil
}

// Targets lists what the inspector offers.
func (c *Client) Targets(ctx context.Context) ([]Target, error) {
	u := *c.base
	u.Path = "/json"
	u.RawQuery = ""
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, local(capture.FailBadRequest, "ask the inspector: %v", err)
	}
	res, err := c.hc.Do(req)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err
		}
		return nil, local(capture.FailUnreachable, "No inspector answers at %s (%v). Start wrangler dev, or workerd with --inspector-addr.", c.base, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxList))
	if err != nil {
		return nil, local(capture.FailTruncated, "The inspector's list of targets broke off: %v", err)
	}
	var ts []Target
	if err := json.Unmarshal(body, &ts); err != nil || res.StatusCode != http.StatusOK {
		return nil, local(capture.FailNotProfile, "%s answers, but not as an inspector does. Is it the port of the Worker in place of the inspector's?", c.base)
	}
	return ts, nil
}

// Profile takes one capture. The version and the object of the target are not
// looked at: an isolate is what can be profiled. The error is a *capture.Failure.
func (c *Client) Profile(ctx context.Context, r capture.Request) ([]byte, error) {
	if r.Duration < capture.MinDuration || r.Duration > capture.MaxDuration {
		return nil, local(capture.FailBadRequest, "A capture lasts 1 s to 50 s, not %s.", r.Duration)
	}
	ctx, cancel := context.WithTimeout(ctx, r.Duration+margin)
	defer cancel()
	ts, err := c.Targets(ctx)
	if err != nil {
		return nil, err
	}
	t, err := choose(ts, r.Target.Script)
	if err != nil {
		return nil, err
	}
	s, err := dial(ctx, c.socketURL(t))
	if err != nil {
		return nil, local(capture.FailUnreachable, "The inspector at %s lists %q and does not let it be opened: %v", c.base, t.ID, err)
	}
	defer s.close()
	started := c.now()
	var data []byte
	switch r.Type {
	case capture.CPU:
		data, err = s.cpu(ctx, r.Duration, started)
	case capture.Heap:
		data, err = s.heap(ctx, r.Duration, started)
	default:
		return nil, local(capture.FailBadRequest, "A profile is cpu or heap, not %q.", r.Type)
	}
	if err != nil {
		return nil, explained(ctx, err)
	}
	return data, nil
}

func explained(ctx context.Context, err error) error {
	var f *capture.Failure
	switch {
	case errors.As(err, &f):
		return f
	case ctx.Err() != nil:
		return local(capture.FailTimeout, "The inspector did not answer in time.")
	}
	return local(capture.FailServer, "The inspector's connection ended (%v). Has the Worker been reloaded or stopped?", err)
}

// socketURL is the target's address at the host that was asked: behind a
// forwarded port the inspector does not know its own.
func (c *Client) socketURL(t Target) string {
	u := *c.base
	u.Scheme = strings.Replace(u.Scheme, "http", "ws", 1)
	u.Path, u.RawQuery = "/"+t.ID, ""
	if d, err := url.Parse(t.URL); err == nil && d.Path != "" {
		u.Path, u.RawQuery = path.Clean("/"+d.Path), d.RawQuery
	}
	return u.String()
}

// choose finds the isolate by the name of its service, or takes the only one.
func choose(ts []Target, script string) (Target, error) {
	var names []string
	for _, t := range ts {
		if script != "" && (strings.EqualFold(t.ID, script) || strings.EqualFold(t.Title, script) || strings.EqualFold(t.Title, "workerd: worker "+script)) {
			return t, nil
		}
		names = append(names, t.ID)
	}
	switch len(ts) {
	case 0:
		return Target{}, local(capture.FailNoIsolate, "The inspector has no target. Is the Worker running?")
	case 1:
		return ts[0], nil
	}
	return Target{}, local(capture.FailNotFound, "The inspector has no target %q; it has %s. Name one of them in place of the Worker.", script, strings.Join(names, ", "))
}

func local(k capture.FailureKind, format string, a ...any) *capture.Failure {
	return &capture.Failure{Kind: k, Message: fmt.Sprintf(format, a...), Local: true}
}
