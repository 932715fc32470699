package telemetry

import "time"

// query is the body of telemetry/query, as far as it is used
// (cloudflare-go v7.9.0, ObservabilityTelemetryQueryParams).
type query struct {
	QueryID    string     `json:"queryId"`
	Timeframe  timeframe  `json:"timeframe"`
	View       string     `json:"view"`
	Limit      int        `json:"limit"`
	Offset     string     `json:"offset,omitempty"`
	Direction  string     `json:"offsetDirection,omitempty"`
	Dry        bool       `json:"dry"` // the result is not kept at Cloudflare
	Parameters parameters `json:"parameters"`
}

type timeframe struct {
	From int64 `json:"from"` // milliseconds since 1970
	To   int64 `json:"to"`
}

type parameters struct {
	Datasets    []string `json:"datasets"`
	Combination string   `json:"filterCombination"`
	Filters     []filter `json:"filters"`
}

type filter struct {
	Key       string `json:"key"`
	Operation string `json:"operation"`
	Type      string `json:"type"`
	Value     string `json:"value"`
}

// outcomes that are an incident by themselves.
var outcomes = []string{"exceededMemory", "exceededCpu"} //nolint:gochecknoglobals // a constant table

// texts are the parts of Cloudflare's error texts that look-alikes share least.
// They need not tell the classes apart: whoever reads the record does.
var texts = []string{ //nolint:gochecknoglobals // a constant table
	"Durable Object is overloaded",
	"exceeded its memory limit", "exceeded memory limit",
	"exceeded its CPU time limit", "exceeded CPU time limit",
	"generating too much load on Durable Objects", "too many concurrent storage operations",
}

func newQuery(from, to time.Time, offset string) query {
	q := query{
		QueryID: queryID, Timeframe: timeframe{from.UnixMilli(), to.UnixMilli()}, View: "events", Limit: pageSize, Dry: true,
		Parameters: parameters{Datasets: []string{"cloudflare-workers"}, Combination: "or"},
	}
	if offset != "" {
		q.Offset, q.Direction = offset, "next"
	}
	add := func(key, operation, value string) {
		q.Parameters.Filters = append(q.Parameters.Filters, filter{Key: key, Operation: operation, Type: "string", Value: value})
	}
	for _, o := range outcomes {
		add("$workers.outcome", "eq", o)
	}
	for _, t := range texts {
		add("$metadata.error", "includes", t)
		add("$metadata.message", "includes", t)
	}
	return q
}
