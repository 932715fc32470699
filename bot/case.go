package bot

import (
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

// CaseState is whether an incident still takes events.
type CaseState string

// The states.
const (
	Open   CaseState = "open"
	Closed CaseState = "closed"
)

// Case is one incident: the events of one class on one target, from the first
// until a quiet period, with everything that was done about it. It is stored as
// one value under its Key while open, so that creating it is one
// compare-and-set and nothing can be half true. Effects that are decided but
// not yet handed over stand in Pending: whoever finds them after a crash does
// them, and each is idempotent.
type Case struct { //nolint:recvcheck // what others call is pure; what builds the next case changes its own copy
	ID       string        `json:"id"`
	Key      string        `json:"key"` // triggers.Decision.IncidentKey
	State    CaseState     `json:"state"`
	OpenedAt time.Time     `json:"opened_at"`
	LastAt   time.Time     `json:"last_at"` // the newest event
	ClosedAt time.Time     `json:"closed_at,omitzero"`
	Quiet    time.Duration `json:"quiet"`

	Class       triggers.Class       `json:"class"`
	Subclass    triggers.Subclass    `json:"subclass,omitempty"`
	Target      triggers.Target      `json:"target"`
	Attribution triggers.Attribution `json:"attribution"`
	Confidence  string               `json:"confidence,omitempty"`
	Probability float64              `json:"probability,omitempty"`
	Candidates  []triggers.Target    `json:"candidates,omitempty"`
	Script      string               `json:"script"` // who reported it first
	Environment string               `json:"environment,omitempty"`
	Quote       string               `json:"quote,omitempty"`
	Rule        string               `json:"rule"`
	Action      triggers.Action      `json:"action"` // what the first event led to
	Reason      triggers.Reason      `json:"reason"`
	Sentence    string               `json:"sentence"`
	Profile     capture.Type         `json:"profile,omitempty"`
	Duration    time.Duration        `json:"duration,omitempty"`
	Repeat      int                  `json:"repeat,omitempty"`
	Channel     string               `json:"channel"`
	Mention     string               `json:"mention,omitempty"`
	RequestedBy string               `json:"requested_by,omitempty"` // of a case opened by a command
	// RequestedName is what that person is called, when Slack said so.
	RequestedName string `json:"requested_name,omitempty"`
	Previous      string `json:"previous,omitempty"` // the incident before this one on the same target

	Count     int64            `json:"count"`
	Counted   triggers.Counted `json:"counted,omitzero"` // the messages that Count is the sum of
	PerMinute map[int64]int64  `json:"per_minute,omitempty"`
	// Slots are the newest events per ten seconds and version, for correlation
	// with captures: unix time / 10 → version id → events.
	Slots      map[int64]map[string]int64  `json:"slots,omitempty"`
	Versions   map[string]int64            `json:"versions,omitempty"`
	Routes     map[string]int64            `json:"routes,omitempty"`
	Colos      map[string]int64            `json:"colos,omitempty"`
	Scripts    map[string]int64            `json:"scripts,omitempty"`
	Subclasses map[triggers.Subclass]int64 `json:"subclasses,omitempty"`
	Sizes      []int64                     `json:"sizes,omitempty"`
	MaxSize    int64                       `json:"max_size,omitempty"`

	Captures []CaptureView `json:"captures,omitempty"`
	Log      []Entry       `json:"log,omitempty"` // decisions, newest last, bounded
	Pending  []Effect      `json:"pending,omitempty"`
	RootAt   time.Time     `json:"root_at,omitzero"`   // last root revision handed to the outbox
	RootDue  bool          `json:"root_due,omitempty"` // the root is behind the case
	RootNext time.Time     `json:"root_next,omitzero"` // when a due root may be handed over

	// EvidenceAt is when the evidence is owed at the latest; zero: it has been.
	EvidenceAt time.Time `json:"evidence_at,omitzero"`

	// ActiveAt is when, by our own clock, an event was last counted, a person
	// acted or a capture ended. The quiet period runs from here: the times in
	// events are their senders' and may lie years ahead.
	ActiveAt time.Time `json:"active_at,omitzero"`
	// ThreadTS is a thread that is not ours (a mention in it opened the case):
	// everything is said there, and its first message is never touched.
	ThreadTS string `json:"thread_ts,omitempty"`
	Taken    int    `json:"taken,omitempty"` // captures decided so far; numbers the next
	// Seq numbers effects. Latest holds, for each post key, the newest number:
	// who hands over an older one afterwards has overwritten newer words with
	// older ones, and the post is owed again.
	Seq    int64            `json:"seq,omitempty"`
	Latest map[string]int64 `json:"latest,omitempty"`
	// Picked is the candidate a person chose when no evidence named the object.
	Picked *triggers.Target `json:"picked,omitempty"`
	// Sample is the first event's own detail, for the evidence.
	Sample Sample `json:"sample,omitzero"`
}

// Sample is what the evidence says of the event that opened the case.
type Sample struct {
	Shape   triggers.Shape `json:"shape,omitempty"`
	Outcome string         `json:"outcome,omitempty"`
	Trigger string         `json:"trigger,omitempty"`
	Route   string         `json:"route,omitempty"`
	Colo    string         `json:"colo,omitempty"`
	RayID   string         `json:"ray_id,omitempty"`
	Version string         `json:"version,omitempty"`
	Time    time.Time      `json:"time,omitzero"`
	CPU     time.Duration  `json:"cpu,omitempty"` // nanoseconds; 0: not said
	Wall    time.Duration  `json:"wall,omitempty"`
}

// CaptureView is what a case keeps of one of its captures.
type CaptureView struct {
	Record  capture.Record `json:"record"`
	Summary *Summary       `json:"summary,omitempty"` // when stored and analysed
	// Series is the ID of the first of several captures that are merged into
	// one report; empty for a capture that stands alone.
	Series string `json:"series,omitempty"`
	PNG    *File  `json:"png,omitempty"`
	// Busy says that the queue refused the job: the target has another one.
	Busy bool `json:"busy,omitempty"`
	// Tries counts analyses that failed for a reason that may pass.
	Tries int `json:"tries,omitempty"`
}

// Summary is the part of a report that a thread and a list show.
type Summary struct {
	Verdict  string   `json:"verdict"` // empty, weak, conclusive; unread when analysing failed
	Headline string   `json:"headline"`
	Samples  int64    `json:"samples"`
	GCShare  float64  `json:"gc_share"`
	Top      []Row    `json:"top,omitempty"`
	Findings []string `json:"findings,omitempty"`
	Changes  []string `json:"changes,omitempty"`
	Window   string   `json:"window"` // "10 s, 1 isolate, 3,821 samples, 2.4 s waiting removed"
	// Captures is how many were merged; 0 and 1 both mean this one alone.
	Captures int           `json:"captures,omitempty"`
	Busy     time.Duration `json:"busy,omitempty"`       // CPU only
	Removed  time.Duration `json:"removed,omitempty"`    // waiting that the cap took off; CPU only
	Bytes    int64         `json:"busy_bytes,omitempty"` // heap only: allocated in the window
	// Baseline is what it was compared with, in words; empty: with nothing.
	Baseline string `json:"baseline,omitempty"`
	Spread   string `json:"spread,omitempty"` // of merged captures: "31 to 44 %"
}

// The verdicts of a Summary: the report's own, and one for a profile that could
// not be read although it is stored.
const (
	verdictEmpty      = "empty"
	verdictWeak       = "weak"
	verdictConclusive = "conclusive"
	verdictUnread     = "unread"
)

// Row is one line of the function table.
type Row struct {
	Name   string  `json:"name"`
	File   string  `json:"file,omitempty"`
	Line   int64   `json:"line,omitempty"`
	Self   float64 `json:"self"`
	Total  float64 `json:"total"`
	Change string  `json:"change,omitempty"`
}

// Entry is one line of a case's decision log.
type Entry struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"` // typed reason or failure kind
	Text   string    `json:"text"`
}

// EffectKind is something a case wants done outside.
type EffectKind string

// The effects.
const (
	EffectCapture EffectKind = "capture" // queue Effect.Job
	EffectPost    EffectKind = "post"    // put Effect.Post into the outbox
	EffectLast    EffectKind = "last"    // remember the case as its target's newest
)

// Effect is decided with the state that holds it, and done afterwards.
//
// A Post here has its Key and nothing else: the words are written when it is
// handed over, from the case as it then is, so that a message that waited out
// an outage says what is true afterwards.
type Effect struct {
	Seq  int64        `json:"seq,omitempty"`
	Kind EffectKind   `json:"kind"`
	Job  *capture.Job `json:"job,omitempty"`
	Post *Post        `json:"post,omitempty"`
}
