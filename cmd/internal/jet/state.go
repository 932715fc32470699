package jet

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/snapflame/snapflame/bot"
)

var _ bot.State = (*State)(nil)

// Keys of the state bucket.
const (
	valuePrefix = "value."
	sentPrefix  = "sent."
	leasePrefix = "lease."
	budgetKey   = "budget"
)

// State keeps small shared values.
type State struct{ j *Jet }

// State is the shared values, for bot.
func (j *Jet) State() *State { return &State{j} }

func (s *State) key(ctx context.Context, key string) (string, error) {
	k, err := encodeKey(key)
	if err != nil {
		return "", err
	}
	return valuePrefix + k, s.j.await(ctx)
}

// Get implements bot.State.
func (s *State) Get(ctx context.Context, key string, v any) (uint64, error) {
	k, err := s.key(ctx, key)
	if err != nil {
		return 0, err
	}
	return s.j.streams.state.getJSON(ctx, k, v)
}

// Put implements bot.State.
func (s *State) Put(ctx context.Context, key string, v any, rev uint64) (uint64, error) {
	return s.PutFor(ctx, key, v, rev, 0)
}

// PutFor is Put with an end: the value is gone after ttl, in whole seconds; 0
// keeps it.
func (s *State) PutFor(ctx context.Context, key string, v any, rev uint64, ttl time.Duration) (uint64, error) {
	k, err := s.key(ctx, key)
	if err != nil {
		return 0, err
	}
	return s.j.streams.state.putJSON(ctx, k, v, rev, ttl)
}

// Delete implements bot.State. Deleting what is not there is not an error.
func (s *State) Delete(ctx context.Context, key string) error {
	k, err := s.key(ctx, key)
	if err != nil {
		return err
	}
	return s.j.streams.state.remove(ctx, k, 0)
}

// Keys implements bot.State: the keys that begin with prefix, in order. With
// replicas, what was written a moment ago may not be among them yet.
func (s *State) Keys(ctx context.Context, prefix string) ([]string, error) {
	if err := s.j.await(ctx); err != nil {
		return nil, err
	}
	keys, err := s.j.streams.state.keys(ctx, valuePrefix+wordFilter(prefix))
	if err != nil {
		return nil, err
	}
	out := []string{}
	for _, k := range keys {
		if k = decodeKey(strings.TrimPrefix(k, valuePrefix)); strings.HasPrefix(k, prefix) {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out, nil
}

// wordFilter is the narrowest subject filter that takes in every key with the
// prefix: its whole words.
func wordFilter(prefix string) string {
	i := strings.LastIndexByte(prefix, '.')
	if i <= 0 {
		return ">"
	}
	k, err := encodeKey(prefix[:i])
	if err != nil || strings.HasSuffix(prefix[:i], ".") {
		return ">"
	}
	return k + ".>"
}
