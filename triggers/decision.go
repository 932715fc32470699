package triggers

import "time"

// Action is what follows from an event.
type Action string

// The decisions of the contract.
const (
	ActionCapture Action = "capture"
	ActionJoin    Action = "join"   // an open incident already covers it
	ActionReport  Action = "report" // an incident without a capture: no evidence names the target
	ActionIgnore  Action = "ignore"
)

// Reason is why a decision came out as it did. The code is the log field and
// the metric label; Sentence is what the user reads. Reasons are a closed set.
type Reason string

// ProfileType is what a rule asks for.
type ProfileType string

// The two profile types of the API.
const (
	ProfileCPU  ProfileType = "cpu"
	ProfileHeap ProfileType = "heap"
)

// Decision is what an event led to, with its evidence.
type Decision struct {
	Action      Action
	Reason      Reason
	Sentence    string // the reason in words, with the values that mattered
	Class       Class
	Subclass    Subclass
	Target      Target
	Attribution Attribution
	// Confidence is "likely" for evidence that could be another object's, empty otherwise.
	Confidence string
	// Probability is the index's own estimate, 0 to 1; 0 when the index was not used.
	Probability float64
	// Candidates are the objects offered when none is named, hottest first.
	Candidates []Target

	Profile  ProfileType
	Duration time.Duration
	Repeat   int    // captures wanted in this incident; 0 leaves it to the plan
	Rule     string // the rule's name
	Channel  string // channel id; empty: the default
	Mention  string // Slack mention for the first post; empty: none
	Quiet    time.Duration

	Quote string // Cloudflare's own error text, verbatim, bounded
	Event Event
	// Counted is the message that the event came in.
	Counted Counted `json:"-"`

	// IncidentID is filled in by the Sink.
	IncidentID string
}

// IncidentKey names the incident that the decision opens or joins: one class
// on one target.
func (d Decision) IncidentKey() string { return incidentKey(d.Class, &d.Target) }

func incidentKey(c Class, t *Target) string {
	switch {
	case c == ClassAccountOverloaded:
		return string(c) + ".account"
	case t.Kind == TargetDurableObject:
		return string(c) + ".do-" + t.ObjectID
	default:
		return string(c) + "." + t.Key()
	}
}
