package fakecf

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Limits of telemetry/query: cloudflare/mcp-server-cloudflare,
// workers-logs.types.ts, and cloudflare-go v7.9.0 (depth of groups).
const (
	maxLogLimit    = 2000
	maxFilterDepth = 4
	logRetention   = 7 * 24 * time.Hour
)

// logged is one event of Workers Logs.
type logged struct {
	raw     json.RawMessage
	fields  map[string]any // by their keys with dots
	id      string
	at      time.Time
	visible time.Time
}

// Log puts an event into Workers Logs, as telemetry/query gives it. It can be
// found from visible on; zero is at once. An event needs a timestamp and a
// $metadata.id.
func (s *Server) Log(event []byte, visible time.Time) error {
	l := logged{raw: event, visible: visible, fields: map[string]any{}}
	var e map[string]any
	if err := json.Unmarshal(event, &e); err != nil {
		return fmt.Errorf("log an event: %w", err)
	}
	flatten(l.fields, "", e)
	id, _ := l.fields["$metadata.id"].(string)
	ms, _ := l.fields["timestamp"].(float64)
	if id == "" || ms == 0 {
		return errors.New("log an event: it has no $metadata.id or no timestamp")
	}
	l.id, l.at = id, time.UnixMilli(int64(ms))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logs = append(s.logs, l)
	return nil
}

// logQuery is a request as the real API reads it: what it does not know, it
// passes over.
type logQuery struct {
	QueryID   string `json:"queryId"`
	Timeframe *struct {
		From *float64 `json:"from"`
		To   *float64 `json:"to"`
	} `json:"timeframe"`
	View       string   `json:"view"`
	Limit      *float64 `json:"limit"`
	Offset     string   `json:"offset"`
	Direction  string   `json:"offsetDirection"`
	Parameters struct {
		Datasets    []string    `json:"datasets"`
		Combination string      `json:"filterCombination"`
		Filters     []logFilter `json:"filters"`
	} `json:"parameters"`
}

type logFilter struct {
	Kind        string      `json:"kind"`
	Combination string      `json:"filterCombination"`
	Filters     []logFilter `json:"filters"`
	Key         string      `json:"key"`
	Operation   string      `json:"operation"`
	Type        string      `json:"type"`
	Value       any         `json:"value"`
}

func (s *Server) queryLogs(w http.ResponseWriter, r *http.Request) {
	if s.NoLogs {
		fail(w, http.StatusForbidden, 10000, "Authentication error")
		return
	}
	var q logQuery
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		fail(w, http.StatusBadRequest, 10001, "Invalid request body: "+err.Error())
		return
	}
	if bad := q.check(); bad != "" {
		fail(w, http.StatusBadRequest, 10001, bad)
		return
	}
	found := s.findLogs(&q)
	total := len(found)
	if q.Offset != "" {
		at := slices.IndexFunc(found, func(l logged) bool { return l.id == q.Offset })
		switch {
		case at < 0:
			found = nil
		case q.Direction == "prev":
			found = found[:at]
		default:
			found = found[at+1:]
		}
	}
	limit := 20
	if q.Limit != nil {
		limit = int(*q.Limit)
	}
	rows := []json.RawMessage{}
	for _, l := range found[:min(limit, len(found))] {
		rows = append(rows, l.raw)
	}
	succeed(w, map[string]any{
		"run":        map[string]any{"id": "run", "status": "COMPLETED", "dry": true, "timeframe": q.Timeframe},
		"statistics": map[string]any{"elapsed": 0.01, "rows_read": total, "bytes_read": 1000 * total},
		"events":     map[string]any{"count": total, "events": rows, "fields": []any{}, "series": []any{}},
	}, nil)
}

// check says what the API would not accept.
func (q *logQuery) check() string {
	views := []string{"", "events"}
	switch {
	case q.QueryID == "":
		return "queryId: Required"
	case q.Timeframe == nil || q.Timeframe.From == nil || q.Timeframe.To == nil:
		return "timeframe: Required"
	case *q.Timeframe.From >= *q.Timeframe.To:
		return "timeframe: from must be before to"
	case *q.Timeframe.To-*q.Timeframe.From > float64(logRetention.Milliseconds()):
		return "timeframe: at most 7 days"
	case !slices.Contains(views, q.View):
		return "view: the simulated API knows only events"
	case q.Limit != nil && (*q.Limit < 0 || *q.Limit > maxLogLimit || *q.Limit != math.Trunc(*q.Limit)):
		return fmt.Sprintf("limit: Number must be less than or equal to %d", maxLogLimit)
	case q.Direction != "" && q.Direction != "next" && q.Direction != "prev":
		return "offsetDirection: Invalid enum value"
	}
	return checkFilters("parameters", q.Parameters.Combination, q.Parameters.Filters, 1)
}

