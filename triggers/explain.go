package triggers

// Line is what explain prints for one event. A field that is absent is unknown.
type Line struct {
	N           int         `json:"n"`
	Shape       Shape       `json:"shape,omitempty"`
	Class       Class       `json:"class"`
	Subclass    Subclass    `json:"subclass,omitempty"`
	Script      string      `json:"script,omitempty"`
	Target      *Target     `json:"target,omitempty"`
	Attribution Attribution `json:"attribution,omitempty"`
	Confidence  string      `json:"confidence,omitempty"`
	Probability float64     `json:"probability,omitempty"`
	Decision    Action      `json:"decision"`
	Profile     ProfileType `json:"profile,omitempty"`
	DurationMS  int64       `json:"duration_ms,omitempty"`
	Rule        string      `json:"rule,omitempty"`
	Code        Reason      `json:"reason_code,omitempty"`
	Reason      string      `json:"reason"`
}

// Explain puts a decision into a line. An unknown target shows only what is
// known of it: the reporting script stands in Script.
func (d Decision) Explain(n int) Line {
	l := Line{
		N: n, Shape: d.Event.Shape, Class: d.Class, Subclass: d.Subclass, Script: d.Event.Script,
		Attribution: d.Attribution, Confidence: d.Confidence, Probability: d.Probability,
		Decision: d.Action, Rule: d.Rule, Code: d.Reason, Reason: d.Sentence,
	}
	if d.Action == ActionCapture {
		l.Profile, l.DurationMS = d.Profile, d.Duration.Milliseconds()
	}
	switch d.Target.Kind {
	case "":
	case TargetUnknown:
		l.Target = &Target{Kind: TargetUnknown, Entrypoint: d.Target.Entrypoint}
	default:
		t := d.Target
		l.Target = &t
	}
	return l
}
