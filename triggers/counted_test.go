package triggers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snapflame/snapflame/triggers"
)

// at is when the stream stored a message: the later, the higher its number.
func at(sequence uint64) time.Time { return time.Unix(1_800_000_000, int64(sequence)) }

func TestCountedAgainstAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var c triggers.Counted
		want := map[uint64]int{}
		for range 40 {
			seq, n := uint64(rng.IntN(60)), 1+rng.IntN(2)
			one := triggers.CountedOne(seq, n, at(seq))
			if got := c.Covers(one); got != (want[seq] >= n) {
				t.Fatalf("%d × %d is covered: %v, counted %v", seq, n, got, want)
			}
			c = c.With(one)
			want[seq] = max(want[seq], n)
		}
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var back triggers.Counted
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		for seq := range uint64(60) {
			for n := 1; n < 5; n++ {
				if got := back.Covers(triggers.CountedOne(seq, n, at(seq))); got != (want[seq] >= n) {
					t.Fatalf("%d × %d is covered: %v, counted %d", seq, n, got, want[seq])
				}
			}
		}
	}
}

func TestCountedOverlaps(t *testing.T) {
	of := func(from, to uint64, n int) triggers.Counted {
		c := triggers.CountedOne(from, n, at(from))
		for s := from + 1; s <= to; s++ {
			c = c.With(triggers.CountedOne(s, n, at(s)))
		}
		return c
	}
	have := of(10, 20, 2)
	for _, tt := range []struct {
		name string
		d    triggers.Counted
		want bool
	}{
		{"before", of(5, 9, 1), false},
		{"after", of(21, 30, 1), false},
		{"the last and more", of(20, 30, 2), true},
		{"the first and older", of(5, 10, 1), true},
		{"inside", of(12, 13, 2), true},
		{"further in the same messages", of(12, 13, 3), false},
		{"of a younger stream", triggers.CountedOne(12, 1, at(500)), false},
		{"nothing", triggers.Counted{}, false},
	} {
		if got := have.Overlaps(tt.d); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestCountedIsBoundedAndKeepsTheNewest(t *testing.T) {
	var c triggers.Counted
	for seq := uint64(0); seq < 4000; seq += 2 { // no two of them in a row
		c = c.With(triggers.CountedOne(seq, 1, at(seq)))
	}
	if len(c.Runs) > 3<<10 {
		t.Errorf("%d bytes", len(c.Runs))
	}
	if !c.Covers(triggers.CountedOne(3998, 1, at(3998))) || c.Covers(triggers.CountedOne(0, 1, at(0))) {
		t.Error("it has forgotten the newest or kept the oldest")
	}
	for seq := uint64(4000); seq < 6000; seq++ {
		c = c.With(triggers.CountedOne(seq, 1, at(seq)))
	}
	if !c.Covers(triggers.CountedOne(4000, 1, at(4000))) || len(c.Runs) > 3<<10 {
		t.Errorf("two thousand in a row are one run; %d bytes", len(c.Runs))
	}
}

func TestCountedOfAnotherStream(t *testing.T) {
	old := triggers.CountedOne(5, 1, at(5)).With(triggers.CountedOne(6, 1, at(6)))
	again := triggers.CountedOne(5, 1, at(5000)) // the stream was made anew
	if old.Covers(again) {
		t.Error("a message of a new stream counts as one of the old")
	}
	if c := old.With(again); c.Covers(triggers.CountedOne(6, 1, at(4000))) {
		t.Error("the old stream's numbers are believed of the new one")
	}
}

func TestCountedThatCannotBeRead(t *testing.T) {
	for _, runs := range []string{"\xff", "\x01", "\x01\x02", "\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		c := triggers.Counted{At: at(9), To: 9, Runs: []byte(runs)}
		if c.Covers(triggers.CountedOne(1, 1, at(1))) {
			t.Errorf("%q covers something", runs)
		}
		if c := c.With(triggers.CountedOne(3, 1, at(3))); !c.Covers(triggers.CountedOne(3, 1, at(3))) {
			t.Errorf("nothing can be added to %q", runs)
		}
	}
}

// Every message comes again, as after a crash that lost the acknowledgements:
// to another listener, in other batches. Some hold several events, some are of
// an incident that is opened by a part of them.
func TestListenerCountsWhatComesAgainOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		q := newQueue()
		want := map[string]int64{}
		key := func(script string) string {
			return triggers.Decision{Class: triggers.ClassExceededCPU, Target: triggers.Target{Kind: triggers.TargetWorker, Script: script}}.IncidentKey()
		}
		for i := range 3000 {
			script := fmt.Sprintf("s%d", i%7)
			text, n := failing(script), 1
			if i%5 == 0 {
				text, n = "["+failing(script)+","+healthy("x")+","+failing(script)+"]", 2
			}
			q.publish(text)
			want[key(script)] += int64(n)
			time.Sleep(time.Millisecond) // each has its own time
		}
		for round, size := range []int{700, 64, 1000} {
			again := newQueue()
			for _, m := range q.all {
				again.all, again.ready = append(again.all, m), append(again.ready, m)
				m.q, m.acks = again, 0
			}
			if round == 1 { // and the last of them for the first time
				again.publish(failing("s0"))
				again.all[len(again.all)-1].n = 3001
				want[key("s0")]++
			}
			listen(t, again, d, triggers.Options{Batch: size}, func() { time.Sleep(5 * time.Second) })
			if again.open() != 0 {
				t.Errorf("round %d: %d messages are not acknowledged", round, again.open())
			}
			for key, n := range want {
				if d.counts[key] != n {
					t.Errorf("round %d: %s counts %d, want %d", round, key, d.counts[key], n)
				}
			}
			if len(d.counts) != len(want) {
				t.Errorf("round %d: counts %v", round, d.counts)
			}
		}
	})
}

