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
type Case struct {
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
	Previous    string               `json:"previous,omitempty"`     // the incident before this one on the same target

	Count      int64                       `json:"count"`
	PerMinute  map[int64]int64             `json:"per_minute,omitempty"`
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
}

// CaptureView is what a case keeps of one of its captures.
type CaptureView struct {
	Record  capture.Record `json:"record"`
	Summary *Summary       `json:"summary,omitempty"` // when stored and analysed
}

// Summary is the part of a report that a thread and a list show.
type Summary struct {
	Verdict  string   `json:"verdict"` // empty, weak, conclusive
	Headline string   `json:"headline"`
	Samples  int64    `json:"samples"`
	GCShare  float64  `json:"gc_share"`
	Top      []Row    `json:"top,omitempty"`
	Findings []string `json:"findings,omitempty"`
	Changes  []string `json:"changes,omitempty"`
	Window   string   `json:"window"` // "10 s, 1 isolate, 3,821 samples, 2.4 s waiting removed"
}

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
)

// Effect is decided with the state that holds it, and done afterwards.
type Effect struct {
	Kind EffectKind   `json:"kind"`
	Job  *capture.Job `json:"job,omitempty"`
	Post *Post        `json:"post,omitempty"`
}
