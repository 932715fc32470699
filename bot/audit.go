package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snapflame/snapflame/capture"
)

// AuditEntry is one thing that a person did or was refused.
type AuditEntry struct {
	At      time.Time `json:"at"`
	User    string    `json:"user"` // Slack user id, or "api:<name>"
	Channel string    `json:"channel,omitempty"`
	Action  string    `json:"action"` // the verb
	What    string    `json:"what"`   // the command in full
	Outcome string    `json:"outcome"`
	Capture string    `json:"capture,omitempty"`
}

// Audit is the trail of who started what and when, in the shared state: one
// value a day, bounded, for AuditDays days.
type Audit struct{ state State }

// AuditDays is how long entries are kept, and maxDay how many a day: beyond
// that the oldest of the day go, and the first that stays says how many.
const (
	AuditDays   = 90
	maxDay      = 1000
	auditPrefix = "audit."
)

type auditDay struct {
	Dropped int          `json:"dropped,omitempty"`
	Entries []AuditEntry `json:"entries"`
}

// NewAudit writes into the state.
func NewAudit(state State) *Audit { return &Audit{state: state} }

// Add writes an entry. A nil *Audit keeps nothing.
func (a *Audit) Add(ctx context.Context, e AuditEntry) error {
	if a == nil {
		return nil
	}
	e.What, e.Outcome = clip(e.What, 300), clip(e.Outcome, 300)
	key := auditPrefix + e.At.UTC().Format("20060102")
	for range casTries {
		var day auditDay
		rev, err := a.state.Get(ctx, key, &day)
		if err != nil && !errors.Is(err, capture.ErrNotFound) {
			return fmt.Errorf("read the audit trail: %w", err)
		}
		day.Entries = append(day.Entries, e)
		if over := len(day.Entries) - maxDay; over > 0 {
			day.Entries, day.Dropped = day.Entries[over:], day.Dropped+over
		}
		_, err = a.state.Put(ctx, key, day, rev)
		if errors.Is(err, capture.ErrConflict) {
			continue
		}
		if err != nil {
			return fmt.Errorf("write the audit trail: %w", err)
		}
		if rev == 0 {
			a.prune(ctx, e.At)
		}
		return nil
	}
	return errBusyCase
}

// prune removes old days, once a day: when the first entry of one is written.
func (a *Audit) prune(ctx context.Context, now time.Time) {
	keys, err := a.state.Keys(ctx, auditPrefix)
	if err != nil {
		return // tomorrow again
	}
	oldest := auditPrefix + now.AddDate(0, 0, -AuditDays).UTC().Format("20060102")
	for _, key := range keys {
		if key < oldest {
			_ = a.state.Delete(ctx, key) // tomorrow again
		}
	}
}

// List returns the newest entries, newest first.
func (a *Audit) List(ctx context.Context, limit int) ([]AuditEntry, error) {
	if a == nil {
		return nil, nil
	}
	keys, err := a.state.Keys(ctx, auditPrefix)
	if err != nil {
		return nil, fmt.Errorf("read the audit trail: %w", err)
	}
	slices.SortFunc(keys, func(x, y string) int { return strings.Compare(y, x) })
	var out []AuditEntry
	for _, key := range keys {
		var day auditDay
		if _, err := a.state.Get(ctx, key, &day); err != nil && !errors.Is(err, capture.ErrNotFound) {
			return nil, fmt.Errorf("read the audit trail: %w", err)
		}
		for i := len(day.Entries) - 1; i >= 0 && len(out) < limit; i-- {
			out = append(out, day.Entries[i])
		}
		if len(out) == limit {
			break
		}
	}
	return out, nil
}
