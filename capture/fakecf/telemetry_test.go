package fakecf_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

const telemetryURL = "http://cf/client/v4/accounts/acc/workers/observability/telemetry/query"

func TestTelemetryRefuses(t *testing.T) {
	c := &http.Client{Transport: account().Transport()}
	leaf := func(f string) string {
		return `{"queryId":"q","timeframe":{"from":1,"to":2},"view":"events","parameters":{"filters":[` + f + `]}}`
	}
	deep := `{"key":"a","operation":"exists","type":"string"}`
	for range 4 {
		deep = `{"kind":"group","filterCombination":"and","filters":[` + deep + `]}`
	}
	for name, tt := range map[string]struct{ body, want string }{
		"not JSON":         {`{`, "Invalid request body"},
		"no query":         {`{"timeframe":{"from":1,"to":2}}`, "queryId: Required"},
		"no timeframe":     {`{"queryId":"q"}`, "timeframe: Required"},
		"half a timeframe": {`{"queryId":"q","timeframe":{"from":1}}`, "timeframe: Required"},
		"upside down":      {`{"queryId":"q","timeframe":{"from":2,"to":1}}`, "from must be before to"},
		"eight days":       {`{"queryId":"q","timeframe":{"from":1,"to":691200001}}`, "at most 7 days"},
		"a view":           {`{"queryId":"q","timeframe":{"from":1,"to":2},"view":"traces"}`, "view"},
		"too many":         {`{"queryId":"q","timeframe":{"from":1,"to":2},"limit":2001}`, "limit"},
		"half a record":    {`{"queryId":"q","timeframe":{"from":1,"to":2},"limit":1.5}`, "limit"},
		"below zero":       {`{"queryId":"q","timeframe":{"from":1,"to":2},"limit":-1}`, "limit"},
		"a direction":      {`{"queryId":"q","timeframe":{"from":1,"to":2},"offsetDirection":"up"}`, "offsetDirection"},
		"a combination":    {`{"queryId":"q","timeframe":{"from":1,"to":2},"parameters":{"filterCombination":"xor"}}`, "filterCombination"},
		"no key":           {leaf(`{"operation":"eq","type":"string","value":"x"}`), "filters.0.key"},
		"no type":          {leaf(`{"key":"a","operation":"eq","value":"x"}`), "filters.0.type"},
		"no value":         {leaf(`{"key":"a","operation":"eq","type":"string"}`), "filters.0.value: Required"},
		"another type":     {leaf(`{"key":"a","operation":"eq","type":"number","value":"1"}`), "Expected number"},
		"an operation":     {leaf(`{"key":"a","operation":"like","type":"string","value":"x"}`), "filters.0.operation"},
		"text of a number": {leaf(`{"key":"a","operation":"includes","type":"number","value":1}`), "does not apply"},
		"too deep":         {leaf(deep), "nested too deeply"},
	} {
		a := ask(t, c, "POST", telemetryURL, "secret", tt.body)
		if a.status != 400 || !strings.Contains(string(a.body), tt.want) || !strings.Contains(string(a.body), `"success":false`) {
			t.Errorf("%s: %d %s, want 400 and %q", name, a.status, a.body, tt.want)
		}
	}
	s := account()
	s.NoLogs = true
	if a := ask(t, &http.Client{Transport: s.Transport()}, "POST", telemetryURL, "secret", `{}`); a.status != 403 {
		t.Errorf("without the permission: %d, want 403", a.status)
	}
}

func TestTelemetryQuery(t *testing.T) {
	s := account()
	c := &http.Client{Transport: s.Transport()}
	base := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	for i := range 5 {
		e := fmt.Sprintf(`{"timestamp":%d,"dataset":"cloudflare-workers","$metadata":{"id":"e%d","error":"Durable Object is overloaded. n%d"},"$workers":{"outcome":"exception"}}`, base.Add(time.Duration(i)*time.Second).UnixMilli(), i, i)
		var visible time.Time
		if i == 4 {
			visible = time.Now().Add(time.Hour)
		}
		if err := s.Log([]byte(e), visible); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Log([]byte(`{"$metadata":{"id":"x"}}`), time.Time{}); err == nil {
		t.Error("an event without a time was taken")
	}
	for _, tt := range []struct{ more, want string }{
		{``, "e3 e2 e1 e0"},
		{`,"limit":2`, "e3 e2"},
		{`,"limit":2,"offset":"e2","offsetDirection":"next"`, "e1 e0"},
		{`,"offset":"e1","offsetDirection":"prev"`, "e3 e2"},
		{`,"offset":"gone"`, ""},
		{`,"parameters":{"filters":[{"key":"$metadata.error","operation":"includes","type":"string","value":"n1"}]}`, "e1"},
		{`,"parameters":{"filterCombination":"or","filters":[{"key":"$metadata.error","operation":"ends_with","type":"string","value":"n1"},{"key":"$metadata.id","operation":"in","type":"string","value":"e0,e2"}]}`, "e2 e1 e0"},
		{`,"parameters":{"filters":[{"kind":"group","filterCombination":"or","filters":[{"key":"$metadata.id","operation":"eq","type":"string","value":"e0"}]},{"key":"$workers.outcome","operation":"neq","type":"string","value":"ok"}]}`, "e0"},
		{`,"parameters":{"filters":[{"key":"$metadata.error","operation":"includes","type":"string","value":"durable object"}]}`, ""},
		{`,"parameters":{"filters":[{"key":"$metadata.none","operation":"is_null","type":"string"}]}`, "e3 e2 e1 e0"},
		{`,"parameters":{"datasets":["otel"]}`, ""},
	} {
		body := fmt.Sprintf(`{"queryId":"q","view":"events","timeframe":{"from":%d,"to":%d}%s}`, base.UnixMilli(), time.Now().UnixMilli(), tt.more)
		a := ask(t, c, "POST", telemetryURL, "secret", body)
		var got struct {
			Result struct {
				Events struct {
					Count  int
					Events []struct {
						Metadata struct{ ID string } `json:"$metadata"`
					}
				}
			}
		}
		if err := json.Unmarshal(a.body, &got); err != nil || a.status != 200 {
			t.Fatalf("%s: %d %s", tt.more, a.status, a.body)
		}
		var ids []string
		for _, e := range got.Result.Events.Events {
			ids = append(ids, e.Metadata.ID)
		}
		if strings.Join(ids, " ") != tt.want {
			t.Errorf("%s: %v, want %s", tt.more, ids, tt.want)
		}
	}
}

// A reference is what another Worker binds, not what the Worker has itself.
func TestReferences(t *testing.T) {
	s := account()
	c := &http.Client{Transport: s.Transport()}
	get := func(worker string) string {
		return string(ask(t, c, "GET", "http://cf/client/v4/accounts/acc/workers/workers/"+worker, "secret", "").body)
	}
	for _, want := range []string{`"worker_name":"caller"`, `"namespace_id":"` + ns, `"workers":[{"id":`} {
		if got := get("room"); !strings.Contains(got, want) {
			t.Errorf("room: %s lacks %s", got, want)
		}
	}
	if got := get("caller"); !strings.Contains(got, `"durable_objects":[]`) {
		t.Errorf("caller: %s", got)
	}
	s.Rename("room", "lobby")
	if got := get("lobby"); !strings.Contains(got, `"worker_name":"caller"`) {
		t.Errorf("after a rename: %s", got)
	}
}
