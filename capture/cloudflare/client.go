package cloudflare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/singleflight"

	"github.com/snapflame/snapflame/capture"
)

// DefaultBaseURL is Cloudflare's public API. FedRAMP accounts use api.fed.cloudflare.com.
const DefaultBaseURL = "https://api.cloudflare.com/client/v4"

// Options of a Client. AccountID and Token are required.
type Options struct {
	AccountID string
	Token     string
	BaseURL   string // DefaultBaseURL when empty
	// HTTP is how requests travel; nil is a transport of its own with the
	// proxy of the environment.
	HTTP http.RoundTripper
	// Now is the clock of caches and Retry-After dates; nil is time.Now.
	Now func() time.Time
	// Refresh is how long lists of Workers and namespaces are believed; 0 is
	// 5 minutes. Deployments decide for deploymentsFresh only.
	Refresh time.Duration
	// Margin is how much longer than its duration a capture may take; 0 is 40 s.
	Margin    time.Duration
	UserAgent string
}

const (
	defaultRefresh = 5 * time.Minute
	defaultMargin  = 40 * time.Second
	// deploymentsFresh is how old deployments may be that decide which version
	// is captured: incidents like to begin right after a deployment.
	deploymentsFresh = 30 * time.Second
	tryTimeout       = 10 * time.Second // of one GET
	maxErrorBody     = 1 << 20
	maxListBody      = 32 << 20
	maxMessage       = 300 // bytes of a foreign text that are kept
)

// Client is one account. It implements capture.API and capture.Resolver and is
// safe for concurrent use.
type Client struct {
	o     Options
	base  string // with /accounts/<id>
	root  string // without
	hc    *http.Client
	cache cache
	once  singleflight.Group
}

var (
	_ capture.API      = (*Client)(nil)
	_ capture.Resolver = (*Client)(nil)
)

