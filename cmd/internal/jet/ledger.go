package jet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/snapflame/snapflame/capture"
)

var _ capture.Ledger = (*Ledger)(nil)

// Ledger keeps the one budget.
type Ledger struct{ j *Jet }

// Ledger is the budget, for capture.
func (j *Jet) Ledger() *Ledger { return &Ledger{j} }

// Change implements capture.Ledger. Writers of one process take turns, so that
// only other replicas can be in the way. f may run several times.
func (l *Ledger) Change(ctx context.Context, f func(capture.Budget) (capture.Budget, error)) error {
	if err := l.j.await(ctx); err != nil {
		return err
	}
	l.j.ledgerMu.Lock()
	defer l.j.ledgerMu.Unlock()
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		var b capture.Budget
		rev, err := l.j.streams.state.getJSON(ctx, budgetKey, &b)
		if err != nil && !errors.Is(err, capture.ErrNotFound) {
			return err
		}
		if b, err = f(b); err != nil {
			return err
		}
		_, err = l.j.streams.state.putJSON(ctx, budgetKey, b, rev, 0)
		if !errors.Is(err, capture.ErrConflict) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("change the budget: %w", ctx.Err())
		case <-time.After(wait/2 + rand.N(wait)): //nolint:gosec // jitter
		}
	}
}

// Budget is the stored value as it is now, for showing.
func (l *Ledger) Budget(ctx context.Context) (capture.Budget, error) {
	if err := l.j.await(ctx); err != nil {
		return capture.Budget{}, err
	}
	var b capture.Budget
	if _, err := l.j.streams.state.getJSON(ctx, budgetKey, &b); err != nil && !errors.Is(err, capture.ErrNotFound) {
		return b, err
	}
	return b, nil
}
