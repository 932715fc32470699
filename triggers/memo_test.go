package triggers_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snapflame/snapflame/triggers"
)

// agree says how a memory that was shown before sees data, and fails when it
// sees anything else than decoding and deciding it does.
func agree(t *testing.T, s triggers.State, before, data []byte) (recalled int) {
	t.Helper()
	const subject = "workers.events.s"
	m := triggers.NewMemory(s, now())
	m.Learn(subject, before)
	events, _ := triggers.Decode(subject, data)
	events = slices.DeleteFunc(events, func(e triggers.Event) bool { return e.Shape != triggers.ShapeTail })
	for i, got := range m.Recall(subject, data) {
		if i < 0 || i >= len(events) {
			t.Fatalf("recalled record %d of the %d that can be read in %s", i, len(events), data)
		}
		recalled++
		e := events[i]
		d := triggers.Decide(e, s, now())
		e.Texts, e.RayID, e.RequestID, e.Status, e.Truncated = nil, "", "", 0, false
		if d.Action == triggers.ActionIgnore || !reflect.DeepEqual(got.Event, e) {
			t.Fatalf("after  %s\nof     %s\nrecalled %+v\ndecoded  %+v (%s)", before, data, got.Event, e, d.Action)
		}
		note := triggers.Decision{Class: d.Class, Target: d.Target, Attribution: d.Attribution, Event: triggers.Event{Script: e.Script}}
		if got.Class != d.Class || got.Sub != d.Subclass || got.Key != d.IncidentKey() || got.Quiet != d.Quiet || !reflect.DeepEqual(got.Note, note) {
			t.Fatalf("after  %s\nof     %s\nrecalled %+v\ndecided  %+v", before, data, got, d)
		}
	}
	return recalled
}

// memoRules match by everything that a rule can match by.
func memoRules(t testing.TB) *triggers.Rules {
	t.Helper()
	return compile(t,
		triggers.Rule{Name: "staging", Match: triggers.Match{Environment: "staging"}, Ignore: true},
		triggers.Rule{Name: "seven", Match: triggers.Match{Text: `timestamp=\d*7|7 ms`}, Quiet: time.Minute},
		triggers.Rule{Name: "rooms", Match: triggers.Match{Class: triggers.ClassOverloaded, Entrypoint: "Room*"}, Profile: triggers.ProfileNone},
		triggers.Rule{Name: "gateway", Match: triggers.Match{Script: "edge-*", Subclass: triggers.SubclassRequestsQueued}, Quiet: time.Hour},
		triggers.Rule{Name: "many", Match: triggers.Match{Class: triggers.ClassExceededCPU, Count: 3}},
		triggers.Rule{Name: "any"},
	)
}

// mutate changes one thing in a record, or some.
func mutate(r *rand.Rand, record []byte) []byte {
	out := bytes.Clone(record)
	for range 1 + r.IntN(2) {
		switch r.IntN(6) {
		case 0: // a number, mostly a time
			out = replaceOne(r, out, `\d+`, strconv.Itoa(r.IntN(2_000_000_000)))
		case 1: // a string, by another of the record
			all := regexp.MustCompile(`"[^"\\]*"`).FindAll(out, -1)
			out = replaceOne(r, out, `"[^"\\]*"`, string(all[r.IntN(len(all))]))
		case 2: // a member that is there twice, the last with another value
			out = replaceOne(r, out, `\{`, `{`+[]string{
				`"timestamp":17,`, `"timestamp":{"a":"` + idA + `"},`, `"timestampMs":"x",`, `"Timestamp":5,`, `"message":["x"],`, `"scriptName":"other",`, `"outcome":"ok",`, `"logs":[],`, `"exceptions":[{"timestamp":3,"message":"Worker exceeded CPU time limit."}],`,
			}[r.IntN(9)])
		case 3: // letters
			out = replaceOne(r, out, `[a-z]`, string(rune('a'+r.IntN(26))))
		case 4: // white space
			out = replaceOne(r, out, `[,:]`, ` , `)
		case 5: // what a message can hold beside
			out = append([]byte(`[{"scriptName":"x","outcome":"ok","logs":[{"timestamp":1}]},`), append(out, ']')...)
			if r.IntN(2) == 0 {
				out = append(bytes.Clone(record), append([]byte("\n"), record...)...)
			}
		}
	}
	return out
}