// What is known of an incident may be older than the incident: a tally of which
// a part is counted comes again, and then its parts are told apart.
func TestListenerTellsTheCountedPartOfATally(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, q := newDesk(), newQueue()
		for range 10 {
			q.publish(failing("s"))
			time.Sleep(time.Millisecond)
		}
		listen(t, q, d, triggers.Options{}, func() { time.Sleep(3 * time.Second) })
		again := newQueue()
		for _, m := range q.all {
			again.all, again.ready = append(again.all, m), append(again.ready, m)
			m.q, m.acks = again, 0
		}
		for range 5 {
			again.publish(failing("s"))
			time.Sleep(time.Millisecond)
		}
		d.behind = true
		s := listen(t, again, d, triggers.Options{}, func() { time.Sleep(time.Minute) })
		for key, n := range d.counts {
			if n != 15 {
				t.Errorf("%s counts %d, want 15; %v", key, n, s.troubles)
			}
		}
		if again.open() != 0 {
			t.Errorf("%d messages are not acknowledged; %v", again.open(), s.troubles)
		}
	})
}

// A message with a few events of one incident, the first of which opens it, and
// then the same with the tally lost: alone in its batch, nothing else shows that
// there is more to count than the event that opened.
func TestListenerCountsTheRestOfTheMessageThatOpened(t *testing.T) {
	for n := 1; n <= 4; n++ {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d events, tally lost %v", n, lost), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d, q := newDesk(), newQueue()
					q.publish("[" + strings.Repeat(failing("s")+",", n-1) + failing("s") + "]")
					if lost {
						d.tallyErr = errors.New("no answer")
					}
					s := listen(t, q, d, triggers.Options{}, func() {
						time.Sleep(3 * time.Second)
						d.mu.Lock()
						d.tallyErr = nil
						d.mu.Unlock()
						time.Sleep(time.Minute)
					})
					if q.open() != 0 {
						t.Errorf("%d messages are not acknowledged; %v", q.open(), s.troubles)
					}
					for key, got := range d.counts {
						if got != int64(n) {
							t.Errorf("%s counts %d, want %d", key, got, n)
						}
					}
					if len(d.counts) != 1 {
						t.Errorf("counts %v", d.counts)
					}
				})
			})
		}
	}
}
