package app

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/capture/cloudflare"
	"github.com/snapflame/snapflame/triggers"
)

const (
	bindingsWait  = 2 * time.Second  // for the account's answer, before a thread opens without it
	bindingsFresh = 10 * time.Minute // for what a caller without a version binds
	bindingsRetry = time.Minute      // after no answer
	callersKept   = 10_000
	movedKept     = 1000
)

// boundSink stands between the listener and the desk. A decision in which the
// index had a say, or would have liked one, is taken again once the account has
// said which namespaces the caller binds: the index then looks there and
// nowhere else, and what it cannot name it can at least offer. The account is
// asked once for each caller's version, and only for callers of such decisions,
// which costs the first incident of a caller one call before its thread opens.
type boundSink struct {
	next     triggers.Sink
	index    *triggers.Index
	bindings func(context.Context, capture.Target) ([]cloudflare.Namespace, error)
	rules    func() *triggers.Rules
	silences func(context.Context, time.Time) []triggers.Silence
	now      func() time.Time
	trouble  func(error)

	mu      sync.Mutex
	callers map[string]boundCaller
	moved   map[string]string // incident id → its key, where it is not the one that was asked about
}

type boundCaller struct {
	version string
	bound   bool
	again   time.Time // when to ask again; zero: never
}

var _ triggers.Sink = (*boundSink)(nil)

// Handle implements triggers.Sink.
func (b *boundSink) Handle(ctx context.Context, d triggers.Decision) (triggers.Decision, error) {
	if !indexed(&d) || !b.learn(ctx, &d.Event) {
		return b.next.Handle(ctx, d)
	}
	now := b.now()
	key := d.IncidentKey()
	// Counts are left out: the decision at hand has met them.
	again := triggers.Decide(d.Event, triggers.State{Rules: b.rules(), Index: b.index, Silences: b.silences(ctx, now)}, now)
	if again.IncidentKey() == key {
		again.Counted = d.Counted
	}
	got, err := b.next.Handle(ctx, again)
	if err == nil && again.IncidentKey() != key && got.IncidentID != "" {
		b.mu.Lock()
		if b.moved == nil || len(b.moved) >= movedKept {
			b.moved = make(map[string]string)
		}
		b.moved[got.IncidentID] = again.IncidentKey()
		b.mu.Unlock()
	}
	return got, err
}

// Tally implements triggers.Sink: the rest of the batch in which a decision was
// taken again still has the key of the first one. Its events are not noted as
// counted, because a message is counted up to an event of one key: another part
// of the same message, which has the incident's own key, would be taken for what
// is counted already, and be lost.
func (b *boundSink) Tally(ctx context.Context, tallies []triggers.Tally) error {
	b.mu.Lock()
	copied := false
	for i := range tallies {
		key, ok := b.moved[tallies[i].IncidentID]
		if !ok || key == tallies[i].IncidentKey {
			continue
		}
		if !copied {
			tallies, copied = slices.Clone(tallies), true
		}
		tallies[i].IncidentKey, tallies[i].Counted = key, triggers.Counted{}
	}
	b.mu.Unlock()
	return b.next.Tally(ctx, tallies)
}

// Counted implements triggers.Sink. A decision that was taken again has another
// key, which is not known before its incident is: of those, messages that come
// again after a crash may count twice.
func (b *boundSink) Counted(key string) triggers.Counted { return b.next.Counted(key) }

// indexed says whether the index decided, or nothing did.
func indexed(d *triggers.Decision) bool {
	switch {
	case d.Class == triggers.ClassNone, d.Class == triggers.ClassAccountOverloaded, d.Event.Script == "":
		return false
	case d.Attribution == triggers.AttributionIndex, d.Confidence != "":
		return true
	}
	return d.Reason == triggers.ReasonNoObjectNamed || d.Reason == triggers.ReasonPassedThrough
}

// learn tells the index what a caller binds, and says whether it knows. A
// decision may be older than that knowledge, so knowing it already is no reason
// to let the decision stand.
func (b *boundSink) learn(ctx context.Context, e *triggers.Event) bool {
	caller := e.DispatchNamespace + "/" + e.Script
	now := b.now()
	b.mu.Lock()
	known, ok := b.callers[caller]
	b.mu.Unlock()
	if ok && known.version == e.VersionID && (known.again.IsZero() || now.Before(known.again)) {
		return known.bound
	}
	ctx, cancel := context.WithTimeout(ctx, bindingsWait)
	defer cancel()
	list, err := b.bindings(ctx, capture.Target{Kind: capture.Worker, Script: e.Script, DispatchNamespace: e.DispatchNamespace, VersionID: e.VersionID})
	next := boundCaller{version: e.VersionID, bound: len(list) > 0}
	switch {
	case err != nil:
		b.trouble(err)
		next.bound, next.again = known.bound, now.Add(bindingsRetry)
	case e.VersionID == "" || len(list) == 0:
		next.again = now.Add(bindingsFresh)
	}
	spaces := make([]triggers.Namespace, len(list))
	for i, n := range list {
		spaces[i] = triggers.Namespace{Script: n.Script, Entrypoint: n.Class}
	}
	if len(list) > 0 { // nothing found is nothing known: a service of a service may call an object
		b.index.Bind(e.Script, spaces)
	}
	b.mu.Lock()
	if b.callers == nil || len(b.callers) >= callersKept {
		b.callers = make(map[string]boundCaller)
	}
	b.callers[caller] = next
	b.mu.Unlock()
	return next.bound
}
