package capture

import "time"

// Cause is who wants a capture; with Severity it orders the queue.
type Cause string

// The causes.
const (
	CauseIncident Cause = "incident"
	CauseCommand  Cause = "command"
	CauseFollowUp Cause = "follow_up"
	CauseBaseline Cause = "baseline"
)

// Job is one capture to do. It is immutable once queued; what becomes of it
// stands in the Record of the same ID.
type Job struct {
	ID         string        `json:"id"`
	IncidentID string        `json:"incident_id,omitempty"`
	Target     Target        `json:"target"`
	Type       Type          `json:"type"`
	Duration   time.Duration `json:"duration"`
	Cause      Cause         `json:"cause"`
	// Priority orders the queue: 0 is first. See PriorityOf.
	Priority  int       `json:"priority"`
	QueuedAt  time.Time `json:"queued_at"`
	NotBefore time.Time `json:"not_before,omitzero"`
	// FailureAt is when the event happened, and Trouble what it was: an isolate
	// that exceeded its memory is gone, and what is captured is its replacement.
	FailureAt time.Time `json:"failure_at,omitzero"`
	Trouble   Trouble   `json:"trouble,omitempty"`
	// RequestedBy is a Slack user id, or "api:<name>"; empty for automatic captures.
	RequestedBy string `json:"requested_by,omitempty"`
	// OnlyVersion captures no other version than the target's: somebody named it,
	// and would take the profile of another for it.
	OnlyVersion bool `json:"only_version,omitempty"`
	// Note is why this capture follows another ("91 % garbage collector: heap next").
	Note string `json:"note,omitempty"`
}

// State is how far a capture has come.
type State string

// The states. Stored and Failed are final.
const (
	Queued  State = "queued"
	Waiting State = "waiting" // for its turn, or for a retry
	Started State = "started" // the API has been asked
	Stored  State = "stored"
	Failed  State = "failed"
)

// Record is what is known of one capture. It is written before and after every
// step that has an effect outside, so that a process that dies leaves word.
type Record struct {
	Job
	State State `json:"state"`
	// Resolved is the target as it was asked for: owner, namespace, version.
	Resolved      Target `json:"resolved,omitzero"`
	VersionSource string `json:"version_source,omitempty"` // event, deployment, requested
	// Split is the traffic split of a gradual deployment, version → percent.
	Split map[string]float64 `json:"split,omitempty"`
	Notes []string           `json:"notes,omitempty"` // what a reader must know: replacement isolate, asked again…

	NextAt     time.Time `json:"next_at,omitzero"`   // of a waiting capture
	WaitFor    WaitCause `json:"wait_for,omitempty"` // why it waits
	Attempts   int       `json:"attempts"`           // calls of the API so far
	AskedAgain bool      `json:"asked_again,omitempty"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	EndedAt    time.Time `json:"ended_at,omitzero"`
	// FirstTryAt is the first call of the API: short retries are bounded from it.
	FirstTryAt time.Time `json:"first_try_at,omitzero"`
	Tried      int       `json:"tried,omitempty"`  // which of the resolved candidates is next
	Unsure     int       `json:"unsure,omitempty"` // attempts that may have profiled and gave nothing
	// Failure is the last one: final in state failed, else what is being retried.
	Failure *Failure `json:"failure,omitempty"`
	Bytes   int64    `json:"bytes,omitempty"`
	SHA256  string   `json:"sha256,omitempty"`
}

// Final reports whether nothing more will happen to the capture.
func (r Record) Final() bool { return r.State == Stored || r.State == Failed }

// WaitCause is why a capture waits; it is the log field, the metric label and
// the words in the thread ("next capture at 03:14:20: rate limit").
type WaitCause string

// The causes of waiting.
const (
	WaitSpacing     WaitCause = "spacing"     // the target was captured less than capture.spacing ago
	WaitConcurrency WaitCause = "concurrency" // capture.concurrency captures run
	WaitBudget      WaitCause = "budget"      // capture.per_hour is used up
	WaitRateLimit   WaitCause = "rate_limit"  // Cloudflare said 429
	WaitIsolate     WaitCause = "isolate"     // no isolate is loaded yet
	WaitUnreachable WaitCause = "unreachable" // Cloudflare does not answer
	WaitLostAnswer  WaitCause = "lost_answer" // the answer died with the process
	WaitPaused      WaitCause = "paused"      // capture.enabled is false, or /profile pause
	WaitNotBefore   WaitCause = "planned"     // a follow-up at its planned time
	WaitRetry       WaitCause = "retry"       // the answer was no profile
	WaitStorage     WaitCause = "storage"     // our own store does not answer
)
