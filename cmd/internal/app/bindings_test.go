package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/capture/cloudflare"
	"github.com/snapflame/snapflame/triggers"
)

// deskOf notes what reaches the desk.
type deskOf struct {
	handled []triggers.Decision
	tallied []triggers.Tally
}

func (d *deskOf) Handle(_ context.Context, dec triggers.Decision) (triggers.Decision, error) {
	d.handled = append(d.handled, dec)
	dec.IncidentID = fmt.Sprintf("inc%d", len(d.handled))
	return dec, nil
}

func (d *deskOf) Tally(_ context.Context, t []triggers.Tally) error {
	d.tallied = append(d.tallied, t...)
	return nil
}

func (d *deskOf) Counted(string) triggers.Counted { return triggers.Counted{} }

// account is an index with two namespaces, each with a saturated object, a
// caller that binds the second, and a clock.
type account struct {
	*boundSink
	t     *testing.T
	desk  *deskOf
	at    time.Time
	asked []capture.Target
	list  []cloudflare.Namespace
	err   error
	rules *triggers.Rules
}

func newAccount(t *testing.T) *account {
	a := &account{t: t, desk: &deskOf{}, at: time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC), list: []cloudflare.Namespace{{ID: "n", Script: "rooms", Class: "Room"}}}
	var err error
	if a.rules, err = triggers.CompileRules(nil, triggers.Defaults{}); err != nil {
		t.Fatal(err)
	}
	a.boundSink = &boundSink{
		next: a.desk, index: triggers.NewIndex(func() time.Time { return a.at }), rules: func() *triggers.Rules { return a.rules },
		silences: func(context.Context, time.Time) []triggers.Silence { return nil }, now: func() time.Time { return a.at }, trouble: func(error) {},
		bindings: func(_ context.Context, target capture.Target) ([]cloudflare.Namespace, error) {
			a.asked = append(a.asked, target)
			return a.list, a.err
		},
	}
	return a
}

func objectID(n int) string { return fmt.Sprintf("%064x", n) }

// run lets seconds of healthy load pass, with object 1 of meetings and object 2
// of rooms saturated.
func (a *account) run(seconds int) {
	for range seconds {
		for n := range 30 {
			cpu := 3 * time.Millisecond
			script := []string{"rooms", "meetings"}[n%2]
			if n == 1 || n == 2 {
				cpu = 990 * time.Millisecond
			}
			a.index.Add(triggers.Event{
				Shape: triggers.ShapeLoad, Script: script, Entrypoint: "Room", ObjectID: objectID(n), VersionID: "v", ExecutionModel: "durableObject",
				Outcome: "ok", CPU: cpu, Wall: 2 * cpu, Count: 10,
			})
		}
		a.at = a.at.Add(time.Second)
	}
}

// decide is what the listener makes of a caller's overload.
func (a *account) decide(version string) triggers.Decision {
	return triggers.Decide(triggers.Event{
		Shape: triggers.ShapeTail, Script: "gateway", VersionID: version, ExecutionModel: "stateless", Outcome: "exception", Time: a.at, Count: 1,
		Texts: []triggers.Text{{Source: triggers.TextException, Message: "Durable Object is overloaded. Too many requests queued.", Stack: "at f (worker.js:1:2)"}},
	}, triggers.State{Rules: a.rules, Index: a.index}, a.at)
}

func (a *account) handle(d triggers.Decision) triggers.Decision {
	a.t.Helper()
	got, err := a.Handle(a.t.Context(), d)
	if err != nil {
		a.t.Fatal(err)
	}
	return got
}

