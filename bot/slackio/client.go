package slackio

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"
)

// APIBase reads a SLACK_API_URL: the base of the Web API, with or without
// "api/" and the last slash. Empty means Slack's own.
func APIBase(raw string) (string, error) {
	if raw == "" {
		return slack.APIURL, nil
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "":
		return "", errors.New("SLACK_API_URL must be an http(s) address such as https://slack.com/api/")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("SLACK_API_URL must have no user, query or fragment; the token goes in SLACK_BOT_TOKEN")
	}
	p := path.Clean("/" + u.Path)
	if path.Base(p) != "api" {
		p = path.Join(p, "api")
	}
	u.Path = p + "/"
	return u.String(), nil
}

// ClientOptions tune a Client. The zero value speaks to Slack.
type ClientOptions struct {
	APIURL   string // as APIBase gives it
	AppToken string // xapp-…, for Socket Mode
	// HTTP makes the calls; nil means a client of our own. Its Timeout bounds
	// every call but the transfer of a picture.
	HTTP *http.Client
	// OnCall hears of each call: the method, the HTTP status (0 without an
	// answer) and how long it took.
	OnCall func(method string, status int, took time.Duration)
	Now    func() time.Time
}

// Client is one app's way to Slack. It never retries: whether a message may be
// sent again is for the Sender to know.
type Client struct {
	api  *slack.Client
	http *http.Client
	now  func() time.Time

	groups groups
}

const callTimeout = 15 * time.Second

// NewClient makes a client for a bot token.
func NewClient(botToken string, o ClientOptions) *Client {
	c := &Client{now: o.Now}
	if c.now == nil {
		c.now = time.Now
	}
	base := http.Client{Timeout: callTimeout}
	if o.HTTP != nil {
		base = *o.HTTP
	}
	if base.Transport == nil {
		base.Transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
		}
	}
	base.Transport = &meter{next: base.Transport, onCall: o.OnCall, now: c.now}
	c.http = &base
	if o.APIURL == "" {
		o.APIURL = slack.APIURL
	}
	c.api = slack.New(botToken, slack.OptionAPIURL(o.APIURL), slack.OptionAppLevelToken(o.AppToken), slack.OptionHTTPClient(c.http))
	return c
}

// Permalink is the address of a message in a workspace (its auth.test url),
// made without a call: https://<team>.slack.com/archives/<channel>/p<ts>.
func Permalink(workspace, channel, ts string) string {
	if workspace == "" || channel == "" || ts == "" {
		return ""
	}
	return strings.TrimSuffix(workspace, "/") + "/archives/" + url.PathEscape(channel) + "/p" + strings.ReplaceAll(ts, ".", "")
}

// meter watches the calls, and makes a Retry-After that slack-go can read of
// those it cannot: none, and a date.
type meter struct {
	next   http.RoundTripper
	onCall func(string, int, time.Duration)
	now    func() time.Time
}

func (m *meter) RoundTrip(r *http.Request) (*http.Response, error) {
	start := m.now()
	res, err := m.next.RoundTrip(r)
	status := 0
	if err == nil {
		status = res.StatusCode
	}
	if m.onCall != nil {
		m.onCall(methodOf(r.URL), status, m.now().Sub(start))
	}
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", methodOf(r.URL), err)
	}
	if status == http.StatusTooManyRequests {
		wait := retryAfter(res.Header.Get("Retry-After"), m.now())
		res.Header.Set("Retry-After", strconv.Itoa(int(wait/time.Second)))
	}
	return res, nil
}

// retryAfter reads seconds or a date and keeps the wait between 1 s and 1 h.
func retryAfter(v string, now time.Time) time.Duration {
	wait := time.Second
	if n, err := strconv.Atoi(strings.TrimSpace(v)); err == nil {
		wait = time.Duration(min(n, 3600)) * time.Second
	} else if at, err := http.ParseTime(v); err == nil {
		wait = at.Sub(now).Round(time.Second)
	}
	return min(max(wait, time.Second), time.Hour)
}

// methodOf names a call without what is secret in its address.
func methodOf(u *url.URL) string {
	_, m, ok := strings.Cut(u.Path, "/api/")
	switch {
	case ok:
		return m
	case strings.Contains(u.Path, "/upload/"):
		return "upload"
	}
	return "response_url"
}
