package telemetry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	pageSize    = 1000 // records; the API takes up to 2,000 (cloudflare/mcp-server-cloudflare, workers-logs.types.ts)
	callTimeout = 30 * time.Second
	maxAnswer   = 64 << 20 // bytes of a page
	maxMessage  = 300      // bytes of a foreign text that are kept
	queryID     = "snapflame"
)

// Account is whose Workers Logs are read, and how.
type Account struct {
	ID      string
	Token   string // needs Workers Observability Read
	BaseURL string // https://api.cloudflare.com/client/v4
	// HTTP is how requests travel; nil is a transport of its own with the proxy
	// of the environment.
	HTTP http.RoundTripper
}

// client makes the one call.
type client struct {
	target string
	token  string
	hc     *http.Client
}

func newClient(a Account) (*client, error) {
	u, err := url.Parse(a.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("CLOUDFLARE_API_BASE_URL is no http(s) URL: use https://api.cloudflare.com/client/v4")
	}
	if a.ID == "" || a.Token == "" {
		return nil, errors.New("polling Workers Logs needs CLOUDFLARE_ACCOUNT_ID and CLOUDFLARE_API_TOKEN")
	}
	if a.HTTP == nil {
		a.HTTP = &http.Transport{
			Proxy:       http.ProxyFromEnvironment,
			DialContext: (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext, ForceAttemptHTTP2: true,
			IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
		}
	}
	return &client{
		target: strings.TrimRight(a.BaseURL, "/") + "/accounts/" + url.PathEscape(a.ID) + "/workers/observability/telemetry/query",
		token:  a.Token,
		hc: &http.Client{ // the token goes to nobody else
			Transport: a.HTTP, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// record is one event of Workers Logs.
type record struct {
	id     string // $metadata.id, or a hash when it has none that fits a header
	script string
	at     time.Time
	data   []byte // as it came, on one line
	cursor string // $metadata.id
}

// page is an answer.
type page struct {
	records []record
	total   int // that match the window, as far as the answer says
}

// last is the cursor of the next page.
func (p page) last() string {
	if len(p.records) == 0 {
		return ""
	}
	return p.records[len(p.records)-1].cursor
}

// query asks for one page of a window. The error is a *Failure.
func (c *client) query(ctx context.Context, from, to time.Time, offset string) (page, error) {
	body, err := json.Marshal(newQuery(from, to, offset))
	if err != nil {
		return page{}, &Failure{Reason: ReasonRefused, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.target, bytes.NewReader(body))
	if err != nil {
		return page{}, &Failure{Reason: ReasonRefused, Err: errors.New(c.clean(err.Error()))}
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "snapflame")
	res, err := c.hc.Do(req)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err // the URL says nothing that is not known
		}
		return page{}, &Failure{Reason: ReasonUnreachable, Err: errors.New(c.clean(err.Error()))}
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return page{}, &Failure{Reason: ReasonUnreachable, Status: res.StatusCode, Err: errors.New("the answer ended early: " + c.clean(err.Error()))}
	case len(data) > maxAnswer:
		return page{}, &Failure{Reason: ReasonServer, Status: res.StatusCode, Err: fmt.Errorf("the answer is over %d MiB", maxAnswer>>20)}
	}
	return c.read(res, data)
}

// answer is the envelope, as far as it is needed.
type answer struct {
	Success bool `json:"success"`
	Errors  []struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"errors"`
	Result struct {
		Run struct {
			Status string `json:"status"`
		} `json:"run"`
		Events struct {
			Count  float64           `json:"count"`
			Events []json.RawMessage `json:"events"`
		} `json:"events"`
	} `json:"result"`
}

func (c *client) read(res *http.Response, data []byte) (page, error) {
	var a answer
	err := json.Unmarshal(data, &a)
	if res.StatusCode/100 != 2 || err == nil && !a.Success {
		return page{}, c.refused(res, a)
	}
	if err != nil {
		return page{}, &Failure{Reason: ReasonServer, Status: res.StatusCode, Err: errors.New("the answer is not what the API gives: " + c.clean(err.Error()))}
	}
	// A query that still runs has given a part of its result, and the rest of
	// the window would count as read.
	if s := a.Result.Run.Status; s != "" && s != "COMPLETED" {
		return page{}, &Failure{Reason: ReasonServer, Status: res.StatusCode, Err: errors.New("the query did not end in time")}
	}
	p := page{total: int(a.Result.Events.Count)}
	for _, raw := range a.Result.Events.Events {
		p.records = append(p.records, newRecord(raw))
	}
	return p, nil
}

func newRecord(raw json.RawMessage) record {
	var e struct {
		Timestamp float64 `json:"timestamp"`
		Metadata  struct {
			ID      string `json:"id"`
			Service string `json:"service"`
		} `json:"$metadata"`
		Workers struct {
			Script string `json:"scriptName"`
		} `json:"$workers"`
	}
	// What is not as expected goes to the queue all the same, and from there to
	// the dead letters with its reason.
	_ = json.Unmarshal(raw, &e)
	r := record{id: e.Metadata.ID, cursor: e.Metadata.ID, script: e.Workers.Script, at: time.UnixMilli(int64(min(max(e.Timestamp, 0), 1<<52))).UTC(), data: raw}
	if r.script == "" {
		r.script = e.Metadata.Service
	}
	var line bytes.Buffer
	if bytes.IndexByte(raw, '\n') >= 0 && json.Compact(&line, raw) == nil {
		r.data = line.Bytes()
	}
	if !plain(r.id) {
		sum := sha256.Sum256(r.data)
		r.id = hex.EncodeToString(sum[:16])
	}
	return r
}

// plain says whether an id can be a message id, which travels in a header.
func plain(id string) bool {
	return id != "" && len(id) <= 128 && strings.IndexFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

func (c *client) refused(res *http.Response, a answer) *Failure {
	f := &Failure{Status: res.StatusCode, RetryAfter: retryAfter(res.Header)}
	text := "an answer that is not the API's"
	if len(a.Errors) > 0 {
		text = fmt.Sprintf("%q (code %d)", c.clean(a.Errors[0].Message), a.Errors[0].Code)
	}
	switch {
	case res.StatusCode == http.StatusTooManyRequests:
		f.Reason, f.Err = ReasonRateLimited, errors.New("too many calls of Cloudflare's API: "+text)
	case res.StatusCode == http.StatusUnauthorized, res.StatusCode == http.StatusForbidden:
		f.Reason, f.Err = ReasonForbidden, errors.New("the API token may not read Workers Logs; give it the permission Workers Observability Read: "+text)
	case res.StatusCode >= 500 || res.StatusCode/100 == 2 || res.StatusCode/100 == 3:
		f.Reason, f.Err = ReasonServer, fmt.Errorf("status %d: %s", res.StatusCode, text)
	default:
		f.Reason, f.Err = ReasonRefused, fmt.Errorf("status %d: %s", res.StatusCode, text)
	}
	return f
}

// retryAfter reads seconds or a date; 0 is unknown, more than an hour is not believed.
func retryAfter(h http.Header) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	var d time.Duration
	if n, err := strconv.Atoi(v); err == nil {
		d = time.Duration(min(max(n, 0), 3600)) * time.Second
	} else if at, err := http.ParseTime(v); err == nil {
		d = time.Until(at)
	}
	return min(max(d, 0), time.Hour)
}

// clean makes a foreign text fit for a log: one bounded line without the token.
func (c *client) clean(s string) string {
	s = strings.ReplaceAll(s, c.token, "[token]")
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + "…"
	}
	return s
}
