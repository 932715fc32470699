package triggers_test

import (
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/triggers"
)

var (
	curve   = flag.Bool("curve", false, "run the long simulation of the hot-object index and write testdata/index-curve.txt")
	heapNow = func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
)

// world is simulated traffic: Zipf-distributed requests to the objects of
// several namespaces, each of whose objects costs something different. Healthy
// objects use at most 60 % of a thread. An overloaded one is asked for more
// than it can do; it serves what it can, and the callers of the rest fail.
type world struct {
	rng     *rand.Rand
	clock   time.Time
	index   *triggers.Index
	objects int // per namespace
	rate    float64
	spaces  []simSpace
	delayed [][]triggers.Event // load lines on their way, by second
	sampled float64            // share of the load lines that arrive
}

type simSpace struct {
	script string
	zipf   *rand.Zipf
	cost   []float32 // CPU seconds of a request
	hot    int       // the overloaded object, or -1
	since  time.Time
	kind   int
}

func newWorld(seed uint64, spaces, objects int, rate, sampled float64) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 7)), clock: now(), objects: objects, rate: rate, sampled: sampled, delayed: make([][]triggers.Event, 8)}
	w.index = triggers.NewIndex(func() time.Time { return w.clock })
	sum := 0.0
	for i := range objects {
		sum += math.Pow(20+float64(i), -1.07)
	}
	for i := range spaces {
		s := simSpace{script: fmt.Sprintf("api-%d", i), zipf: rand.NewZipf(w.rng, 1.07, 20, uint64(objects-1)), cost: make([]float32, objects), hot: -1}
		for k := range s.cost {
			cost := 0.001 * math.Exp(w.rng.NormFloat64())
			perSecond := rate / float64(spaces) * math.Pow(20+float64(k), -1.07) / sum
			s.cost[k] = float32(min(cost, 0.6/perSecond))
		}
		w.spaces = append(w.spaces, s)
	}
	return w
}

func (w *world) id(space, object int) string {
	var b [32]byte
	binary.LittleEndian.PutUint64(b[:], uint64(object)*0x9e3779b97f4a7c15+uint64(space))
	binary.LittleEndian.PutUint64(b[16:], uint64(space)<<32|uint64(object))
	return hex.EncodeToString(b[:])
}

func (w *world) line(space, object int, cpu, wall float64, count int64) {
	if w.sampled < 1 && w.rng.Float64() >= w.sampled {
		return
	}
	e := triggers.Event{
		Shape: triggers.ShapeLoad, Script: w.spaces[space].script, Entrypoint: "Object", ObjectID: w.id(space, object), VersionID: "v1",
		ExecutionModel: "durableObject", Outcome: "ok", CPU: time.Duration(cpu * 1e9), Wall: time.Duration(wall * 1e9), Count: count,
	}
	// The Tail Worker runs after the invocation and sends in batches: 0 to 2 s.
	late := w.rng.IntN(3)
	w.delayed[late] = append(w.delayed[late], e)
}

// second lets one second pass.
func (w *world) second() {
	for i := range w.spaces {
		s := &w.spaces[i]
		n := int(w.rate/float64(len(w.spaces)) + w.rng.NormFloat64()*math.Sqrt(w.rate/float64(len(w.spaces))))
		for range n {
			k := int(s.zipf.Uint64())
			if k == s.hot {
				continue
			}
			cpu := float64(s.cost[k]) * (0.5 + w.rng.ExpFloat64()/2)
			w.line(i, k, cpu, cpu+0.01*w.rng.ExpFloat64(), 1)
		}
		if s.hot < 0 {
			continue
		}
		noise := 1 + 0.05*w.rng.NormFloat64()
		waited := min(w.clock.Sub(s.since).Seconds(), 10)
		switch s.kind {
		case 0: // out of CPU, in few heavy requests
			w.line(i, s.hot, min(0.97*noise, 1), 15*waited, 15)
		case 1: // out of CPU, in many cheap ones
			w.line(i, s.hot, min(0.97*noise, 1), 600*waited/4, 600)
		default: // more requests than one object takes
			w.line(i, s.hot, 0.4*noise, 300, int64(1050*noise))
		}
	}
	due := w.delayed[0]
	copy(w.delayed, w.delayed[1:])
	w.delayed[len(w.delayed)-1] = due[:0:0]
	for j, e := range due {
		if j%64 == 0 {
			w.clock = w.clock.Add(time.Second * 64 / time.Duration(len(due)+64))
		}
		w.index.Add(e)
	}
	w.clock = w.clock.Truncate(time.Second).Add(time.Second)
}

type tally struct{ right, wrong, unknown, listed int }

func (t tally) String() string {
	n := float64(max(t.right+t.wrong+t.unknown, 1))
	return fmt.Sprintf("%6.1f %% %6.1f %% %6.1f %% %6.1f %%", 100*float64(t.right)/n, 100*float64(t.wrong)/n, 100*float64(t.unknown)/n, 100*float64(t.listed)/n)
}

