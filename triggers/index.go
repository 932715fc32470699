package triggers

import (
	"cmp"
	"encoding/hex"
	"slices"
	"sync"
	"time"
)

// Bounds of the index. An entry takes about 170 bytes with its place in the
// map, so that all of it stays within 64 MiB.
const (
	indexEntries    = 1 << 18 // in all namespaces together
	namespaceMost   = 1 << 16 // in one
	namespaceLeast  = 1 << 10
	namespaceCount  = 128
	versionsKept    = 64 // version ids per namespace
	coverageGap     = time.Minute
	hotAt, coolAt   = 0.5, 0.3
	overloadedRate  = 1000 // requests a second that one object takes at most (Durable Objects limits)
	overloadedQueue = 200  // requests in flight in one object that are a queue
)

// Namespace is the Durable Objects of one class of one Worker.
type Namespace struct {
	Script            string `json:"script"`
	Entrypoint        string `json:"entrypoint"`
	DispatchNamespace string `json:"dispatch_namespace,omitempty"`
}

// Index keeps the heaviest Durable Objects of every namespace over the last
// minutes, from healthy records and load lines. It is soft state: a restart
// empties it, and it says since when it knows. It is safe for concurrent use.
type Index struct {
	now func() time.Time

	mu       sync.Mutex
	spaces   map[Namespace]*space
	entries  int                    // the sum of all limits
	bindings map[string][]Namespace // caller script → namespaces it is known to call
}

// space is a namespace with its sketch and what is cached of it.
type space struct {
	Namespace
	sketch   *sketch
	used     time.Time
	versions []string
	hottest  []Load // by pressure
	asOf     time.Time
}

// NewIndex returns an empty index that reads the time from now.
func NewIndex(now func() time.Time) *Index {
	return &Index{now: now, spaces: make(map[Namespace]*space), bindings: make(map[string][]Namespace)}
}

// Window is the time constant of the rates in a Load: over a steady load, a
// rate times it is what the object did in the last minutes.
func (*Index) Window() time.Duration { return longWindow }

// Since is when the namespace of a script (of any, when empty) that has been
// known longest began to send healthy invocations without a gap; zero when none
// does.
func (ix *Index) Since(script string) (since time.Time) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for _, s := range ix.spaces {
		if at := s.sketch.since; (script == "" || s.Script == script) && !at.IsZero() && (since.IsZero() || at.Before(since)) {
			since = at
		}
	}
	return since
}

// Add counts a record or load line of a Durable Object's own. Anything else is
// passed over: callers' records, console lines, child spans.
func (ix *Index) Add(e Event) {
	if !indexed(&e) {
		return
	}
	var id [32]byte
	if _, err := hex.Decode(id[:], []byte(e.ObjectID)); err != nil {
		return
	}
	n := float64(max(e.Count, 1))
	failed := float64(e.Errors)
	if e.Shape != ShapeLoad && e.Outcome != "ok" {
		failed = n
	}
	// One invocation is at most one request in flight: a WebSocket that ends
	// after hours says nothing about the last ten seconds.
	wall := min(e.Wall.Seconds(), n*shortWindow.Seconds())
	cpu := min(e.CPU.Seconds(), 3*n*shortWindow.Seconds())

	ix.mu.Lock()
	defer ix.mu.Unlock()
	now := ix.now()
	s := ix.space(Namespace{e.Script, e.Entrypoint, e.DispatchNamespace}, now)
	k := s.sketch
	en := k.add(&id, [metrics]float64{cpu, wall, n, failed}, now, func() bool { return ix.grow(s) })
	if n > failed {
		if k.last.IsZero() || now.Sub(k.last) > coverageGap {
			k.since = now
		}
		_, long := k.weights(now)
		k.healthy += (n - failed) * long
		k.last = now
	}
	if en == nil {
		return
	}
	en.version, en.last = s.version(e.VersionID), now.Unix()
	switch p := pressure(en, k.scales(now)[0]); {
	case p >= hotAt && en.hot == 0:
		en.hot = now.Unix()
	case p < coolAt:
		en.hot = 0
	}
}

// indexed says whether e is an invocation of a Durable Object.
func indexed(e *Event) bool {
	if !isObjectID(e.ObjectID) || e.Outcome == "" || e.ExecutionModel != "durableObject" && e.ExecutionModel != "stateful" {
		return false
	}
	return e.Shape == ShapeLoad || e.Shape == ShapeTail || e.Shape == ShapeOTLPTraces || e.Shape == ShapeWorkersLogs && e.CPU+e.Wall > 0
}

