package report

import "encoding/json"

// The JSON of the contract: a CPU report has the keys in nanoseconds, a heap
// report those in bytes in their place, and lists are never null.

type cpuTimes struct {
	BusyNS    int64 `json:"busy_ns"`
	RemovedNS int64 `json:"removed_ns"`
	IdleNS    int64 `json:"idle_ns"`
	ProgramNS int64 `json:"program_ns"`
}

type heapSums struct {
	BusyBytes int64 `json:"busy_bytes"`
}

type reportTail struct {
	GCShare   float64        `json:"gc_share"`
	Verdict   Verdict        `json:"verdict"`
	Merged    bool           `json:"merged"`
	Captures  int            `json:"captures,omitempty"`
	Functions []functionHead `json:"functions"`
	Modules   []Module       `json:"modules,omitempty"`
	Findings  []Finding      `json:"findings"`
	Base      *Comparison    `json:"base,omitempty"`
	Notes     []string       `json:"notes,omitempty"`
}

// MarshalJSON writes the contract's form.
func (r Report) MarshalJSON() ([]byte, error) {
	head := struct {
		Type       Type  `json:"type"`
		Samples    int64 `json:"samples"`
		DurationNS int64 `json:"duration_ns"`
		*cpuTimes
		*heapSums
		reportTail
	}{Type: r.Type, Samples: r.Samples, DurationNS: r.DurationNS, reportTail: reportTail{
		GCShare: r.GCShare, Verdict: r.Verdict, Merged: r.Merged, Captures: r.Captures,
		Functions: heads(r.Functions, r.Type), Modules: r.Modules, Findings: r.Findings, Base: r.Base, Notes: r.Notes,
	}}
	if r.Type == Heap {
		head.heapSums = &heapSums{r.BusyBytes}
	} else {
		head.cpuTimes = &cpuTimes{r.BusyNS, r.RemovedNS, r.IdleNS, r.ProgramNS}
	}
	if head.Findings == nil {
		head.Findings = []Finding{}
	}
	return json.Marshal(head)
}

type functionHead struct {
	Name         string   `json:"name"`
	File         string   `json:"file"`
	Line         int64    `json:"line"`
	SelfShare    float64  `json:"self_share"`
	TotalShare   float64  `json:"total_share"`
	ChargedShare *float64 `json:"charged_share,omitempty"`
	SelfNS       *int64   `json:"self_ns,omitempty"`
	TotalNS      *int64   `json:"total_ns,omitempty"`
	SelfBytes    *int64   `json:"self_bytes,omitempty"`
	TotalBytes   *int64   `json:"total_bytes,omitempty"`
	Kind         Kind     `json:"kind"`
	Spread       *Spread  `json:"spread,omitempty"`
}

func heads(fs []Function, t Type) []functionHead {
	out := make([]functionHead, len(fs))
	for i := range fs {
		out[i] = fs[i].head(t)
	}
	return out
}

func (f *Function) head(t Type) functionHead {
	h := functionHead{
		Name: f.Name, File: f.File, Line: f.Line, SelfShare: f.SelfShare, TotalShare: f.TotalShare,
		Kind: f.Kind, Spread: f.Spread,
	}
	if t == Heap {
		h.SelfBytes, h.TotalBytes, h.ChargedShare = &f.SelfBytes, &f.TotalBytes, &f.ChargedShare
	} else {
		h.SelfNS, h.TotalNS = &f.SelfNS, &f.TotalNS
	}
	return h
}

// MarshalJSON writes nanoseconds or bytes, whichever the function has.
func (f Function) MarshalJSON() ([]byte, error) {
	t := CPU
	if f.TotalBytes != 0 {
		t = Heap
	}
	return json.Marshal(f.head(t))
}

// MarshalJSON never writes null for changes.
func (c Comparison) MarshalJSON() ([]byte, error) {
	type plain Comparison
	if c.Changes == nil {
		c.Changes = []Change{}
	}
	return json.Marshal(plain(c))
}
