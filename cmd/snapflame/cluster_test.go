package main

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestCluster runs three replicas on three servers and takes them away one by
// one while events come in. Whatever dies: one thread and one capture per
// incident, no event missing. The long form (SNAPFLAME_LONG=1) has all of it.
func TestCluster(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	scenarios := []struct {
		name  string
		short bool
		run   func(*fleet)
	}{
		{"a replica is killed", true, replicaKilled},
		{"the leader of the events is killed", true, leaderKilled},
		{"a server that leads nothing of note is killed", false, followerKilled},
		{"the replicas are restarted in turn", false, replicasRolled},
		{"the servers are restarted in turn", false, serversRolled},
		{"a server is cut off", false, serverCutOff},
		{"the leader stands still", false, leaderStalled},
		{"all disks are slow", false, disksSlow},
		{"the whole cluster is restarted", false, clusterRestarted},
		{"a replica and the leader die together", false, bothKilled},
	}
	for _, s := range scenarios {
		if !s.short && !long() {
			continue
		}
		began := time.Now()
		before := len(f.published)
		s.run(f)
		f.ready()
		f.note("%s: %d incidents, %.1f s", s.name, len(f.published)-before, time.Since(began).Seconds())
	}
	settled := f.settle()
	f.check()
	f.report(settled)
}

// replicaKilled ends each replica once, in the middle of an incident: one of
// them held the lease of the sender, one had the capture.
func replicaKilled(f *fleet) {
	for i := range f.replicas {
		if i > 0 && !long() {
			break
		}
		f.killReplica(i)
	}
}

func (f *fleet) killReplica(i int) {
	r := f.replicas[i]
	o := f.incident()
	n := len(f.cf.Captures())
	f.await("a capture is asked for", func() bool { return len(f.cf.Captures()) > n })
	r.kill()
	// The others go on without it.
	f.posted(o)
	f.posted(f.incident())
	r.start()
}

func leaderKilled(f *fleet) {
	at := f.leader("WORKERS_EVENTS")
	o := f.incident()
	f.nodes[at].kill()
	f.posted(o)
	f.posted(f.incident())
	f.nodes[at].start()
	f.current()
}

func followerKilled(f *fleet) {
	at := (f.leader("WORKERS_EVENTS") + 1) % 3
	o := f.incident()
	f.nodes[at].kill()
	f.posted(o)
	f.nodes[at].start()
	f.current()
}

func bothKilled(f *fleet) {
	at := f.leader("SNAPFLAME_JOBS")
	o := f.incident()
	f.replicas[1].kill()
	f.nodes[at].kill()
	f.posted(o)
	f.nodes[at].start()
	f.replicas[1].start()
	f.current()
}

// replicasRolled stops each as an orchestrator does: what it has in hand is
// finished, nothing is asked twice.
func replicasRolled(f *fleet) {
	for _, r := range f.replicas {
		o := f.incident()
		if err := r.stop(); err != nil {
			f.t.Errorf("SIGTERM: %v\n%s", err, r.logs.tail())
		}
		f.posted(o)
		r.start()
		f.ready()
	}
}

func serversRolled(f *fleet) {
	for _, n := range f.nodes {
		o := f.incident()
		n.kill()
		n.start()
		n.ready()
		f.current()
		f.posted(o)
	}
}

// serverCutOff holds up all bytes between the leader and the others: the rest
// elects anew; who is connected to the lonely one says so and comes back.
func serverCutOff(f *fleet) {
	at := f.leader("WORKERS_EVENTS")
	f.cut(at, true)
	o := f.incident()
	f.posted(o)
	f.cut(at, false)
	f.posted(f.incident())
	f.current()
}

// leaderStalled holds a server as a disk does that hangs: its connections stay,
// and nothing answers on them.
func leaderStalled(f *fleet) {
	n := f.nodes[f.leader("WORKERS_EVENTS")]
	n.signal(syscall.SIGSTOP)
	o := f.incident()
	f.posted(o)
	n.signal(syscall.SIGCONT)
	f.posted(f.incident())
	f.current()
}

// disksSlow makes each server stand still for three quarters of the time, out
// of step with the others.
func disksSlow(f *fleet) {
	done := make(chan struct{})
	var slow sync.WaitGroup
	for i, n := range f.nodes {
		slow.Go(func() {
			tick := time.NewTicker(time.Duration(100+30*i) * time.Millisecond)
			defer tick.Stop()
			defer n.signal(syscall.SIGCONT)
			for round := 0; ; round++ {
				if round%4 == 3 {
					n.signal(syscall.SIGCONT)
				} else {
					n.signal(syscall.SIGSTOP)
				}
				select {
				case <-done:
					return
				case <-tick.C:
				}
			}
		})
	}
	for range 3 {
		f.posted(f.incident())
	}
	close(done)
	slow.Wait()
	f.current()
}

func clusterRestarted(f *fleet) {
	o := f.incident()
	for _, n := range f.nodes {
		n.kill()
	}
	for i, r := range f.replicas {
		r.await("the replica says that its queue is away", func() bool {
			status, text := f.readyz(i)
			return status == http.StatusServiceUnavailable && strings.Contains(text, "nats: ") && !strings.Contains(text, "nats: ok")
		})
	}
	for _, n := range f.nodes {
		n.start()
	}
	f.posted(o)
	f.current()
}

func (f *fleet) readyz(i int) (status int, text string) { return f.replicas[i].readyz() }

// readyz is what /readyz says.
func (w *world) readyz() (status int, text string) {
	resp, err := http.Get("http://" + w.http + "/readyz")
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}