// New makes a client. It makes no call.
func New(o Options) (*Client, error) {
	if o.AccountID == "" {
		return nil, errors.New("CLOUDFLARE_ACCOUNT_ID is empty: set it to the account's id (dashboard, Workers, right-hand side)")
	}
	if o.Token == "" {
		return nil, errors.New("CLOUDFLARE_API_TOKEN is empty: create a token with the permission Workers Scripts Read")
	}
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("CLOUDFLARE_API_BASE_URL is no http(s) URL: use " + DefaultBaseURL)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Refresh <= 0 {
		o.Refresh = defaultRefresh
	}
	if o.Margin <= 0 {
		o.Margin = defaultMargin
	}
	if o.UserAgent == "" {
		o.UserAgent = "snapflame"
	}
	if o.HTTP == nil {
		o.HTTP = &http.Transport{
			Proxy:       http.ProxyFromEnvironment,
			DialContext: (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext, ForceAttemptHTTP2: true,
			MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
		}
	}
	root := strings.TrimRight(o.BaseURL, "/")
	return &Client{
		o: o, root: root, base: root + "/accounts/" + url.PathEscape(o.AccountID),
		hc: &http.Client{
			Transport:     o.HTTP,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// answer is a whole response, bounded.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do makes one request. An error is a *capture.Failure without a status: no
// whole answer came.
func (c *Client) do(ctx context.Context, method, target string, body io.Reader, limit int64) (answer, error) {
	var asked, got atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { got.Store(true) },
	})
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return answer{}, &capture.Failure{Kind: capture.FailBadRequest, Message: c.clean(err.Error()), Unsent: true}
	}
	req.Header.Set("Authorization", "Bearer "+c.o.Token)
	req.Header.Set("User-Agent", c.o.UserAgent)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.hc.Do(req)
	if err != nil {
		return answer{}, c.transportFailure(err, asked.Load() && !got.Load())
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	a.body, err = io.ReadAll(io.LimitReader(res.Body, limit+1))
	switch {
	case err != nil && errors.Is(err, context.DeadlineExceeded):
		return a, &capture.Failure{Kind: capture.FailTimeout, Status: a.status, Message: "the answer began and did not end"}
	case err != nil:
		return a, &capture.Failure{Kind: capture.FailTruncated, Status: a.status, Message: c.clean(err.Error())}
	case int64(len(a.body)) > limit:
		return a, &capture.Failure{Kind: capture.FailTooLarge, Status: a.status, Message: fmt.Sprintf("more than %d bytes", limit)}
	}
	return a, nil
}

// transportFailure is about a request without an answer. The URL is left out:
// it says nothing that the caller does not know.
func (c *Client) transportFailure(err error, unsent bool) *capture.Failure {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	f := &capture.Failure{Kind: capture.FailUnreachable, Message: c.clean(err.Error()), Unsent: unsent}
	var ne net.Error
	if errors.Is(err, context.DeadlineExceeded) || !unsent && errors.As(err, &ne) && ne.Timeout() {
		f.Kind = capture.FailTimeout
		if unsent {
			f.Kind, f.Message = capture.FailUnreachable, "no connection in time"
		}
	}
	return f
}

// info is result_info of a list: pages or a cursor.
type info struct {
	Page       int    `json:"page"`
	TotalPages int    `json:"total_pages"`
	Cursor     string `json:"cursor"`
	Cursors    struct {
		After string `json:"after"`
	} `json:"cursors"`
}

type envelope struct {
	Success bool            `json:"success"`
	Errors  []apiError      `json:"errors"`
	Result  json.RawMessage `json:"result"`
	Info    info            `json:"result_info"`
}

type apiError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// get reads one documented endpoint into out. Unlike a capture it has no effect,
// so it is tried up to tries times on what may pass: 5xx, no answer, a short 429.
func (c *Client) get(ctx context.Context, target string, tries uint, out any) (info, error) {
	eb := backoff.NewExponentialBackOff()
	eb.InitialInterval, eb.MaxInterval = 200*time.Millisecond, 3*time.Second
	env, err := backoff.Retry(ctx, func() (envelope, error) {
		env, f := c.getOnce(ctx, target)
		switch {
		case f == nil:
			return env, nil
		case f.Kind == capture.FailRateLimited && f.RetryAfter > 0 && f.RetryAfter <= 5*time.Second:
			return env, &laterError{failure: f, after: backoff.RetryAfter(int((f.RetryAfter + time.Second - 1) / time.Second))}
		case passing(f.Kind):
			return env, f
		}
		return env, backoff.Permanent(f)
	}, backoff.WithBackOff(eb), backoff.WithMaxTries(tries))
	if err != nil {
		if f, ok := errors.AsType[*capture.Failure](err); ok {
			f.Unsent = true // no capture was asked for
			return info{}, f
		}
		return info{}, &capture.Failure{Kind: capture.FailTimeout, Message: c.clean(err.Error()), Unsent: true}
	}
	if err := json.Unmarshal(env.Result, out); err != nil {
		return info{}, &capture.Failure{Kind: capture.FailServer, Message: "an answer of an unexpected form: " + c.clean(err.Error()), Unsent: true}
	}
	return env.Info, nil
}

func (c *Client) getOnce(ctx context.Context, target string) (envelope, *capture.Failure) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	a, err := c.do(ctx, http.MethodGet, target, nil, maxListBody)
	if err != nil {
		return envelope{}, asFailure(err)
	}
	var env envelope
	err = json.Unmarshal(a.body, &env)
	if a.status/100 != 2 || err != nil || !env.Success {
		return envelope{}, c.classify(a)
	}
	return env, nil
}

func passing(k capture.FailureKind) bool {
	switch k {
	case capture.FailServer, capture.FailUnreachable, capture.FailTimeout, capture.FailTruncated, capture.FailEmpty, capture.FailNotProfile:
		return true
	default:
		return false
	}
}

// laterError carries both what went wrong and when to come back.
type laterError struct {
	failure *capture.Failure
	after   error
}

func (e *laterError) Error() string   { return e.failure.Error() }
func (e *laterError) Unwrap() []error { return []error{e.failure, e.after} }

func asFailure(err error) *capture.Failure {
	if f, ok := errors.AsType[*capture.Failure](err); ok {
		return f
	}
	return &capture.Failure{Kind: capture.FailUnknown, Message: err.Error()}
}

// clean bounds a foreign text, keeps it on one line and takes the token out.
func (c *Client) clean(s string) string {
	s = strings.ReplaceAll(s, c.o.Token, "[token]")
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + "…"
	}
	return s
}