// space finds or makes the namespace's place; the longest-unused goes when
// there are too many.
func (ix *Index) space(n Namespace, now time.Time) *space {
	s := ix.spaces[n]
	if s == nil {
		if len(ix.spaces) >= namespaceCount {
			oldest := s
			for _, o := range ix.spaces {
				if oldest == nil || o.used.Before(oldest.used) {
					oldest = o
				}
			}
			ix.entries -= oldest.sketch.limit
			delete(ix.spaces, oldest.Namespace)
		}
		s = &space{Namespace: Namespace{clone(n.Script), clone(n.Entrypoint), clone(n.DispatchNamespace)}, sketch: newSketch(namespaceLeast, now)}
		ix.spaces[s.Namespace] = s
		ix.entries += namespaceLeast
	}
	s.used = now
	return s
}

func (ix *Index) grow(s *space) bool {
	if s.sketch.limit*2 > namespaceMost || ix.entries+s.sketch.limit > indexEntries {
		return false
	}
	ix.entries += s.sketch.limit
	return true
}

func (s *space) version(id string) uint16 {
	if i := slices.Index(s.versions, id); i >= 0 {
		return uint16(i) //nolint:gosec // at most versionsKept
	}
	if len(s.versions) >= versionsKept {
		// So many versions in one life: entries of the newest share a place.
		s.versions[versionsKept-1] = clone(id)
		return versionsKept - 1
	}
	s.versions = append(s.versions, clone(id))
	return uint16(len(s.versions) - 1) //nolint:gosec // at most versionsKept
}

// pressure is how close to its limits an object is, by its short window: a
// thread of CPU, 1,000 requests a second, or a queue of requests in flight.
func pressure(e *entry, scale float64) float64 {
	return min(max(e.v[MetricCPU]*scale, e.v[MetricRequests]*scale/overloadedRate, e.v[MetricWall]*scale/overloadedQueue), 1)
}

func (s *space) load(e *entry, now time.Time) Load {
	scale := s.sketch.scales(now)
	long := func(m Metric) float64 { return e.v[metrics+m] * scale[1] }
	l := Load{
		Target: Target{
			Kind: TargetDurableObject, Script: s.Script, Entrypoint: s.Entrypoint, DispatchNamespace: s.DispatchNamespace,
			ObjectID: hex.EncodeToString(e.id[:]), VersionID: s.versions[e.version],
		},
		CPU: long(MetricCPU), Wall: long(MetricWall), Requests: long(MetricRequests), Errors: long(MetricErrors),
		CPUError: s.sketch.lost[metrics+MetricCPU] * scale[1],
		Pressure: pressure(e, scale[0]), Since: time.Unix(e.since, 0).UTC(), LastSeen: time.Unix(e.last, 0).UTC(), Overloads: int64(e.over),
	}
	if e.hot != 0 {
		l.HotSince = time.Unix(e.hot, 0).UTC()
		l.HotFor = now.Sub(l.HotSince)
	}
	if e.overLast != 0 {
		l.LastOverload = time.Unix(e.overLast, 0).UTC()
	}
	return l
}

// Hottest lists the objects of a script's namespaces (of all, when empty) that
// are closest to their limits, at most n.
func (ix *Index) Hottest(script string, n int) []Load {
	return ix.top(script, n, func(l Load) float64 { return l.Pressure })
}

// Top lists the heaviest objects by a metric over the long window.
func (ix *Index) Top(script string, by Metric, n int) []Load {
	return ix.top(script, n, func(l Load) float64 {
		return [metrics]float64{l.CPU, l.Wall, l.Requests, l.Errors}[by]
	})
}

func (ix *Index) top(script string, n int, by func(Load) float64) []Load {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	now := ix.now()
	var all []Load
	for _, s := range ix.spaces {
		if script == "" || s.Script == script {
			all = append(all, s.top(n, now, by)...)
		}
	}
	order(all, by)
	return all[:min(n, len(all))]
}

// top is the n first of the namespace, by whatever.
func (s *space) top(n int, now time.Time, by func(Load) float64) []Load {
	var best []Load
	floor := 0.0
	for k := range s.sketch.entries {
		l := s.load(&s.sketch.entries[k], now)
		if v := by(l); len(best) < 2*n || v > floor {
			best = append(best, l)
			if len(best) >= 4*n {
				order(best, by)
				best = best[:n]
				floor = by(best[n-1])
			}
		}
	}
	order(best, by)
	return best[:min(n, len(best))]
}

func order(l []Load, by func(Load) float64) {
	slices.SortFunc(l, func(a, b Load) int {
		return cmp.Or(cmp.Compare(by(b), by(a)), cmp.Compare(b.CPU, a.CPU), cmp.Compare(a.Target.ObjectID, b.Target.ObjectID))
	})
}
