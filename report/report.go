package report

import "time"

// Type is what a profile measures.
type Type string

// The two types.
const (
	CPU  Type = "cpu"
	Heap Type = "heap"
)

// Verdict says how far a profile can be trusted to tell shares apart.
type Verdict string

// The verdicts of the contract.
const (
	Empty      Verdict = "empty"
	Weak       Verdict = "weak"
	Conclusive Verdict = "conclusive"
)

// Kind is whose code a frame is; it decides the colour.
type Kind string

// The kinds.
const (
	KindApp        Kind = "app"        // the user's own code
	KindDependency Kind = "dependency" // node_modules
	KindRuntime    Kind = "runtime"    // node:, cloudflare:, workerd internals
	KindBuiltin    Kind = "builtin"    // V8 built-ins and native functions, without a file
	KindGC         Kind = "gc"
	KindWasm       Kind = "wasm"
)

// Meta is what a picture says about a profile; the analysis does not depend on it.
type Meta struct {
	Title     string // the target, for people: "room-api RoomObject 3fa1c07d"
	Script    string
	Class     string
	ObjectID  string
	VersionID string
	CaptureID string
	StartedAt time.Time
	Duration  time.Duration // as asked for; 0 when unknown
	Note      string        // "replacement isolate, 12 s after the failure"
	Stateless bool
}

// Report is what one profile, or several merged, say. Its JSON is the contract's.
type Report struct { //nolint:recvcheck // its JSON is that of a value too
	Type       Type    `json:"type"`
	Samples    int64   `json:"samples"` // records in the file
	DurationNS int64   `json:"duration_ns"`
	BusyNS     int64   `json:"busy_ns"`
	RemovedNS  int64   `json:"removed_ns"`
	IdleNS     int64   `json:"idle_ns"`
	ProgramNS  int64   `json:"program_ns"`
	BusyBytes  int64   `json:"busy_bytes"` // heap only; MarshalJSON writes one set or the other
	GCShare    float64 `json:"gc_share"`
	Verdict    Verdict `json:"verdict"`
	Merged     bool    `json:"merged"` // samples had been merged per stack: the cap is approximate

	Functions []Function  `json:"functions"`
	Modules   []Module    `json:"modules,omitempty"` // sums by file and by npm package
	Findings  []Finding   `json:"findings"`
	Base      *Comparison `json:"base,omitempty"`
	Notes     []string    `json:"notes,omitempty"` // skipped samples, repaired text and the like

	Meta Meta  `json:"-"`
	Tree *Tree `json:"-"` // busy samples only, capped

	// Captures is how many were merged; 0 and 1 are one.
	Captures int `json:"captures,omitempty"`

	parts []*profile // what Compare, Merge and Peek need; nil in a report read from JSON
}

// Function is one function: name + file + line. Shares are of busy, 0 to 1.
type Function struct { //nolint:recvcheck // its JSON is that of a value too
	Name         string  `json:"name"`
	File         string  `json:"file"`
	Line         int64   `json:"line"` // where it is defined, not where it ran
	SelfShare    float64 `json:"self_share"`
	TotalShare   float64 `json:"total_share"`
	ChargedShare float64 `json:"charged_share,omitempty"` // heap: with the file-less callees' bytes
	SelfNS       int64   `json:"self_ns"`
	TotalNS      int64   `json:"total_ns"`
	SelfBytes    int64   `json:"self_bytes"`
	TotalBytes   int64   `json:"total_bytes"`
	Kind         Kind    `json:"kind"`

	// Of several captures merged: the smallest and largest self share among them.
	Spread *Spread `json:"spread,omitempty"`
}

// Spread is how far one share differs between captures.
type Spread struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Module is the sum over one file or one npm package.
type Module struct {
	Name       string  `json:"name"`
	Kind       Kind    `json:"kind"`
	SelfShare  float64 `json:"self_share"`
	TotalShare float64 `json:"total_share"` // once per stack
}

// Finding is one thing an expert would point out: a sentence with its figures,
// and the next step.
type Finding struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	Next string `json:"next,omitempty"`
}

// Comparison is a report against one or more baselines, by share.
type Comparison struct {
	Captures int      `json:"captures"` // baselines
	Changes  []Change `json:"changes"`  // what is called first, then the rest of 1 % and more
	Notes    []string `json:"notes,omitempty"`
}

// ChangeVerdict is what the interval allows to say.
type ChangeVerdict string

// The verdicts of a change.
const (
	Grew          ChangeVerdict = "grew"
	Shrank        ChangeVerdict = "shrank"
	New           ChangeVerdict = "new"
	Gone          ChangeVerdict = "gone"
	NoClearChange ChangeVerdict = "no_clear_change"
)

// Change is one function's share before and after; Low and High bound the
// difference at 95 %. The share is its own time and that of the built-ins it
// calls, as whether those get a frame differs from capture to capture.
type Change struct {
	Name    string        `json:"name"`
	File    string        `json:"file"`
	Line    int64         `json:"line,omitempty"` // where it is defined now, or was
	Kind    Kind          `json:"kind"`
	Before  float64       `json:"before"`
	After   float64       `json:"after"`
	Low     float64       `json:"low"`
	High    float64       `json:"high"`
	Verdict ChangeVerdict `json:"verdict"`

	// Milliseconds (or, for heap, bytes) per second of the capture; 0 and 0 when
	// the duration is unknown.
	RateBefore float64 `json:"rate_before,omitempty"`
	RateAfter  float64 `json:"rate_after,omitempty"`
	Note       string  `json:"note,omitempty"` // why a difference is not called
}

// Tree is the folded call tree of the busy samples: what every picture is
// drawn from. Nodes are in preorder; node 0 is the root ("busy CPU") with
// Frame -1 and Parent -1.
type Tree struct {
	Unit   string // nanoseconds or bytes
	Frames []Frame
	Nodes  []Node
}

// Frame is one function of the tree.
type Frame struct {
	Name   string
	File   string
	Line   int64
	Kind   Kind
	Module string // file or npm package, for colour; empty when unknown
}

// Node is one call path. Self and Total are in the tree's unit.
type Node struct {
	Frame  int32
	Parent int32
	Self   int64
	Total  int64
}