func replaceOne(r *rand.Rand, in []byte, pattern, by string) []byte {
	all := regexp.MustCompile(pattern).FindAllIndex(in, -1)
	if len(all) == 0 {
		return in
	}
	at := all[r.IntN(len(all))]
	return slices.Concat(in[:at[0]], []byte(by), in[at[1]:])
}

// TestMemoAgrees: what is remembered of a record is what its like would be
// decoded and decided to, however a record is changed.
func TestMemoAgrees(t *testing.T) {
	seeds := append(recorded(t, triggers.ShapeTail), storm(1), sized(benchHealthy),
		[]byte(`{"scriptName":"edge-x","outcome":"ok","logs":[{"timestamp":7,"message":["took 7 ms",{"timestamp":17}]},{"timestampMs":8,"message":["Durable Object is overloaded. Too many requests queued.","`+idA+`"]}]}`),
		[]byte(`{"scriptName":"edge-x","scriptTags":["cf:environment=staging"],"executionModel":"durableObject","entrypoint":"Room","durableObjectId":"`+idA+`","outcome":"exceededMemory","logs":{"timestamp":7}}`))
	r := rand.New(rand.NewPCG(1, 2))
	states := []triggers.State{
		{Rules: builtin(t)},
		{Rules: memoRules(t), Counts: new(triggers.Counts)},
		{Rules: builtin(t), Silences: []triggers.Silence{{Script: "edge-*", Class: triggers.ClassExceededCPU, Until: now().Add(time.Hour)}}},
	}
	recalled, same := 0, 0
	for i := range 2000 {
		seed, s := seeds[r.IntN(len(seeds))], states[i%len(states)]
		other := mutate(r, seed)
		n := agree(t, s, seed, other)
		recalled += n
		if n > 0 && !bytes.Equal(seed, other) {
			same++
		}
	}
	if same < 200 {
		t.Errorf("%d recalled, %d of them of a record that was changed: too few to mean anything", recalled, same)
	}
}

// FuzzMemo needs -fuzzminimizetime=1x: hashing is seeded anew each time, so that
// coverage varies and go test would minimize for ever.
func FuzzMemo(f *testing.F) {
	for _, line := range recorded(f, triggers.ShapeTail) {
		f.Add(line, line)
	}
	f.Add(storm(1), storm(2))
	rules, counting := builtin(f), memoRules(f)
	f.Fuzz(func(t *testing.T, before, data []byte) {
		agree(t, triggers.State{Rules: rules}, before, data)
		agree(t, triggers.State{Rules: counting, Counts: new(triggers.Counts)}, data, data)
	})
}

// TestMemoCountsAlike: a listener that remembers opens, counts and observes what
// one that does not does, in batches of any size.
func TestMemoCountsAlike(t *testing.T) {
	type outcome struct {
		events, counts map[string]int64
		tallies        map[string]triggers.Tally
		objects        map[string]triggers.Load
	}
	run := func(t *testing.T, forgetful bool) (out outcome) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			q, d, s := newQueue(), newDesk(), &seen{}
			for _, line := range traffic(r, 4000) {
				q.publish(line)
			}
			index, until := triggers.NewIndex(time.Now), time.Now().Add(time.Hour)
			l, err := triggers.NewListener(q, d, d, s.options(triggers.Options{
				Batch: 300, Index: index, Rules: memoRules(t), Recent: triggers.NewRecent(10),
				Silences: func(context.Context, time.Time) []triggers.Silence {
					return []triggers.Silence{{Script: "worker-3", Until: until}}
				},
			}))
			if err != nil {
				t.Fatal(err)
			}
			if forgetful {
				l.Forgetful()
			}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- l.Run(ctx) }()
			time.Sleep(time.Minute)
			stop()
			<-done
			if q.open() != 0 || len(s.troubles) > 0 {
				t.Errorf("%d open, troubles %v", q.open(), s.troubles)
			}
			out = outcome{s.events, d.counts, map[string]triggers.Tally{}, map[string]triggers.Load{}}
			for _, load := range index.Hottest("", 100) {
				out.objects[load.Target.ObjectID] = load
			}
			for _, one := range d.tallies {
				out.tallies[one.IncidentKey] = plus(out.tallies[one.IncidentKey], one)
			}
		})
		return out
	}
	got, want := run(t, false), run(t, true)
	if !maps.Equal(got.events, want.events) || !maps.Equal(got.counts, want.counts) {
		t.Errorf("with a memory %v %v, without %v %v", got.events, got.counts, want.events, want.counts)
	}
	for key, tally := range want.tallies {
		if !reflect.DeepEqual(got.tallies[key], tally) {
			t.Errorf("%s with a memory\n%+v\nwithout\n%+v", key, got.tallies[key], tally)
		}
	}
	if !maps.Equal(got.objects, want.objects) {
		t.Errorf("objects with a memory\n%+v\nwithout\n%+v", got.objects, want.objects)
	}
	if len(got.tallies) < 15 || len(got.objects) == 0 {
		t.Errorf("%d incidents, %d objects: too few to mean anything", len(got.tallies), len(got.objects))
	}
}

