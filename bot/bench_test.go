package bot_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/triggers"
)

// BenchmarkDesk is what an incident costs beside the store: opening one with its
// effects handed over, joining it in a storm, and counting a batch on one that
// is a day old. The yardstick is one read of such a case from the store.
func BenchmarkDesk(b *testing.B) {
	old := bot.New(overload(start, objectID), bot.Opening{ID: "old", Now: start}, bot.Policy{})
	for i := range 200 {
		now := start.Add(time.Duration(i) * 7 * time.Minute)
		old = old.Tallied(triggers.Tally{
			Count: 100, Last: now, PerMinute: map[int64]int64{now.Unix() / 60: 100},
			Routes: map[string]int64{fmt.Sprintf("GET /route/%d", i): 1}, Colos: map[string]int64{fmt.Sprintf("C%d", i%40): 1},
		}, now)
	}
	b.Run("yardstick/read", func(b *testing.B) {
		s := newStore()
		if _, err := s.PutCase(b.Context(), old, 0); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, _, err := s.OpenCase(b.Context(), old.Key); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("open", func(b *testing.B) {
		d := desk(&process{s: newStore()}, time.Now, ids(), nil)
		for i := 0; b.Loop(); i++ {
			if _, err := d.Handle(b.Context(), overload(time.Now(), fmt.Sprintf("%064x", i))); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("join", func(b *testing.B) {
		p := &process{s: newStore()}
		d := desk(p, time.Now, ids(), nil)
		p.s.watch = append(p.s.watch, d.Saw)
		for b.Loop() {
			if _, err := d.Handle(b.Context(), overload(time.Now(), objectID)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tally", func(b *testing.B) {
		s := newStore()
		d := desk(&process{s: s}, func() time.Time { return old.ActiveAt }, ids(), nil)
		if _, err := s.PutCase(b.Context(), old, 0); err != nil {
			b.Fatal(err)
		}
		t := triggers.Tally{IncidentKey: old.Key, IncidentID: old.ID, Count: 500, Last: old.LastAt}
		for b.Loop() {
			if err := d.Tally(b.Context(), []triggers.Tally{t}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
