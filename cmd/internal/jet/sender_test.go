package jet_test

import (
	"strings"
	"testing"

	"github.com/snapflame/snapflame/cmd/internal/jet"
)

func TestEventSubject(t *testing.T) {
	for _, tc := range []struct {
		subjects []string
		script   string
		want     string
	}{
		{[]string{"workers.events.>"}, "room-api", "workers.events.room-api"},
		{[]string{"workers.events.>"}, "", "workers.events._"},
		{[]string{"workers.events.>"}, "a.b > *\n", "workers.events.a_b_____"},
		{[]string{"workers.events.>"}, strings.Repeat("x", 5000), "workers.events._"},
		{[]string{"exact", "tail.*"}, "a", "tail.a"},
		{[]string{"exact"}, "a", "exact"},
		{nil, "a", "workers.events.a"},
	} {
		if got := jet.EventSubject(tc.subjects, tc.script); got != tc.want {
			t.Errorf("EventSubject(%q, %q) = %q, want %q", tc.subjects, tc.script, got, tc.want)
		}
	}
}