// traffic is what Workers in trouble send: records that are alike but for their
// times and requests, others that are not, and healthy ones.
func traffic(r *rand.Rand, n int) (lines []string) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	for range n {
		w := r.IntN(8)
		script, at := fmt.Sprintf("worker-%d", w), time.Now().UnixMilli()-r.Int64N(200_000)
		head := fmt.Sprintf(`{"scriptName":%q,"scriptVersion":{"id":%q},"scriptTags":["cf:environment=%s"],"cpuTime":%d,"wallTime":%d,"eventTimestamp":%d,`,
			script, pick("v1", "v2", ""), pick("production", "production", "staging"), r.IntN(100), r.IntN(1000), at)
		switch r.IntN(4) {
		case 0:
			head += `"event":{"rpcMethod":"` + pick("get", "put") + `"},`
		case 1:
			head += `"event":{"scheduledTime":1},`
		default:
			head += fmt.Sprintf(`"event":{"request":{"method":"%s","url":"https://x/%s?q=%d","headers":{"content-length":"%d"},"cf":{"colo":"%s"}},"response":{"status":503}},`,
				pick("GET", "POST", "P\\u0055T"), pick("a", "b", "c/d", "\\u0065"), r.IntN(1000), r.IntN(100_000), pick("FRA", "SIN", "x\xff"))
		}
		object := fmt.Sprintf("%064x", 16*w+r.IntN(3))
		switch r.IntN(6) {
		case 0:
			head += `"executionModel":"stateless","outcome":"exceededCpu","exceptions":[{"timestamp":` + strconv.FormatInt(at, 10) + `,"message":"Worker exceeded CPU time limit."}]}`
		case 1:
			head += `"executionModel":"durableObject","entrypoint":"Room","durableObjectId":"` + object + `","outcome":"` + pick("ok", "exceededMemory") + `","logs":[]}`
		case 2:
			head += `"outcome":"ok","logs":[{"timestamp":` + strconv.FormatInt(at, 10) + `,"message":["took ` + strconv.Itoa(r.IntN(50)) + ` ms","Durable Object is overloaded. Requests queued for too long.",{"id":"` + object + `"}]}]}`
		case 3:
			head += `"outcome":"ok","exceptions":[]}`
		default:
			head += `"outcome":"exception","logs":[{"level":"error","timestamp":` + strconv.FormatInt(at, 10) + `,"message":[{"msg":"Durable Object is overloaded. Too many requests queued.","id":"` + object + `"}]}]}`
		}
		lines = append(lines, head)
	}
	return lines
}

// plus adds b to a.
func plus(a, b triggers.Tally) triggers.Tally {
	if a.Count == 0 {
		b.IncidentID, b.Slots = "", maps.Clone(b.Slots)
		return b
	}
	a.Count, a.MaxSize, a.Sizes = a.Count+b.Count, max(a.MaxSize, b.MaxSize), append(a.Sizes, b.Sizes...)
	for _, m := range []struct{ to, from *map[string]int64 }{{&a.Versions, &b.Versions}, {&a.Routes, &b.Routes}, {&a.Colos, &b.Colos}, {&a.Scripts, &b.Scripts}} {
		*m.to = added(*m.to, *m.from)
	}
	a.PerMinute, a.Subclasses = added(a.PerMinute, b.PerMinute), added(a.Subclasses, b.Subclasses)
	for slot, versions := range b.Slots {
		a.Slots[slot] = added(a.Slots[slot], versions)
	}
	return a
}

func added[K comparable](a, b map[K]int64) map[K]int64 {
	out := maps.Clone(a)
	if out == nil {
		out = map[K]int64{}
	}
	for k, n := range b {
		out[k] += n
	}
	return out
}
