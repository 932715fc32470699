package capture

import (
	"fmt"
	"time"
)

// Explain says for a responder what went wrong and what to do. Whether the
// capture is tried again stands in the record, not here: see Record.Explain.
func (f *Failure) Explain() string {
	if f.Local && f.Message != "" {
		return f.Message
	}
	switch f.Kind {
	case FailRateLimited:
		return "Cloudflare limits how often captures may be started (429). Other tools and the dashboard share the limit."
	case FailNoExecutions:
		return "Nothing has run lately on this version of the target, so there is no isolate to profile. Send it traffic, or capture the version that has some."
	case FailNoIsolate:
		return "The target has no loaded isolate at the moment. It comes back with the next request; send it traffic."
	case FailUnavailable:
		return "Cloudflare does not offer profiling in this environment. Look at logs and traces instead."
	case FailUnsupported:
		return "This Worker cannot be profiled at run time. Try it locally: snapflame capture --inspector."
	case FailCouldNotStart:
		return "The Workers runtime could not start its profiler."
	case FailUnauthorized:
		return "Cloudflare refuses the API token. Check that CLOUDFLARE_API_TOKEN is set, current and not revoked; snapflame doctor tells."
	case FailForbidden:
		return "The API token may not profile. It needs the permission Workers Scripts Read (or the role Content Read-Only), and the account needs the profiling feature."
	case FailNotFound:
		return "Cloudflare does not know this Worker, version or Durable Object namespace" + f.ours() + ". It may have been renamed or deleted since."
	case FailBadRequest:
		return "The request cannot be made as it stands" + f.quoted() + ". Check the version and the duration (1 s to 50 s)."
	case FailServer:
		return "Cloudflare's API answered with an error of its own. See cloudflarestatus.com."
	case FailUnreachable:
		return "Cloudflare's API cannot be reached from here. Check network, DNS and proxy of the host that runs snapflame."
	case FailTimeout:
		return "No answer came within the capture's duration and 40 s. The capture may have run; its profile is lost."
	default:
		return f.explainBytes()
	}
}

// explainBytes covers answers that were no profile, and reasons of our own.
func (f *Failure) explainBytes() string {
	switch f.Kind {
	case FailEmpty:
		return "Cloudflare answered with 0 bytes in place of a profile. Nothing was stored."
	case FailNotProfile:
		return "The answer was not a profile (" + orElse(f.Message, "unknown content") + "). A proxy in between may have replaced it. Nothing was stored."
	case FailTruncated:
		return "The profile arrived cut off. Nothing was stored."
	case FailTooLarge:
		return "The answer is larger than a profile can be and was not read. Ask for a shorter capture."
	case FailNoNamespace:
		return "No Durable Object namespace of this account has an object with this id" + f.ours() + ". It may belong to another account, or be deleted."
	case FailNoDeployment:
		return "The Worker has no deployed version, so nothing runs that could be profiled."
	case FailLostAnswer:
		return "snapflame was stopped twice while it waited for this profile, so the answer is lost. It is not asked for a third time; capture again by hand."
	case FailBudget:
		return "The capture waited too long for its turn (" + WaitCause(f.Message).Words() + ") and was given up. See /profile status for what holds the queue, and capture again by hand."
	default:
		return "The capture failed for a reason that snapflame does not know (" + orElse(f.Message, "no text") + ")."
	}
}

// ours is what snapflame itself has found out, in brackets.
func (f *Failure) ours() string {
	if f.Unsent && f.Message != "" {
		return " (" + f.Message + ")"
	}
	return ""
}

func (f *Failure) quoted() string {
	if f.Message == "" {
		return ""
	}
	return " (" + f.Message + ")"
}

// Explain is the one sentence or three about a capture that waits or failed:
// the cause, whether and when it is tried again, what to do. It is empty for a
// capture that needs no words.
func (r Record) Explain(now time.Time) string {
	switch {
	case r.State == Failed && r.Failure != nil:
		return r.Failure.Explain() + r.tries()
	case r.State == Waiting:
		s := "Next capture " + at(r.NextAt, now) + ": " + r.WaitFor.Words() + "."
		if r.Failure != nil {
			s = r.Failure.Explain() + " " + s
		}
		return s
	default:
		return ""
	}
}

// tries says how often a failed capture was asked for, where that is news.
func (r Record) tries() string {
	switch {
	case r.Failure.Kind == FailLostAnswer, r.Failure.Kind == FailBudget, r.Attempts == 0:
		return ""
	case r.Attempts == 1:
		return " It is not tried again."
	}
	return fmt.Sprintf(" It was asked for %d times and is not tried again.", r.Attempts)
}

func at(t, now time.Time) string {
	if t.IsZero() || !t.After(now) {
		return "now"
	}
	s := "at " + t.UTC().Format("15:04:05")
	if t.Sub(now) > 20*time.Hour {
		s = "at " + t.UTC().Format("2006-01-02 15:04:05")
	}
	return s + " UTC"
}

// Words is the cause as it stands in a thread.
func (w WaitCause) Words() string {
	switch w {
	case WaitSpacing:
		return "this target was captured a moment ago"
	case WaitConcurrency:
		return "other captures are running"
	case WaitBudget:
		return "the hourly budget is used up"
	case WaitRateLimit:
		return "rate limit"
	case WaitIsolate:
		return "waiting for the isolate to be loaded again"
	case WaitUnreachable:
		return "Cloudflare does not answer"
	case WaitLostAnswer:
		return "the answer was lost, it is asked for once more"
	case WaitPaused:
		return "captures are paused or switched off, the status says which"
	case WaitNotBefore:
		return "as planned"
	case WaitRetry:
		return "the answer was no profile, trying once more"
	case WaitStorage:
		return "snapflame's own store does not answer"
	default:
		return string(w)
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
