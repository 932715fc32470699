package bot_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
)

// store is Cases, Jobs, Outbox and State in memory, with the same compare-and-set
// as the real ones. Values go through JSON, so that what is not stored is lost.
type store struct {
	mu      sync.Mutex
	rev     uint64
	open    map[string]entry
	archive map[string][]byte
	state   map[string]entry
	queue   map[string]capture.Job // target key → job
	ran     map[string]int         // job id → times handed to the API
	posts   map[string]bot.Post
	puts    map[string]int // post key → puts
	closes  map[string]int // case id → times archived
	watch   []func(bot.Case, uint64, bool)
}

type entry struct {
	raw []byte
	rev uint64
}

func newStore() *store {
	return &store{
		open: map[string]entry{}, archive: map[string][]byte{}, state: map[string]entry{}, queue: map[string]capture.Job{},
		ran: map[string]int{}, posts: map[string]bot.Post{}, puts: map[string]int{}, closes: map[string]int{},
	}
}

func decode(raw []byte) (c bot.Case) {
	if err := json.Unmarshal(raw, &c); err != nil {
		panic(err)
	}
	return c
}

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func (s *store) OpenCase(_ context.Context, key string) (bot.Case, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.open[key]
	if !ok {
		return bot.Case{}, 0, capture.ErrNotFound
	}
	return decode(e.raw), e.rev, nil
}

func (s *store) PutCase(_ context.Context, c bot.Case, rev uint64) (uint64, error) {
	s.mu.Lock()
	if s.open[c.Key].rev != rev {
		s.mu.Unlock()
		return 0, capture.ErrConflict
	}
	s.rev++
	now := s.rev
	s.open[c.Key] = entry{encode(c), now}
	watch := slices.Clone(s.watch)
	s.mu.Unlock()
	for _, f := range watch {
		f(c, now, false)
	}
	return now, nil
}

func (s *store) CloseCase(_ context.Context, c bot.Case, rev uint64) error {
	s.mu.Lock()
	if s.open[c.Key].rev != rev || rev == 0 {
		s.mu.Unlock()
		return capture.ErrConflict
	}
	s.archive[c.ID] = encode(c)
	s.closes[c.ID]++
	delete(s.open, c.Key)
	watch := slices.Clone(s.watch)
	s.mu.Unlock()
	for _, f := range watch {
		f(c, rev, true)
	}
	return nil
}

func (s *store) Case(_ context.Context, id string) (bot.Case, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.open {
		if c := decode(e.raw); c.ID == id {
			return c, nil
		}
	}
	if raw, ok := s.archive[id]; ok {
		return decode(raw), nil
	}
	return bot.Case{}, capture.ErrNotFound
}

func (s *store) WatchOpen(ctx context.Context, f func(bot.Case, uint64, bool), init func()) error {
	s.mu.Lock()
	s.watch = append(s.watch, f)
	open := maps.Clone(s.open)
	s.mu.Unlock()
	for _, e := range open {
		f(decode(e.raw), e.rev, false)
	}
	init()
	<-ctx.Done()
	return ctx.Err()
}

func (s *store) Submit(_ context.Context, j capture.Job) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q, busy := s.queue[j.Target.Key()]; busy && q.ID != j.ID {
		return capture.ErrTargetBusy
	}
	s.queue[j.Target.Key()] = j
	return nil
}

func (s *store) Put(_ context.Context, p bot.Post) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, sent := s.posts[p.Key]; sent && p.Once {
		return nil
	}
	s.posts[p.Key] = p
	s.puts[p.Key]++
	return nil
}

// take empties the queue, as runners do.
func (s *store) take() (jobs []capture.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(s.queue)) {
		jobs = append(jobs, s.queue[key])
		delete(s.queue, key)
	}
	return jobs
}

// waiting is what is queued.
func (s *store) waiting() []capture.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.queue))
}

// states is the State of the store: its Put would collide with the Outbox's.
type states struct{ *store }

func (s states) Get(_ context.Context, key string, v any) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.state[key]
	if !ok {
		return 0, capture.ErrNotFound
	}
	return e.rev, json.Unmarshal(e.raw, v)
}

func (s states) Put(_ context.Context, key string, v any, rev uint64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state[key].rev != rev {
		return 0, capture.ErrConflict
	}
	s.rev++
	s.state[key] = entry{encode(v), s.rev}
	return s.rev, nil
}

func (s states) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.state, key)
	return nil
}

func (s states) Keys(_ context.Context, prefix string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for k := range s.state {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

func (s *store) post(t *testing.T, key string) bot.Post {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.posts[key]
	if !ok {
		t.Fatalf("no post %q; there are %v", key, slices.Sorted(maps.Keys(s.posts)))
	}
	return p
}

// process is one replica's view of the store. After a crash none of its calls
// does anything, and hook may fail a call before or after its effect.
type process struct {
	s    *store
	dead bool
	hook func(op string) (before, after error)
}

var errDead = errors.New("the process is dead")

func (p *process) call(op string, f func() error) error {
	var before, after error
	if p.hook != nil {
		before, after = p.hook(op)
	}
	if p.dead {
		return errDead
	}
	if before != nil {
		return before
	}
	if err := f(); err != nil {
		return err
	}
	if p.dead {
		return errDead
	}
	return after
}

func (p *process) OpenCase(ctx context.Context, key string) (c bot.Case, rev uint64, err error) {
	err = p.call("open", func() error { c, rev, err = p.s.OpenCase(ctx, key); return err })
	return c, rev, err
}

func (p *process) PutCase(ctx context.Context, c bot.Case, rev uint64) (next uint64, err error) {
	err = p.call("put", func() error { next, err = p.s.PutCase(ctx, c, rev); return err })
	return next, err
}

func (p *process) CloseCase(ctx context.Context, c bot.Case, rev uint64) error {
	return p.call("close", func() error { return p.s.CloseCase(ctx, c, rev) })
}

func (p *process) Case(ctx context.Context, id string) (c bot.Case, err error) {
	err = p.call("case", func() error { c, err = p.s.Case(ctx, id); return err })
	return c, err
}

func (p *process) WatchOpen(ctx context.Context, f func(bot.Case, uint64, bool), init func()) error {
	return p.s.WatchOpen(ctx, f, init)
}

func (p *process) Submit(ctx context.Context, j capture.Job) error {
	return p.call("submit", func() error { return p.s.Submit(ctx, j) })
}

func (p *process) Put(ctx context.Context, post bot.Post) error {
	return p.call("post", func() error { return p.s.Put(ctx, post) })
}

// ids gives incident ids in order.
func ids() func() string {
	n := 0
	var mu sync.Mutex
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		n++
		return "inc" + strconv.Itoa(n)
	}
}

var start = time.Date(2026, 11, 30, 3, 14, 0, 0, time.UTC)
