package cloudflare

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/snapflame/snapflame/capture"
)

// phrases are the documented error texts ("Profiling in production", Limits,
// 2026-10-08), lower case and shortened to what is unlikely to be reworded.
//
//nolint:gochecknoglobals // a table of constants
var phrases = []struct {
	text string
	kind capture.FailureKind
}{
	{"no recent executions", capture.FailNoExecutions},
	{"no loaded isolate", capture.FailNoIsolate},
	{"profiling is unavailable in this environment", capture.FailUnavailable},
	{"does not support runtime profiling", capture.FailUnsupported},
	{"could not start profiling", capture.FailCouldNotStart},
	{"requests per 300 seconds", capture.FailRateLimited},
}

// classify tells failures apart: by text, then by code, then by status.
func (c *Client) classify(a answer) *capture.Failure {
	f := &capture.Failure{Status: a.status, RetryAfter: c.retryAfter(a.header)}
	var env envelope
	isJSON := json.Unmarshal(a.body, &env) == nil
	if len(env.Errors) > 0 {
		f.Code, f.Message = env.Errors[0].Code, c.clean(env.Errors[0].Message)
	}
	for _, e := range env.Errors {
		low := strings.ToLower(e.Message)
		for _, p := range phrases {
			if strings.Contains(low, p.text) {
				f.Kind, f.Code, f.Message = p.kind, e.Code, c.clean(e.Message)
				if p.text == "requests per 300 seconds" && f.RetryAfter == 0 {
					f.RetryAfter = globalBlock
				}
				return f
			}
		}
	}
	if f.Message == "" && !isJSON {
		f.Message = describe(a.body)
	}
	f.Kind = byCode(f.Code, a.status)
	if f.Kind == "" {
		f.Kind = byStatus(a)
	}
	return f
}

// globalBlock is how long Cloudflare refuses everything once 1,200 requests
// were made in five minutes ("API rate limits").
const globalBlock = 5 * time.Minute

func byCode(code, status int) capture.FailureKind {
	switch code {
	case 10393: // seen in the wild for "No recent executions"
		return capture.FailNoExecutions
	case 9106, 9109, 6003, 6111, 1000: // authentication headers, "Invalid access token", "Invalid API Token"
		if status == http.StatusForbidden {
			return capture.FailForbidden
		}
		return capture.FailUnauthorized
	default:
		return ""
	}
}

func byStatus(a answer) capture.FailureKind {
	switch {
	case a.status == http.StatusTooManyRequests:
		return capture.FailRateLimited
	case a.status == http.StatusUnauthorized:
		return capture.FailUnauthorized
	case a.status == http.StatusForbidden:
		return capture.FailForbidden
	case a.status == http.StatusNotFound:
		return capture.FailNotFound
	case a.status == http.StatusRequestTimeout:
		return capture.FailTimeout
	case a.status >= 500:
		return capture.FailServer
	case a.status >= 400:
		return capture.FailBadRequest
	case a.status >= 300:
		return capture.FailNotProfile
	case len(a.body) == 0:
		return capture.FailEmpty
	default:
		return capture.FailNotProfile
	}
}

// describe names a body that is no JSON envelope, without quoting it: a proxy's
// page can hold anything.
func describe(body []byte) string {
	if len(body) == 0 {
		return "an empty answer"
	}
	if f := capture.Sniff(body[:min(len(body), 4096)]); f != nil && f.Message != "" {
		return f.Message
	}
	return "an answer that is not JSON"
}

// retryAfter reads seconds or a date, and Cloudflare's x-ratelimit-reset where
// Retry-After is absent. 0 is unknown; more than an hour is not believed.
func (c *Client) retryAfter(h http.Header) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		v = strings.TrimSpace(h.Get("X-Ratelimit-Reset"))
	}
	if v == "" {
		return 0
	}
	var d time.Duration
	if n, err := strconv.ParseFloat(v, 64); err == nil {
		if !(n > 0) { // also NaN
			return 0
		}
		d = time.Duration(min(n, 3600) * float64(time.Second))
	} else if t, err := http.ParseTime(v); err == nil {
		d = t.Sub(c.o.Now())
	}
	return min(max(d, 0), time.Hour)
}
