package jet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/cmd/internal/jet"
)

func pid() int { return os.Getpid() }

// conform is what every engine must show, embedded or not. open gives one more
// replica on the same server.
func conform(t *testing.T, one, two *jet.Jet) {
	t.Helper()
	for name, f := range map[string]func(t *testing.T, a, b *jet.Jet){
		"cases":            casesConform,
		"a case is one":    caseIsOne,
		"state":            stateConforms,
		"records":          recordsConform,
		"ledger":           ledgerConforms,
		"files":            filesConform,
		"jobs":             jobsConform,
		"jobs: one winner": jobHasOneWinner,
		"outbox":           outboxConforms,
		"sent":             sentConforms,
		"lease":            leaseConforms,
		"events":           eventsConform,
		"dead letters":     deadLettersConform,
	} {
		t.Run(name, func(t *testing.T) { f(t, one, two) })
	}
}

func key(t *testing.T, s string) string {
	t.Helper()
	return s + "-" + strconv.FormatUint(rand.Uint64(), 36)
}

func casesConform(t *testing.T, a, b *jet.Jet) {
	ctx := within(t)
	k := "overloaded." + key(t, "do")
	if _, _, err := a.Cases().OpenCase(ctx, k); !errors.Is(err, capture.ErrNotFound) {
		t.Fatalf("open case before: got %v, want ErrNotFound", err)
	}
	type seen struct {
		id     string
		closed bool
	}
	watch, stop := context.WithCancel(ctx)
	got := make(chan seen, 100)
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = b.Cases().WatchOpen(watch, func(c bot.Case, _ uint64, closed bool) {
			if c.Key == k {
				got <- seen{c.ID, closed}
			}
		}, func() {})
	})
	defer func() { stop(); wg.Wait() }()
	c := bot.Case{ID: key(t, "inc"), Key: k, State: bot.Open, Count: 1}
	rev, err := a.Cases().PutCase(ctx, c, 0)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	if s := <-got; s != (seen{c.ID, false}) {
		t.Errorf("watched %v, want the open case", s)
	}
	if _, err := b.Cases().PutCase(ctx, c, 0); !errors.Is(err, capture.ErrConflict) {
		t.Errorf("create again: got %v, want ErrConflict", err)
	}
	c.Count = 2
	if rev, err = b.Cases().PutCase(ctx, c, rev); err != nil {
		t.Fatalf("change: %v", err)
	}
	if _, err := a.Cases().PutCase(ctx, c, rev-1); !errors.Is(err, capture.ErrConflict) {
		t.Errorf("change at an old revision: got %v, want ErrConflict", err)
	}
	if v, err := a.Cases().Case(ctx, c.ID); err != nil || v.Count != 2 {
		t.Errorf("case by id: got %d, %v, want 2", v.Count, err)
	}
	if err := a.Cases().CloseCase(ctx, c, rev-1); !errors.Is(err, capture.ErrConflict) {
		t.Errorf("close at an old revision: got %v, want ErrConflict", err)
	}
	c.ClosedAt = time.Now()
	if err := a.Cases().CloseCase(ctx, c, rev); err != nil {
		t.Fatalf("close: %v", err)
	}
	for s := range got {
		if s.closed {
			break
		}
	}
	if _, _, err := b.Cases().OpenCase(ctx, k); !errors.Is(err, capture.ErrNotFound) {
		t.Errorf("open case after: got %v, want ErrNotFound", err)
	}
	if v, err := b.Cases().Case(ctx, c.ID); err != nil || v.State != bot.Closed {
		t.Errorf("closed case by id: got %v, %v, want closed", v.State, err)
	}
	next := bot.Case{ID: key(t, "inc"), Key: k, State: bot.Open}
	if _, err := b.Cases().PutCase(ctx, next, 0); err != nil {
		t.Errorf("create the next one over the mark of the deletion: %v", err)
	}
	until(t, "the closed case is listed first", func() bool {
		list, err := b.Cases().ClosedCases(ctx, time.Time{}, 5)
		return err == nil && len(list) > 0 && list[0].ID == c.ID
	})
}

func caseIsOne(t *testing.T, a, b *jet.Jet) {
	ctx := within(t)
	k := "overloaded." + key(t, "do")
	var wg sync.WaitGroup
	var mu sync.Mutex
	wins := 0
	for i := range 20 {
		wg.Go(func() {
			j := []*jet.Jet{a, b}[i%2]
			_, err := j.Cases().PutCase(ctx, bot.Case{ID: strconv.Itoa(i), Key: k}, 0)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				wins++
			} else if !errors.Is(err, capture.ErrConflict) {
				t.Errorf("create: %v", err)
			}
		})
	}
	wg.Wait()
	if wins != 1 {
		t.Errorf("%d creations succeeded, want 1", wins)
	}
}

