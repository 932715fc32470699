package capture

import "time"

const (
	// isolateWindow bounds the retries for an isolate that is not there: after
	// a minute it is not the one that failed any more, nor its replacement.
	isolateWindow = 60 * time.Second
	firstRetry    = 3 * time.Second // the contract wants the first within 5 s
	longestRetry  = 15 * time.Second
	longestLookup = 2 * time.Minute
	// rateLimitWait is the wait after a 429 that does not say how long.
	rateLimitWait = 60 * time.Second
	maxUnsure     = 2 // answers that were no profile, of one capture
	maxServer     = 3 // errors of the API itself
	maxCandidates = 6
)

// Retry is what follows a failed attempt that is not the last.
type Retry struct {
	At     time.Time
	Cause  WaitCause
	Next   bool // ask for the next candidate
	Forget bool // what is known of the target was wrong
}

// Retry says whether and when the capture is asked for again after f. The
// record is as it was written before the attempt; candidates is how many
// targets it could be.
func (r Record) Retry(f *Failure, now time.Time, l Limits, candidates int) (Retry, bool) {
	l = l.Filled()
	spaced := now
	if f.MayHaveRun() {
		spaced = now.Add(l.Spacing)
	}
	switch f.Kind {
	case FailRateLimited:
		wait := f.RetryAfter
		if wait <= 0 {
			wait = rateLimitWait
		}
		return Retry{At: now.Add(wait), Cause: WaitRateLimit}, true
	case FailNoExecutions, FailNoIsolate, FailCouldNotStart:
		wait := min(firstRetry+max(0, now.Sub(r.FirstTryAt)), longestRetry)
		if now.Add(wait).Sub(r.FirstTryAt) > isolateWindow {
			return Retry{}, false
		}
		none := f.Kind == FailNoExecutions
		return Retry{At: now.Add(wait), Cause: WaitIsolate, Next: none, Forget: none && r.Attempts <= 1}, true
	case FailNotFound:
		if f.Unsent || r.Attempts >= max(2, min(candidates, maxCandidates)) {
			return Retry{}, false
		}
		return Retry{At: now.Add(time.Second), Cause: WaitRetry, Next: true, Forget: r.Attempts <= 1}, true
	case FailUnreachable, FailServer:
		if f.Outage() {
			if r.unsure(f, now) && r.Unsure >= maxUnsure {
				return Retry{}, false
			}
			return Retry{At: later(spaced, now.Add(5*time.Second)), Cause: WaitUnreachable}, true
		}
		wait := longestRetry
		if f.Unsent { // of a lookup, which is tried for hours: less and less often
			wait = longestLookup
			if waited := now.Sub(r.QueuedAt); waited >= 0 { // else the clock was set back, and says nothing
				wait = min(max(waited/4, longestRetry), longestLookup)
			}
		}
		return Retry{At: now.Add(wait), Cause: WaitUnreachable}, r.Attempts < maxServer
	case FailTimeout, FailEmpty, FailNotProfile, FailTruncated, FailUnknown:
		if f.Unsent { // of a lookup
			return Retry{At: now.Add(longestRetry), Cause: WaitUnreachable}, true
		}
		return Retry{At: spaced, Cause: WaitRetry}, r.Unsure+1 < maxUnsure
	default:
		return Retry{}, false
	}
}

// unsure reports whether the attempt may have profiled the target for nothing.
// A proxy's error page that came at once has not: nothing ran for that long.
func (r Record) unsure(f *Failure, now time.Time) bool {
	return f.MayHaveRun() && (!f.Outage() || now.Sub(r.StartedAt) >= r.Duration/2)
}
