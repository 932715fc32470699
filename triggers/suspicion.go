package triggers

import (
	"fmt"
	"time"
)

// Suspicion is the index's answer to "which object was overloaded?".
type Suspicion struct {
	// Named says that the evidence is strong enough for Target to be taken.
	Named  bool
	Target Target
	// Probability that Target is the one, 0 to 1, by the index's own model.
	Probability float64
	// Candidates are the objects that could be meant, most likely first.
	Candidates []Candidate
	Coverage   Coverage
}

// Candidate is an object that could be meant.
type Candidate struct {
	Target      Target
	Probability float64
	Load        Load
}

// Coverage is how much the index knew of the namespaces in question. Fed with
// error records alone it would name the callers, so it does not answer then.
type Coverage struct {
	OK         bool
	Namespaces int           // that could be meant and are known
	Healthy    float64       // healthy invocations a second in them
	Since      time.Time     // since when the index has known them without a gap
	For        time.Duration // how long that is
	Why        string        // what is missing when not OK
}

// Targets are the candidates' targets.
func (s Suspicion) Targets() []Target {
	if len(s.Candidates) == 0 {
		return nil
	}
	t := make([]Target, len(s.Candidates))
	for i, c := range s.Candidates {
		t[i] = c.Target
	}
	return t
}

func (s Suspicion) sentence() string {
	switch {
	case s.Named:
		return fmt.Sprintf("the hot-object index names object %s… of class %s with %.0f %% probability: %s",
			short(s.Target.ObjectID), orNone(s.Target.Entrypoint), min(s.Probability*100, 99), s.Candidates[0].Load)
	case s.Coverage.Why != "":
		return "the hot-object index cannot say: " + s.Coverage.Why
	case len(s.Candidates) > 0 && s.Candidates[0].Probability < 0.01:
		return "the hot-object index sees no object near its limits"
	case len(s.Candidates) > 0:
		return fmt.Sprintf("the hot-object index has %d candidates, the hottest with %.0f %% probability", len(s.Candidates), s.Candidates[0].Probability*100)
	default:
		return ""
	}
}

// Load is what an object was doing lately: rates over the sliding window.
type Load struct {
	Target       Target        `json:"target"`
	CPU          float64       `json:"cpu"`           // CPU seconds a second: 1 is a thread fully used
	Wall         float64       `json:"wall"`          // wall seconds a second: requests in flight
	Requests     float64       `json:"requests"`      // a second
	Errors       float64       `json:"errors"`        // a second
	CPUError     float64       `json:"cpu_error"`     // CPU may be higher by this much
	Pressure     float64       `json:"pressure"`      // 0 idle, 1 saturated
	Since        time.Time     `json:"since"`         // known since
	LastSeen     time.Time     `json:"last_seen"`     //
	HotSince     time.Time     `json:"hot_since"`     // pressure above a half since; zero when it is not
	HotFor       time.Duration `json:"-"`             //
	Overloads    int64         `json:"overloads"`     // events attributed to it
	LastOverload time.Time     `json:"last_overload"` // the newest of them
}

// String is the load in words, for threads.
func (l Load) String() string {
	return fmt.Sprintf("%.0f %% of a thread, %.0f requests/s, %.1f in flight", l.CPU*100, l.Requests, l.Wall)
}