func checkFilters(path, combination string, filters []logFilter, depth int) string {
	if depth > maxFilterDepth {
		return path + ": nested too deeply"
	}
	if combination != "" && !slices.Contains([]string{"and", "or", "AND", "OR"}, combination) {
		return path + ".filterCombination: Invalid enum value"
	}
	for i, f := range filters {
		at := fmt.Sprintf("%s.filters.%d", path, i)
		if f.Kind == "group" {
			if bad := checkFilters(at, f.Combination, f.Filters, depth+1); bad != "" {
				return bad
			}
			continue
		}
		if bad := f.check(); bad != "" {
			return at + "." + bad
		}
	}
	return ""
}

func (f *logFilter) check() string {
	text := []string{"includes", "not_includes", "starts_with", "ends_with", "regex", "in", "not_in"}
	number := []string{"gt", "gte", "lt", "lte"}
	presence := []string{"exists", "is_null"}
	valueIs := ""
	switch f.Value.(type) {
	case string:
		valueIs = "string"
	case float64:
		valueIs = "number"
	case bool:
		valueIs = "boolean"
	}
	switch {
	case f.Key == "":
		return "key: Required"
	case !slices.Contains([]string{"string", "number", "boolean"}, f.Type):
		return "type: Invalid enum value"
	case slices.Contains(presence, f.Operation):
		return ""
	case !slices.Contains(append(append([]string{"eq", "neq"}, text...), number...), f.Operation):
		return "operation: Invalid enum value"
	case valueIs == "":
		return "value: Required"
	case valueIs != f.Type:
		return "value: Expected " + f.Type + ", received " + valueIs
	case slices.Contains(append(number, "regex", "not_in"), f.Operation):
		return "operation: the simulated API does not know " + f.Operation
	case f.Type != "string" && slices.Contains(text, f.Operation):
		return "operation: " + f.Operation + " does not apply to a " + f.Type
	}
	return ""
}

// findLogs gives what matches, newest first.
func (s *Server) findLogs(q *logQuery) []logged {
	now := s.now()
	from, to := time.UnixMilli(int64(*q.Timeframe.From)), time.UnixMilli(int64(*q.Timeframe.To))
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []logged
	for _, l := range s.logs {
		dataset, _ := l.fields["dataset"].(string)
		switch {
		case l.at.Before(from) || l.at.After(to), l.visible.After(now):
		case len(q.Parameters.Datasets) > 0 && !slices.Contains(q.Parameters.Datasets, dataset):
		case matchAll(q.Parameters.Combination, q.Parameters.Filters, l.fields):
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b logged) int {
		if d := b.at.Compare(a.at); d != 0 {
			return d
		}
		return strings.Compare(b.id, a.id)
	})
	return out
}

func matchAll(combination string, filters []logFilter, fields map[string]any) bool {
	anyOf := strings.EqualFold(combination, "or")
	for _, f := range filters {
		ok := f.Kind == "group" && matchAll(f.Combination, f.Filters, fields) || f.Kind != "group" && f.match(fields)
		if ok == anyOf {
			return anyOf
		}
	}
	return !anyOf || len(filters) == 0
}

// match knows the operations that a client of ours may use. Strings are
// compared with their case.
func (f *logFilter) match(fields map[string]any) bool {
	v := fields[f.Key]
	have, isText := v.(string)
	want, _ := f.Value.(string)
	switch f.Operation {
	case "eq":
		return v == f.Value
	case "neq":
		return v != f.Value
	case "exists":
		return v != nil
	case "is_null":
		return v == nil
	case "includes":
		return isText && strings.Contains(have, want)
	case "not_includes":
		return !isText || !strings.Contains(have, want)
	case "starts_with":
		return isText && strings.HasPrefix(have, want)
	case "ends_with":
		return isText && strings.HasSuffix(have, want)
	case "in":
		return isText && slices.Contains(strings.Split(want, ","), have)
	}
	return false
}

// flatten gives every value its key with dots.
func flatten(into map[string]any, prefix string, event map[string]any) {
	for k, v := range event {
		if m, ok := v.(map[string]any); ok {
			flatten(into, prefix+k+".", m)
			continue
		}
		into[prefix+k] = v
	}
}