func stateConforms(t *testing.T, a, b *jet.Jet) {
	ctx := within(t)
	p := key(t, "silence") + "."
	odd := p + "a b/ü*>.."
	for _, k := range []string{p + "one", p + "two", odd} {
		if _, err := a.State().Put(ctx, k, map[string]string{"k": k}, 0); err != nil {
			t.Fatalf("put %q: %v", k, err)
		}
	}
	var v map[string]string
	rev, err := b.State().Get(ctx, odd, &v)
	if err != nil || v["k"] != odd {
		t.Fatalf("get: got %v, %v", v, err)
	}
	for prefix, want := range map[string][]string{
		p: {odd, p + "one", p + "two"}, p + "t": {p + "two"}, p + "x": {}, p[:len(p)-2]: {odd, p + "one", p + "two"},
	} {
		slices.Sort(want)
		until(t, fmt.Sprintf("keys %q are %q", prefix, want), func() bool { // with replicas, a moment later
			got, err := b.State().Keys(ctx, prefix)
			return err == nil && slices.Equal(got, want)
		})
	}
	if _, err := a.State().Put(ctx, odd, v, rev+1000); !errors.Is(err, capture.ErrConflict) {
		t.Errorf("put at a wrong revision: got %v, want ErrConflict", err)
	}
	for range 2 {
		if err := a.State().Delete(ctx, odd); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	if _, err := b.State().Get(ctx, odd, &v); !errors.Is(err, capture.ErrNotFound) {
		t.Errorf("get after delete: got %v, want ErrNotFound", err)
	}
	if _, err := b.State().Put(ctx, odd, v, 0); err != nil {
		t.Errorf("create after delete: %v", err)
	}
	if _, err := a.State().PutFor(ctx, p+"short", 1, 0, time.Second); err != nil {
		t.Fatalf("put for a second: %v", err)
	}
	until(t, "the value ended", func() bool {
		var n int
		_, err := b.State().Get(ctx, p+"short", &n)
		return errors.Is(err, capture.ErrNotFound)
	})
	if _, err := a.State().Put(ctx, p+"short", 2, 0); err != nil {
		t.Errorf("create after the end: %v", err)
	}
}

func recordsConform(t *testing.T, a, b *jet.Jet) {
	ctx := within(t)
	now := time.Now()
	var ids []string
	for i := range 3 {
		r := capture.Record{Job: capture.Job{ID: key(t, "cap"), QueuedAt: now.Add(time.Duration(i) * time.Second)}, State: capture.Started}
		rev, err := a.Records().PutRecord(ctx, r, 0)
		if err != nil {
			t.Fatalf("put: %v", err)
		}
		if _, err := b.Records().PutRecord(ctx, r, 0); !errors.Is(err, capture.ErrConflict) {
			t.Errorf("create again: got %v, want ErrConflict", err)
		}
		r.State = capture.Stored
		if _, err := b.Records().PutRecord(ctx, r, rev); err != nil {
			t.Errorf("change: %v", err)
		}
		ids = append([]string{r.ID}, ids...)
	}
	until(t, "records are listed newest first", func() bool {
		list, err := b.Records().RecordsList(ctx, time.Time{}, 3)
		if err != nil || len(list) != 3 || list[0].State != capture.Stored {
			return false
		}
		return list[0].ID == ids[0] && list[1].ID == ids[1] && list[2].ID == ids[2]
	})
	list, err := b.Records().RecordsList(ctx, now.Add(2*time.Second), 1)
	if err != nil || len(list) != 1 || list[0].ID != ids[1] {
		t.Errorf("second page: got %v, %v, want %s", list, err, ids[1])
	}
	if _, _, err := a.Records().Record(ctx, "none"); !errors.Is(err, capture.ErrNotFound) {
		t.Errorf("no record: got %v, want ErrNotFound", err)
	}
}

func ledgerConforms(t *testing.T, a, b *jet.Jet) {
	ctx := within(t)
	before, err := a.Ledger().Budget(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	const writers, each = 8, 5
	for i := range writers {
		wg.Go(func() {
			j := []*jet.Jet{a, b}[i%2]
			for range each {
				if err := j.Ledger().Change(ctx, func(v capture.Budget) (capture.Budget, error) {
					v.Starts = append(v.Starts, time.Now())
					return v, nil
				}); err != nil {
					t.Errorf("change: %v", err)
				}
			}
		})
	}
	wg.Wait()
	after, err := b.Ledger().Budget(ctx)
	if got := len(after.Starts) - len(before.Starts); err != nil || got != writers*each {
		t.Errorf("got %d starts, %v, want %d", got, err, writers*each)
	}
	refused := errors.New("no")
	if err := a.Ledger().Change(ctx, func(capture.Budget) (capture.Budget, error) { return capture.Budget{}, refused }); !errors.Is(err, refused) {
		t.Errorf("refusing change: got %v, want the function's error", err)
	}
	if v, err := a.Ledger().Budget(ctx); err != nil || len(v.Starts) != len(after.Starts) {
		t.Errorf("a refused change changed the budget: %v", err)
	}
}

func filesConform(t *testing.T, a, b *jet.Jet) {
	ctx := within(t)
	data := make([]byte, 700_000)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	id := key(t, "cap")
	for _, d := range [][]byte{data, {}, data[:1000]} {
		if err := a.Profiles().PutProfile(ctx, id, d); err != nil {
			t.Fatalf("put %d bytes: %v", len(d), err)
		}
		got, err := b.Profiles().Profile(ctx, id)
		if err != nil || !bytes.Equal(got, d) {
			t.Errorf("got %d bytes, %v, want the %d that were put", len(got), err, len(d))
		}
	}
	if _, err := b.Profiles().File(ctx, "none"); !errors.Is(err, capture.ErrNotFound) {
		t.Errorf("no file: got %v, want ErrNotFound", err)
	}
	name := "png/" + id + "/../<x>.png"
	if err := a.Profiles().PutFile(ctx, name, data[:10]); err != nil {
		t.Fatal(err)
	}
	r, size, err := b.Profiles().OpenFile(ctx, name)
	if err != nil || size != 10 {
		t.Fatalf("open file: got size %d, %v, want 10", size, err)
	}
	_ = r.Close()
	for range 2 {
		if err := b.Profiles().DeleteFile(ctx, name); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	if _, err := a.Profiles().File(ctx, name); !errors.Is(err, capture.ErrNotFound) {
		t.Errorf("after delete: got %v, want ErrNotFound", err)
	}
}

func target(t *testing.T) capture.Target {
	t.Helper()
	return capture.Target{Kind: capture.Worker, Script: key(t, "w")}
}
