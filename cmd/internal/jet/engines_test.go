package jet_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/cmd/internal/jet"
)

func TestEmbedded(t *testing.T) { //nolint:tparallel // the parts share two replicas, and some count a whole queue
	t.Parallel()
	first := open(t, t.TempDir(), func(o *jet.Options) { o.Listen = "127.0.0.1:0"; o.Token = "secret" })
	// A second replica comes in over TCP, as other processes do.
	second := open(t, t.TempDir(), func(o *jet.Options) { o.URL = first.URL(); o.Token = "secret" })
	conform(t, first, second)
}

func TestExternal(t *testing.T) { //nolint:tparallel // as TestEmbedded
	t.Parallel()
	s := natsServer(t)
	use := func(o *jet.Options) { o.URL = s.ClientURL() }
	conform(t, open(t, t.TempDir(), use), open(t, t.TempDir(), use))
}

func TestCluster(t *testing.T) { //nolint:paralleltest // three servers are enough for two cores
	c := newCluster(t)
	use := func(o *jet.Options) { o.URL = c.url(); o.Replicas = 3; o.Settle = settle }
	a, b := open(t, t.TempDir(), use), open(t, t.TempDir(), use)
	t.Run("conforms", func(t *testing.T) { conform(t, a, b) })
	t.Run("a leader dies", func(t *testing.T) { leaderDies(t, c, a, b) })
	t.Run("all restart", func(t *testing.T) { allRestart(t, c, a) })
}

// leaderDies stops the leader of the event stream under publishing and
// consuming: nothing that was acknowledged may be missing, and one incident is
// created once.
func leaderDies(t *testing.T, c *cluster, a, b *jet.Jet) {
	const n = 3000
	var acked sync.Map
	var published atomic.Int64
	var wg sync.WaitGroup
	subject := "workers.events." + key(t, "kill")
	ctx, stop := context.WithCancel(within(t))
	defer func() { stop(); wg.Wait() }() // nobody may report to a test that has ended
	for w := range 4 {
		wg.Go(func() {
			for i := w; i < n; i += 4 {
				id := strconv.Itoa(i)
				if err := a.Publish(ctx, subject, []byte(id), subject+id); err != nil {
					if ctx.Err() == nil {
						t.Errorf("publish %s: %v", id, err)
					}
					return
				}
				acked.Store(id, true)
				published.Add(1)
			}
		})
	}
	until(t, "a third is published", func() bool { return published.Load() > n/3 })
	dead := c.streamLeader("WORKERS_EVENTS")
	kill(c.list[dead])
	seen := map[string]bool{}
	until(t, "everything acknowledged has come", func() bool {
		for _, j := range []*jet.Jet{a, b} {
			got, err := j.Source().Fetch(within(t), 500, 20*time.Millisecond)
			if err != nil {
				t.Fatalf("fetch: %v", err)
			}
			for _, d := range got {
				if d.Subject() == subject {
					seen[string(d.Data())] = true
				}
				_ = d.Ack()
			}
		}
		return published.Load() == n && len(seen) == n
	})
	wg.Wait()
	acked.Range(func(id, _ any) bool {
		if !seen[id.(string)] {
			t.Errorf("event %s was acknowledged and never came", id)
		}
		return true
	})
	caseIsOne(t, a, b)
	c.start(dead)
	until(t, "healthy", func() bool { return a.Health(within(t)) == nil && b.Health(within(t)) == nil })
}

func allRestart(t *testing.T, c *cluster, a *jet.Jet) {
	if err := a.Outbox().Put(within(t), bot.Post{Key: "before"}); err != nil {
		t.Fatal(err)
	}
	for _, s := range c.list {
		kill(s)
	}
	until(t, "not healthy", func() bool { return a.Health(within(t)) != nil })
	if err := a.Health(within(t)); err == nil || fmt.Sprint(err) == "" {
		t.Errorf("health: got %v, want a sentence", err)
	}
	for i := range c.list {
		c.start(i)
	}
	until(t, "healthy again by itself", func() bool { return a.Health(within(t)) == nil })
	p := nextPost(t, a)
	if p.Post().Key != "before" {
		t.Errorf("got %q, want what was put before the restart", p.Post().Key)
	}
	if err := p.Ack(within(t)); err != nil {
		t.Error(err)
	}
}
