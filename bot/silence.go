package bot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

// silenceWords says until when and by whom something is silenced.
func silenceWords(s triggers.Silence, now time.Time) string {
	who := s.Script
	if who == "*" {
		who = "Every Worker"
	}
	return fmt.Sprintf("%s is silenced until %s (%s more), by %s.",
		who, stamp(s.Until), span(max(0, s.Until.Sub(now)).Round(time.Minute)), orText(s.By, "somebody"))
}

const silencePrefix = "silence."

// silenceKey names a Worker in the state: its name is untrusted and may hold
// anything.
func silenceKey(worker string) string {
	h := sha256.Sum256([]byte(worker))
	return silencePrefix + hex.EncodeToString(h[:10])
}

// Silences are kept in the shared state, with their expiry, so that every
// replica knows the same. A nil *Silences has none.
type Silences struct {
	state State
	fresh time.Duration

	mu     sync.Mutex
	at     time.Time // when known was read
	known  []triggers.Silence
	reader chan struct{} // held by the one that reads
}

// silencesFresh is how stale what a replica knows may be: another one's silence
// works here after this long.
const silencesFresh = 2 * time.Second

// NewSilences reads and writes the state.
func NewSilences(state State) *Silences {
	return &Silences{state: state, fresh: silencesFresh, reader: make(chan struct{}, 1)}
}

// Active returns the silences that hold, for the rules to decide with. It
// answers from memory, as Match does.
func (s *Silences) Active(ctx context.Context, now time.Time) []triggers.Silence {
	if s == nil {
		return nil
	}
	s.refresh(ctx, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.known)
}

// Match returns the silence that covers a decision. It is asked for each new incident and answers from memory; when the state
// cannot be read, what was last known holds.
func (s *Silences) Match(ctx context.Context, d triggers.Decision, now time.Time) (triggers.Silence, bool) {
	if s == nil {
		return triggers.Silence{}, false
	}
	s.refresh(ctx, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.known {
		if one.Matches(d, now) {
			return one, true
		}
	}
	return triggers.Silence{}, false
}

func (s *Silences) refresh(ctx context.Context, now time.Time) {
	s.mu.Lock()
	unknown := s.known == nil
	stale := now.Sub(s.at) >= s.fresh
	s.mu.Unlock()
	switch {
	case unknown: // wait: an incident that should be silenced must not slip through
		select {
		case s.reader <- struct{}{}:
		case <-ctx.Done():
			return
		}
	case stale:
		select {
		case s.reader <- struct{}{}:
		default:
			return // somebody reads already; what is known is young enough
		}
	default:
		return
	}
	defer func() { <-s.reader }()
	list, err := s.read(ctx, now)
	if err != nil {
		return
	}
	s.keep(list, now)
}

func (s *Silences) keep(list []triggers.Silence, now time.Time) {
	if list == nil {
		list = []triggers.Silence{} // read, and there is none
	}
	s.mu.Lock()
	s.known, s.at = list, now
	s.mu.Unlock()
}

// List returns the silences that hold, the one that ends first first, and
// removes those that are over.
func (s *Silences) List(ctx context.Context, now time.Time) ([]triggers.Silence, error) {
	if s == nil {
		return nil, nil
	}
	list, err := s.read(ctx, now)
	if err != nil {
		return nil, err
	}
	s.keep(list, now)
	slices.SortFunc(list, func(a, b triggers.Silence) int {
		if c := a.Until.Compare(b.Until); c != 0 {
			return c
		}
		return strings.Compare(a.Script, b.Script)
	})
	return list, nil
}

func (s *Silences) read(ctx context.Context, now time.Time) ([]triggers.Silence, error) {
	keys, err := s.state.Keys(ctx, silencePrefix)
	if err != nil {
		return nil, fmt.Errorf("list silences: %w", err)
	}
	var list []triggers.Silence
	for _, key := range keys {
		var one triggers.Silence
		_, err := s.state.Get(ctx, key, &one)
		if errors.Is(err, capture.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read silence: %w", err)
		}
		if now.Before(one.Until) {
			list = append(list, one)
			continue
		}
		// Over. A replica whose clock is behind has not lost anything yet: it is
		// deleted only when it has been over for a while.
		if now.Sub(one.Until) > time.Hour {
			_ = s.state.Delete(ctx, key) // the next reader tries again
		}
	}
	return list, nil
}

// Add silences a Worker, or changes how long it is silenced.
func (s *Silences) Add(ctx context.Context, one triggers.Silence) error {
	if err := overwrite(ctx, s.state, silenceKey(one.Script), one); err != nil {
		return fmt.Errorf("silence %s: %w", one.Script, err)
	}
	s.forget()
	return nil
}

// Remove ends a silence; it is no error when there is none, and found says so.
func (s *Silences) Remove(ctx context.Context, worker string, now time.Time) (found bool, err error) {
	var one triggers.Silence
	_, err = s.state.Get(ctx, silenceKey(worker), &one)
	if errors.Is(err, capture.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = s.state.Delete(ctx, silenceKey(worker))
	}
	if err != nil {
		return false, fmt.Errorf("unsilence %s: %w", worker, err)
	}
	s.forget()
	return now.Before(one.Until), nil
}

func (s *Silences) forget() {
	s.mu.Lock()
	s.known = nil
	s.mu.Unlock()
}

// overwrite writes a value whatever stood there.
func overwrite(ctx context.Context, state State, key string, v any) error {
	for range casTries {
		var old any
		rev, err := state.Get(ctx, key, &old)
		if err != nil && !errors.Is(err, capture.ErrNotFound) {
			return err
		}
		_, err = state.Put(ctx, key, v, rev)
		if !errors.Is(err, capture.ErrConflict) {
			return err
		}
	}
	return errBusyCase
}
