package capture

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
)

// BaselineRules says whose quiet times are captured.
type BaselineRules struct {
	Enabled bool
	Every   time.Duration // between two of one target, version and type; 0 is 6 h
	// Wanted says whether a target gets any. Durable Objects have none unless
	// somebody asks: the profiler takes the lock of an object that serves alone.
	Wanted   func(t Target) bool
	Types    []Type        // nil is CPU and heap
	Duration time.Duration // 0 is 10 s
}

// Seen is a target that has lately been at work.
type Seen struct {
	Target Target
	At     time.Time
	// Versions is what is deployed, version → since when; empty when unknown.
	Versions map[string]time.Time
}

// BaselineState is the world that BaselinePlan looks at.
type BaselineState struct {
	Seen []Seen
	// Trouble is when a Worker last had an incident, by script; a time in the
	// future stands for one that is open.
	Trouble map[string]time.Time
	// Waiting is how many captures of incidents or people are queued.
	Waiting int
	Past    []Record // captures of the last days
	Budget  Budget
	Limits  Limits
}

const (
	baselineEvery = 6 * time.Hour
	// baselineSettle is how long a new version must have run: its first minutes
	// are compilation and cold caches, not what it is like.
	baselineSettle = 3 * time.Minute
	// baselineQuiet is how long after an incident a Worker is not called quiet.
	baselineQuiet  = 15 * time.Minute
	baselineActive = 5 * time.Minute // a target at work this lately has an isolate
	baselineAgain  = time.Hour       // after a baseline that failed
)

// BaselineReason is why no baseline is taken now.
type BaselineReason string

// The reasons.
const (
	BaselineOff     BaselineReason = "off"
	BaselineBusy    BaselineReason = "captures_wait" // incidents and people go first
	BaselineBudget  BaselineReason = "budget"        // less than half of the hour is left
	BaselineBlocked BaselineReason = "blocked"       // rate limit, or Cloudflare does not answer
	BaselineNone    BaselineReason = "nothing_due"
)

// BaselinePlan gives the one baseline that is most worth taking now, or why
// there is none. It is pure, and two replicas that ask in the same hour get jobs
// of the same ID. Versions that have none yet go first, so that a deployment
// has one before (its predecessor's) and one after; then the oldest.
func BaselinePlan(s BaselineState, r BaselineRules, now time.Time) (Job, BaselineReason) {
	l := s.Limits.Filled()
	b := s.Budget.Prune(now, l)
	switch {
	case !r.Enabled || r.Wanted == nil:
		return Job{}, BaselineOff
	case s.Waiting > 0 || len(b.Running) > 0:
		return Job{}, BaselineBusy
	case b.BlockedUntil.After(now) || b.Strikes > 0:
		return Job{}, BaselineBlocked
	case 2*len(b.Starts) >= l.PerHour-1:
		return Job{}, BaselineBudget
	}
	if r.Every <= 0 {
		r.Every = baselineEvery
	}
	if len(r.Types) == 0 {
		r.Types = []Type{CPU, Heap}
	}
	if r.Duration <= 0 {
		r.Duration = defaultDuration
	}
	var best Job
	var bestLast time.Time
	found := false
	for _, seen := range s.Seen {
		if !r.Wanted(seen.Target) || now.Sub(seen.At) > baselineActive || s.Trouble[seen.Target.Script].Add(baselineQuiet).After(now) {
			continue
		}
		for _, version := range dueVersions(seen, now) {
			for _, typ := range r.Types {
				t := seen.Target
				t.VersionID = version
				last, due := lastBaseline(s.Past, t, typ, r.Every, now)
				if !due || found && !last.Before(bestLast) {
					continue
				}
				best, bestLast, found = baselineJob(t, typ, r.Duration, now), last, true
			}
		}
	}
	if !found {
		return Job{}, BaselineNone
	}
	if _, slot := b.Reserve(now, best, l, 0); !slot.Granted {
		return Job{}, BaselineBudget
	}
	return best, ""
}

// dueVersions are the versions that have settled, newest first; an unknown
// deployment is resolved when the capture is taken.
func dueVersions(s Seen, now time.Time) []string {
	if s.Target.VersionID != "" || len(s.Versions) == 0 {
		return []string{s.Target.VersionID}
	}
	var out []string
	for v, since := range s.Versions {
		if now.Sub(since) >= baselineSettle {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(s.Versions[b].Compare(s.Versions[a]), cmp.Compare(a, b))
	})
	return out
}

// lastBaseline is when the last one was taken, and whether another is due.
func lastBaseline(past []Record, t Target, typ Type, every time.Duration, now time.Time) (last time.Time, due bool) {
	due = true
	for _, p := range past {
		if p.Cause != CauseBaseline || p.Type != typ || p.Target.Key() != t.Key() {
			continue
		}
		if t.VersionID != "" && p.Resolved.VersionID != t.VersionID && p.Target.VersionID != t.VersionID {
			continue
		}
		age := now.Sub(p.ended())
		switch {
		case p.State == Failed:
			due = due && age >= baselineAgain
		case !p.Final() || age < every:
			due = false
		}
		if p.State == Stored && p.ended().After(last) {
			last = p.ended()
		}
	}
	return last, due
}

func baselineJob(t Target, typ Type, d time.Duration, now time.Time) Job {
	h := sha256.Sum256([]byte(t.Key() + "\x00" + t.VersionID + "\x00" + string(typ) + "\x00" + now.UTC().Truncate(time.Hour).Format(time.RFC3339)))
	return Job{
		ID: "base-" + hex.EncodeToString(h[:8]), Target: t, Type: typ, Duration: d, Cause: CauseBaseline,
		Priority: PriorityOf(CauseBaseline, NoTrouble), QueuedAt: now, Note: "baseline of a quiet time",
	}
}
