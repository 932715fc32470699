package jet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snapflame/snapflame/capture"
)

// leaseTTL ends the lease of a dead owner; the server counts in whole seconds.
// An owner renews every third of it and stops by itself leaseMargin before it
// could have run out, so that two owners never overlap while clocks run.
const (
	leaseTTL    = 3 * time.Second
	leaseMargin = 500 * time.Millisecond
)

// Lease is a right that one process at a time has.
type Lease struct {
	j     *Jet
	name  string
	rev   uint64
	until time.Time // by our own monotonic clock
	// Fence grows with every new owner. What is written under the lease can
	// carry it, to be refused when a later owner has written.
	Fence uint64
}

// Acquire takes the lease, or capture.ErrConflict when another process has it.
func (j *Jet) Acquire(ctx context.Context, name, owner string) (*Lease, error) {
	k, err := encodeKey(name)
	if err != nil {
		return nil, err
	}
	if err := j.await(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	rev, err := j.streams.state.put(ctx, leasePrefix+k, []byte(owner), 0, leaseTTL)
	if err != nil {
		return nil, fmt.Errorf("acquire lease %s: %w", name, err)
	}
	return &Lease{j: j, name: leasePrefix + k, rev: rev, Fence: rev, until: began.Add(leaseTTL - leaseMargin)}, nil
}

// Renew keeps the lease for another three seconds. Writing the key anew with a
// time to live is needed: an update without one would make it permanent.
func (l *Lease) Renew(ctx context.Context, owner string) error {
	ctx, cancel := context.WithDeadline(ctx, l.until)
	defer cancel()
	began := time.Now()
	rev, err := l.j.streams.state.put(ctx, l.name, []byte(owner), l.rev, leaseTTL)
	if err != nil {
		return fmt.Errorf("renew: %w", err)
	}
	l.rev, l.until = rev, began.Add(leaseTTL-leaseMargin)
	return nil
}

// Release gives the lease up, so that the next owner need not wait.
func (l *Lease) Release(ctx context.Context) error {
	err := l.j.streams.state.remove(ctx, l.name, l.rev)
	if errors.Is(err, capture.ErrConflict) {
		return nil // it ran out, or somebody has it
	}
	return err
}

// Hold runs f whenever this process gets the lease, with a context that ends
// when the lease is lost, until ctx ends. f returning an error is logged and f
// is started again.
func (j *Jet) Hold(ctx context.Context, name, owner string, f func(ctx context.Context, fence uint64) error) error {
	for ctx.Err() == nil && !j.closing() {
		l, err := j.Acquire(ctx, name, owner)
		if err == nil {
			j.log.Info().Str("lease", name).Str("owner", owner).Msg("lease acquired")
			err = l.run(ctx, owner, f)
			j.log.Info().Err(err).Str("lease", name).Str("owner", owner).Msg("lease given up")
		}
		select {
		case <-ctx.Done():
		case <-j.done:
		case <-time.After(250 * time.Millisecond):
		}
	}
	if j.closing() {
		return ErrClosed
	}
	return ctx.Err() //nolint:wrapcheck // the caller's own context
}

// run is one term of office.
func (l *Lease) run(ctx context.Context, owner string, f func(ctx context.Context, fence uint64) error) error {
	term, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- f(term, l.Fence) }()
	t := time.NewTicker(leaseTTL / 3)
	defer t.Stop()
	for {
		select {
		case err := <-ended:
			c, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer stop()
			return errors.Join(err, l.Release(c))
		case <-ctx.Done():
		case <-t.C:
			err := l.Renew(ctx, owner)
			if err == nil || ctx.Err() != nil {
				continue
			}
			cancel()
			return errors.Join(err, <-ended)
		}
		if ctx.Err() != nil { // f is ending; the lease stays ours while it does
			select {
			case err := <-ended:
				ended <- err
			case <-t.C:
				c, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
				_ = l.Renew(c, owner)
				stop()
			}
		}
	}
}