func TestBindingsTellTheIndexWhereToLook(t *testing.T) {
	a := newAccount(t)
	a.run(20)
	d := a.decide("v1")
	d.Counted = triggers.CountedOne(7, 1, a.at)
	if d.Action != triggers.ActionReport || d.Target.Kind != triggers.TargetUnknown {
		t.Fatalf("without bindings two objects could be meant, and it was decided: %s %+v", d.Action, d.Target)
	}
	got := a.handle(d)
	if got.Action != triggers.ActionCapture || got.Target.ObjectID != objectID(2) || got.Attribution != triggers.AttributionIndex || got.Probability < 0.9 {
		t.Fatalf("with bindings: %s %+v by %s, %.2f", got.Action, got.Target, got.Attribution, got.Probability)
	}
	if len(a.asked) != 1 || a.asked[0].Script != "gateway" || a.asked[0].VersionID != "v1" {
		t.Errorf("asked for %+v", a.asked)
	}
	// The rest of the batch counts on the incident that was opened.
	if err := a.Tally(t.Context(), []triggers.Tally{
		{IncidentKey: d.IncidentKey(), IncidentID: got.IncidentID, Count: 5, Counted: triggers.CountedOne(7, 6, a.at)},
		{IncidentKey: "other", IncidentID: "x", Counted: triggers.CountedOne(7, 1, a.at)},
	}); err != nil {
		t.Fatal(err)
	}
	if k := a.desk.tallied[0].IncidentKey; k != got.IncidentKey() || a.desk.tallied[1].IncidentKey != "other" {
		t.Errorf("tallied on %s and %s, want %s and other", k, a.desk.tallied[1].IncidentKey, got.IncidentKey())
	}
	// Message 7 may hold events that have the incident's own key: those are not
	// counted yet.
	if !a.desk.handled[0].Counted.IsZero() || !a.desk.tallied[0].Counted.IsZero() || a.desk.tallied[1].Counted.IsZero() {
		t.Errorf("counted: %+v, %+v; another's: %+v", a.desk.handled[0].Counted, a.desk.tallied[0].Counted, a.desk.tallied[1].Counted)
	}
	// From then on the listener decides right by itself, and nobody is asked.
	if d := a.decide("v1"); d.Target.ObjectID != objectID(2) {
		t.Errorf("the next decision: %+v", d.Target)
	}
	a.handle(a.decide("v1"))
	if len(a.asked) != 1 {
		t.Errorf("asked %d times", len(a.asked))
	}
	a.handle(a.decide("v2")) // another version may bind something else
	if len(a.asked) != 2 {
		t.Errorf("asked %d times, want again for another version", len(a.asked))
	}
}

func TestBindingsGiveCandidatesToAColdIndex(t *testing.T) {
	a := newAccount(t)
	a.run(1)
	d := a.decide("v1")
	if len(d.Candidates) != 0 {
		t.Fatalf("candidates without bindings: %+v", d.Candidates)
	}
	got := a.handle(d)
	if got.Action != triggers.ActionReport || len(got.Candidates) != 5 || got.Candidates[0].ObjectID != objectID(2) {
		t.Errorf("%s, candidates %+v; want a report that offers rooms, the hottest first", got.Action, got.Candidates)
	}
}

func TestBindingsThatAreNotKnown(t *testing.T) {
	a := newAccount(t)
	a.run(20)
	a.err = errors.New("away")
	a.list = nil
	a.handle(a.decide("v1"))
	a.handle(a.decide("v1"))
	if got := a.desk.handled[1]; len(a.asked) != 1 || got.Target.Kind != triggers.TargetUnknown {
		t.Errorf("asked %d times at once, decided %+v", len(a.asked), got.Target)
	}
	a.at = a.at.Add(bindingsRetry)
	a.run(10)
	a.err = nil
	a.handle(a.decide("v1"))
	if got := a.desk.handled[2]; len(a.asked) != 2 || got.Target.Kind != triggers.TargetUnknown {
		t.Errorf("asked %d times after a minute; a caller that binds nothing was given %+v", len(a.asked), got.Target)
	}
}

func TestBindingsAreNotAskedForWhatIsNamed(t *testing.T) {
	a := newAccount(t)
	a.run(20)
	logged := a.decide("v1")
	logged.Attribution, logged.Reason = triggers.AttributionLogged, triggers.ReasonLoggedID
	wide := a.decide("v1")
	wide.Class, wide.Reason = triggers.ClassAccountOverloaded, triggers.ReasonAccountWide
	nobody := a.decide("v1")
	nobody.Event.Script = ""
	for _, d := range []triggers.Decision{logged, wide, nobody} {
		a.handle(d)
	}
	if len(a.asked) != 0 || len(a.desk.handled) != 3 {
		t.Errorf("asked for %+v", a.asked)
	}
}

// Within the block of Cloudflare's global limit nobody asks for lists.
func TestListsWaitForTheRateLimit(t *testing.T) {
	blocked := fmt.Errorf("list: %w", &capture.Failure{Kind: capture.FailRateLimited, RetryAfter: 5 * time.Minute})
	down := errors.New("connection refused")
	for _, c := range []struct {
		last time.Duration
		err  error
		want time.Duration
	}{
		{0, nil, 10 * time.Minute},
		{0, down, time.Second},
		{4 * time.Second, down, 8 * time.Second},
		{10 * time.Minute, down, 10 * time.Minute},
		{0, blocked, 5 * time.Minute},
		{8 * time.Minute, blocked, 10 * time.Minute},
	} {
		if got := nextWarm(c.last, c.err); got != c.want {
			t.Errorf("after %s and %v: %s, want %s", c.last, c.err, got, c.want)
		}
	}
}

func TestWorkersNamedInFullNeedNoIncident(t *testing.T) {
	got := named([]string{"*", "edge", "api-*", "room-?", "[ab]", `a\*`, "", "edge.staging"})
	if want := []string{"edge", "edge.staging"}; !slices.Equal(got, want) {
		t.Errorf("named: %q, want %q", got, want)
	}
}
