package capture

import (
	"fmt"
	"time"
)

// FailureKind is why a capture failed. It is the log field and metric label.
type FailureKind string

// The failures: the documented answers of the API (Cloudflare, "Profiling in
// production", Limits), and what a proxy or a network can do to them.
const (
	FailRateLimited   FailureKind = "rate_limited"
	FailNoExecutions  FailureKind = "no_recent_executions"
	FailNoIsolate     FailureKind = "no_loaded_isolate"
	FailUnavailable   FailureKind = "profiling_unavailable"
	FailUnsupported   FailureKind = "profiling_unsupported"
	FailCouldNotStart FailureKind = "could_not_start"
	FailUnauthorized  FailureKind = "unauthorized" // 401, or a bad token
	FailForbidden     FailureKind = "forbidden"    // 403: permission, or the account lacks the feature
	FailNotFound      FailureKind = "not_found"    // 404: worker, version, namespace or actor
	FailBadRequest    FailureKind = "bad_request"  // 400
	FailServer        FailureKind = "server_error" // 5xx
	FailUnreachable   FailureKind = "unreachable"  // DNS, connect, TLS, reset before any answer
	FailTimeout       FailureKind = "timeout"      // no answer in duration + 40 s
	FailEmpty         FailureKind = "empty_body"
	FailNotProfile    FailureKind = "not_a_profile" // HTML, JSON with 200, text
	FailTruncated     FailureKind = "truncated"
	FailTooLarge      FailureKind = "too_large"
	FailNoNamespace   FailureKind = "no_namespace"  // no known namespace has the object
	FailNoDeployment  FailureKind = "no_deployment" // the Worker has no deployed version
	FailLostAnswer    FailureKind = "lost_answer"   // asked twice, the process died both times
	FailBudget        FailureKind = "budget"        // waited too long for the budget
	FailUnknown       FailureKind = "unknown"
)

// Failure is a capture that gave no profile. Message is Cloudflare's own text,
// bounded and never holding a token.
//
//nolint:errname // the noun of the package: a Record holds a Failure
type Failure struct {
	Kind       FailureKind   `json:"kind"`
	Status     int           `json:"status,omitempty"` // HTTP status; 0 when none
	Code       int           `json:"code,omitempty"`   // Cloudflare error code; 0 when none
	Message    string        `json:"message,omitempty"`
	RetryAfter time.Duration `json:"retry_after,omitempty"` // as the server asked; 0 when it did not
	// Unsent: the request never left (DNS, connect, TLS, or it was not made).
	Unsent bool `json:"unsent,omitempty"`
	// Local: it came from a local inspector, and Message says all there is to say.
	Local bool `json:"local,omitempty"`
}

func (f *Failure) Error() string {
	if f.Message == "" {
		return fmt.Sprintf("capture: %s", f.Kind)
	}
	return fmt.Sprintf("capture: %s: %s", f.Kind, f.Message)
}

// MayHaveRun reports whether an isolate may have been profiled although no
// profile came back. The spacing then holds, and the next try must wait for it.
func (f *Failure) MayHaveRun() bool {
	if f.Unsent {
		return false
	}
	switch f.Kind {
	case FailServer:
		return f.Code == 0 // a proxy's page; an error of the API itself names a code
	case FailUnreachable, FailTimeout, FailEmpty,
		FailNotProfile, FailTruncated, FailTooLarge, FailLostAnswer:
		return true
	case FailUnknown:
		return f.Status < 400 || f.Status >= 500
	default:
		return false
	}
}

// Outage reports whether the failure says something of Cloudflare or the way
// to it, not of this target: then no other capture would fare better now.
func (f *Failure) Outage() bool {
	switch f.Kind {
	case FailUnreachable:
		return true
	case FailServer:
		return f.Code == 0
	default:
		return false
	}
}
