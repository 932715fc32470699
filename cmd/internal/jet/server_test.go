package jet_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// natsServer runs a server of its own, as an operator would.
func natsServer(tb testing.TB, change ...func(*server.Options)) *server.Server {
	tb.Helper()
	o := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: tb.TempDir(),
		JetStreamMaxStore: 20 << 30, NoSigs: true, NoLog: true,
	}
	for _, c := range change {
		c(o)
	}
	s, err := server.NewServer(o)
	if err != nil {
		tb.Fatal(err)
	}
	s.Start()
	tb.Cleanup(func() { kill(s) })
	if !s.ReadyForConnections(patience) {
		tb.Fatal("the server is not ready")
	}
	return s
}

func kill(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

func freePorts(tb testing.TB, n int) []int {
	tb.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// cluster is three servers that can be stopped and started.
type cluster struct {
	tb   testing.TB
	opts []*server.Options
	list []*server.Server
}

func newCluster(tb testing.TB) *cluster {
	tb.Helper()
	c := &cluster{tb: tb}
	ports := freePorts(tb, 6)
	routes := addresses(ports[3:])
	for i := range 3 {
		c.opts = append(c.opts, &server.Options{
			ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: ports[i], JetStream: true, StoreDir: tb.TempDir(),
			JetStreamMaxStore: 20 << 30, NoSigs: true, NoLog: true,
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[3+i]},
			Routes:  server.RoutesFromStr(routes),
		})
	}
	c.list = make([]*server.Server, 3)
	for i := range 3 {
		c.start(i)
	}
	tb.Cleanup(func() {
		for _, s := range c.list {
			kill(s)
		}
	})
	until(tb, "the cluster has a leader", func() bool { return c.leader() >= 0 })
	return c
}

func (c *cluster) start(i int) {
	s, err := server.NewServer(c.opts[i].Clone())
	if err != nil {
		c.tb.Fatal(err)
	}
	s.Start()
	c.list[i] = s
	if !s.ReadyForConnections(patience) {
		c.tb.Fatal("a server is not ready")
	}
}

func (c *cluster) leader() int {
	for i, s := range c.list {
		if s.Running() && s.JetStreamIsLeader() {
			return i
		}
	}
	return -1
}

// streamLeader is the server that leads a stream; -1 for none.
func (c *cluster) streamLeader(name string) int {
	for i, s := range c.list {
		if s.Running() && s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, name) {
			return i
		}
	}
	return -1
}

func (c *cluster) url() string {
	var ports []int
	for _, o := range c.opts {
		ports = append(ports, o.Port)
	}
	return addresses(ports)
}

// addresses is a list as nats.url takes it.
func addresses(ports []int) string {
	var list []string
	for _, p := range ports {
		list = append(list, fmt.Sprintf("nats://127.0.0.1:%d", p))
	}
	return strings.Join(list, ",")
}

const settle = 30 * time.Second