// episodes overloads one object in each namespace at a time, and asks for it at
// several moments, as the callers' records come in.
func (w *world) episodes(n, warm, length int, ask []int) map[int]tally {
	got := map[int]tally{}
	for range warm {
		w.second()
	}
	for range n {
		for i := range w.spaces {
			s := &w.spaces[i]
			s.hot, s.kind, s.since = int(s.zipf.Uint64()), w.rng.IntN(3), w.clock
			if w.rng.IntN(2) == 0 {
				s.hot = w.rng.IntN(w.objects) // one that nobody knew
			}
		}
		for second := 1; second <= length; second++ {
			w.second()
			for _, at := range ask {
				if second != at {
					continue
				}
				t := got[at]
				for i := range w.spaces {
					w.ask(&t, i)
				}
				got[at] = t
			}
		}
		for i := range w.spaces {
			w.spaces[i].hot = -1
		}
		for range 60 {
			w.second()
		}
	}
	return got
}

func (w *world) ask(t *tally, space int) {
	want := w.id(space, w.spaces[space].hot)
	s := w.index.Suspect(triggers.Event{Shape: triggers.ShapeTail, Script: w.spaces[space].script, ExecutionModel: "stateless"})
	switch {
	case s.Named && s.Target.ObjectID == want:
		t.right++
	case s.Named:
		t.wrong++
	default:
		t.unknown++
	}
	for _, c := range s.Candidates {
		if c.Target.ObjectID == want {
			t.listed++
		}
	}
}

func sum(m map[int]tally, from int) (all tally) {
	for at, t := range m {
		if at >= from {
			all.right, all.wrong, all.unknown, all.listed = all.right+t.right, all.wrong+t.wrong, all.unknown+t.unknown, all.listed+t.listed
		}
	}
	return all
}

func TestIndexNamesTheOverloadedObject(t *testing.T) {
	w := newWorld(1, 3, 40_000, 1_500, 1)
	got := w.episodes(3, 30, 60, []int{2, 5, 10, 15, 20, 30, 60})
	late, all := sum(got, 15), sum(got, 0)
	if n := late.right + late.wrong + late.unknown; float64(late.right) < 0.95*float64(n) {
		t.Errorf("from 15 s on the right object was named in %d of %d cases", late.right, n)
	}
	if n := all.right + all.wrong + all.unknown; float64(all.wrong) > 0.01*float64(n) {
		t.Errorf("a wrong object was named in %d of %d cases", all.wrong, n)
	}
	for _, at := range []int{2, 5, 10, 15, 20, 30, 60} {
		t.Logf("%2d s: %s", at, got[at])
	}
	t.Logf("from 15 s: %+v; always: %+v", late, all)
}

// TestIndexCurve is the published simulation; see -curve.
func TestIndexCurve(t *testing.T) {
	if !*curve {
		t.Skip("run with -curve; it takes some minutes")
	}
	ask := []int{1, 2, 3, 5, 8, 10, 12, 15, 20, 30, 45, 60}
	var b strings.Builder
	w := newWorld(1, 4, 250_000, 20_000, 1)
	got := w.episodes(10, 60, 60, ask)
	with := heapNow()
	w.index = nil
	size := with - heapNow()
	runtime.KeepAlive(w)
	fmt.Fprintf(&b, "Hot-object index: who was overloaded, asked with the callers' records only.\n")
	fmt.Fprintf(&b, "1,000,000 objects in 4 namespaces, Zipf 1.07, 20,000 requests/s, healthy load lines of all objects 0 to 2 s late,\n")
	fmt.Fprintf(&b, "healthy objects use up to 60 %% of a thread; one overloaded object in each namespace at once, 10 times.\n")
	fmt.Fprintf(&b, "Memory of the index: %.1f MiB.\n\n", float64(size)/(1<<20))
	fmt.Fprintf(&b, "seconds since\nsaturation       right    wrong  unknown   listed among 5\n")
	for _, at := range ask {
		fmt.Fprintf(&b, "%11d  %s\n", at, got[at])
	}
	fmt.Fprintf(&b, "%11s  %s\n", ">= 15", sum(got, 15))
	fmt.Fprintf(&b, "\nWhen fewer load lines arrive (100,000 objects, 5,000 requests/s, 10 episodes, asked after 30 s):\n")
	for _, share := range []float64{1, 0.8, 0.6, 0.5, 0.4, 0.2, 0} {
		w := newWorld(2, 2, 50_000, 5_000, share)
		fmt.Fprintf(&b, "%8.0f %%    %s\n", share*100, w.episodes(10, 40, 30, []int{30})[30])
	}
	t.Log("\n" + b.String())
	if err := os.WriteFile("testdata/index-curve.txt", []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if size > 64<<20 {
		t.Errorf("the index takes %d bytes", size)
	}
	if late := sum(got, 15); float64(late.right) < 0.95*float64(late.right+late.wrong+late.unknown) {
		t.Errorf("from 15 s on: %+v", late)
	}
	if all := sum(got, 0); float64(all.wrong) > 0.01*float64(all.right+all.wrong+all.unknown) {
		t.Errorf("wrong: %+v", all)
	}
}
