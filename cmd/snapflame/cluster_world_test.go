package main

import (
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/snapflame/snapflame/capture/fakecf"
)

// fleet is three replicas of the service on three servers, all processes of
// their own, around one account and one workspace. The servers reach each other
// through wires that can be cut.
type fleet struct {
	*matrix
	nodes    []*node
	wires    map[[2]int]*wire // from one server to another
	replicas []*world
	objects  int
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{wires: map[[2]int]*wire{}}
	f.matrix = newMatrix(t, true, func(w *world) { f.servers(w) })
	for i := range 3 {
		r := f.world
		if i > 0 {
			r = f.replica()
		}
		f.replicas = append(f.replicas, r)
	}
	for _, r := range f.replicas {
		r.start()
	}
	f.ready()
	return f
}

// servers starts the cluster and points the world at it.
func (f *fleet) servers(w *world) {
	var clients, routes []string
	for range 3 {
		clients, routes = append(clients, freeAddress(w.t)), append(routes, freeAddress(w.t))
	}
	for i := range 3 {
		var to []string
		for j := range 3 {
			if i != j {
				f.wires[[2]int{i, j}] = newWire(w.t, routes[j])
				to = append(to, "nats://"+f.wires[[2]int{i, j}].addr)
			}
		}
		// Nobody learns of a way around the wires.
		f.nodes = append(f.nodes, newNode(w.t, fmt.Sprint("n", i), clients[i], fmt.Sprintf(
			"cluster { name: c, listen: %q, advertise: \"127.0.0.1:1\", routes: [%s] }\n", routes[i], strings.Join(to, ", "))))
	}
	for _, n := range f.nodes {
		n.start()
	}
	for _, n := range f.nodes {
		n.ready()
	}
	w.nats = strings.Join(clients, ",")
	w.env["NATS_URL"], w.env["SNAPFLAME_NATS_REPLICAS"] = "nats://"+strings.Join(clients, ",nats://"), "3"
	w.patience = 2 * time.Minute
	// Longer than the queue can be away, which was 38 s when its leader was killed:
	// what comes late still joins.
	w.env["SNAPFLAME_INCIDENT_QUIET"] = "60s"
	if long() {
		w.env["SNAPFLAME_INCIDENT_QUIET"] = "90s"
	}
}

// replica is one more process around the same account and workspace.
func (w *world) replica() *world {
	r := &world{
		t: w.t, cf: w.cf, slack: w.slack, env: maps.Clone(w.env), dir: w.t.TempDir(), http: freeAddress(w.t),
		nats: w.nats, logs: &lockedBuffer{}, patience: w.patience,
	}
	r.env["SNAPFLAME_LISTEN"] = r.http
	w.t.Cleanup(r.kill)
	return r
}

// ready waits until all replicas are.
func (f *fleet) ready() {
	f.t.Helper()
	for i, r := range f.replicas {
		r.await(fmt.Sprintf("replica %d is ready", i), func() bool { return r.ready() })
	}
}

// incident starts a burst of events about an object of its own.
func (f *fleet) incident() (object string) {
	f.t.Helper()
	i := f.objects
	f.objects++
	object = matrixObject(i)
	f.cf.AddObject(fakecf.Object{ID: object, Namespace: matrixNamespace(i % matrixChannels), Version: roomVersion})
	f.burst(fmt.Sprint("room-", i%matrixChannels), object, matrixBurst)
	return object
}

// posted waits until the incident of an object has its thread.
func (f *fleet) posted(object string) {
	f.t.Helper()
	f.await("the thread of "+short(object)+" is there", func() bool {
		for i := range matrixChannels {
			for _, m := range f.slack.Messages(matrixChannel(i)) {
				if m.ThreadTS == "" && strings.Contains(m.Plain(), short(object)) {
					return true
				}
			}
		}
		return false
	})
}

// leader is the index of the server that leads a stream.
func (f *fleet) leader(stream string) int {
	f.t.Helper()
	js, done := f.client()
	defer done()
	at := -1
	f.await("stream "+stream+" has a leader", func() bool {
		ctx, cancel := timeout(f.t, 2*time.Second)
		defer cancel()
		s, err := js.Stream(ctx, stream)
		if err != nil || s.CachedInfo().Cluster == nil {
			return false
		}
		_, err = fmt.Sscanf(s.CachedInfo().Cluster.Leader, "n%d", &at)
		return err == nil
	})
	return at
}

// current waits until every copy of every stream is up to date, as an operator
// does before stopping the next server.
func (f *fleet) current() {
	f.t.Helper()
	js, done := f.client()
	defer done()
	f.await("all copies are current", func() bool {
		ctx, cancel := timeout(f.t, 5*time.Second)
		defer cancel()
		n := 0
		list := js.ListStreams(ctx)
		for info := range list.Info() {
			n++
			if !upToDate(info) {
				return false
			}
		}
		return list.Err() == nil && n > 0
	})
}

func upToDate(info *jetstream.StreamInfo) bool {
	if info.Cluster == nil || info.Cluster.Leader == "" || len(info.Cluster.Replicas) != 2 {
		return false
	}
	for _, r := range info.Cluster.Replicas {
		if r.Offline || !r.Current {
			return false
		}
	}
	return true
}

// cut isolates a server from the others; nobody is told, nothing is reset.
func (f *fleet) cut(server int, cut bool) {
	for ends, w := range f.wires {
		if ends[0] == server || ends[1] == server {
			w.hold(cut)
		}
	}
}

// wire is a TCP connection that can be held up: bytes wait, connections stay.
type wire struct {
	addr string
	to   string

	mu   sync.Mutex
	open chan struct{} // closed while bytes pass
}

func newWire(t testing.TB, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{addr: l.Addr().String(), to: to, open: make(chan struct{})}
	close(w.open)
	var conns sync.WaitGroup
	done := make(chan struct{})
	t.Cleanup(func() { close(done); _ = l.Close(); conns.Wait() })
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { w.carry(c, done) })
		}
	})
	return w
}

func (w *wire) hold(hold bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.open:
		if hold {
			w.open = make(chan struct{})
		}
	default:
		if !hold {
			close(w.open)
		}
	}
}

func (w *wire) gate() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open
}

func (w *wire) carry(a net.Conn, done <-chan struct{}) {
	defer a.Close()
	select {
	case <-w.gate():
	case <-done:
		return
	}
	b, err := net.DialTimeout("tcp", w.to, 5*time.Second)
	if err != nil {
		return
	}
	defer b.Close()
	stopped := make(chan struct{})
	go func() {
		select {
		case <-done:
		case <-stopped:
		}
		_ = a.Close()
		_ = b.Close()
	}()
	var both sync.WaitGroup
	var once sync.Once
	for _, p := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			defer once.Do(func() { close(stopped) })
			buf := make([]byte, 64<<10)
			for {
				n, err := p[0].Read(buf)
				if n > 0 {
					select {
					case <-w.gate():
					case <-stopped:
						return
					case <-done:
						return
					}
					if _, err := p[1].Write(buf[:n]); err != nil {
						return
					}
				}
				if err != nil {
					return
				}
			}
		})
	}
	both.Wait()
}
