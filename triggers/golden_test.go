package triggers_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/snapflame/snapflame/triggers"
)

func builtin(t testing.TB) *triggers.Rules {
	t.Helper()
	rules, err := triggers.CompileRules(nil, triggers.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func now() time.Time { return time.UnixMilli(1796020400000).UTC() }

// TestExplainGolden holds explain to the recorded events, one by one and as a file.
func TestExplainGolden(t *testing.T) {
	data, err := os.ReadFile("testdata/events.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	expected, err := os.ReadFile("testdata/expected.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	lines := triggers.ExplainAll(data, builtin(t), now())
	wants := bytes.Split(bytes.TrimSpace(expected), []byte("\n"))
	if len(lines) != len(wants) || len(wants) != 40 {
		t.Fatalf("got %d lines for %d expected, want 40", len(lines), len(wants))
	}
	for i, line := range lines {
		raw, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		var got, want map[string]any
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(wants[i], &want); err != nil {
			t.Fatal(err)
		}
		if got["n"] != float64(i+1) || got["reason"] == "" {
			t.Errorf("line %d: n is %v, reason %q", i+1, got["n"], got["reason"])
		}
		for k := range want {
			if !reflect.DeepEqual(got[k], want[k]) {
				t.Errorf("line %d: %s is %v, want %v\n%s", i+1, k, got[k], want[k], raw)
			}
		}
		if likely := got["confidence"] == "likely"; likely != (i == 9) {
			t.Errorf("line %d: confidence %v", i+1, got["confidence"])
		}
		length := 10000.0
		if got["subclass"] == "too_many_in_window" {
			length = 3000
		}
		if got["decision"] == "capture" && (got["rule"] == nil || got["duration_ms"] != length) {
			t.Errorf("line %d: rule %v, duration %v", i+1, got["rule"], got["duration_ms"])
		}
	}
}
