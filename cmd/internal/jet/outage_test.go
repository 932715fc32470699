package jet_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/cmd/internal/jet"
)

func TestAServerThatComesLater(t *testing.T) {
	t.Parallel()
	port := freePorts(t, 1)[0]
	j := open(t, t.TempDir(), func(o *jet.Options) { o.URL = fmt.Sprint("nats://u:secret@127.0.0.1:", port); o.Settle = 1 })
	until(t, "health says that nobody is there", func() bool {
		err := j.Health(within(t))
		return err != nil && strings.Contains(err.Error(), fmt.Sprint("127.0.0.1:", port)) && !strings.Contains(err.Error(), "secret")
	})
	natsServer(t, func(o *server.Options) { o.Port = port; o.Username = "u"; o.Password = "secret" })
	if err := j.Publish(within(t), "workers.events.a", []byte("x"), ""); err != nil {
		t.Fatalf("publish waits for the server: %v", err)
	}
	until(t, "healthy", func() bool { return j.Health(within(t)) == nil })
}

func TestRefusedCredentialsAreSaidAndRenewed(t *testing.T) {
	t.Parallel()
	port := freePorts(t, 1)[0]
	s := natsServer(t, func(o *server.Options) { o.Port = port; o.Authorization = "new" })
	j := open(t, t.TempDir(), func(o *jet.Options) { o.URL = s.ClientURL(); o.Token = "old"; o.Settle = 1 })
	until(t, "health says that the credentials are refused", func() bool {
		err := j.Health(within(t))
		return err != nil && strings.Contains(strings.ToLower(err.Error()), "authorization")
	})
	kill(s)
	natsServer(t, func(o *server.Options) { o.Port = port; o.Authorization = "old" })
	until(t, "healthy once they are good", func() bool { return j.Health(within(t)) == nil })
}

func TestWithoutJetStreamIsSaid(t *testing.T) {
	t.Parallel()
	s := natsServer(t, func(o *server.Options) { o.JetStream = false })
	j := open(t, t.TempDir(), func(o *jet.Options) { o.URL = s.ClientURL(); o.Settle = 1 })
	until(t, "health names JetStream", func() bool {
		err := j.Health(within(t))
		return err != nil && strings.Contains(err.Error(), "JetStream") && strings.Contains(err.Error(), "enable")
	})
}

func TestMissingPermissionIsSaid(t *testing.T) {
	t.Parallel()
	s := natsServer(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "u", Password: "p", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{"$JS.API.STREAM.CREATE.>"}},
		}}}
	})
	url := strings.Replace(s.ClientURL(), "nats://", "nats://u:p@", 1)
	j := open(t, t.TempDir(), func(o *jet.Options) { o.URL = url; o.Settle = 1 })
	until(t, "health names the permission", func() bool {
		err := j.Health(within(t))
		return err != nil && strings.Contains(err.Error(), "permission") && strings.Contains(err.Error(), "$JS.API.STREAM.CREATE")
	})
}

func TestNKeyAndContext(t *testing.T) {
	t.Parallel()
	kp, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	pub, _ := kp.PublicKey()
	seed, _ := kp.Seed()
	dir := t.TempDir()
	seedFile := filepath.Join(dir, "user.nk")
	if err := os.WriteFile(seedFile, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	s := natsServer(t, func(o *server.Options) { o.Nkeys = []*server.NkeyUser{{Nkey: pub}} })
	a := open(t, dir, func(o *jet.Options) { o.URL = s.ClientURL(); o.NKey = seedFile })
	if err := a.Health(within(t)); err != nil {
		t.Errorf("nkey: %v", err)
	}
	ctxFile := filepath.Join(dir, "ctx.json")
	b, _ := json.Marshal(map[string]string{"url": s.ClientURL(), "nkey": seedFile, "description": "x"})
	if err := os.WriteFile(ctxFile, b, 0o600); err != nil {
		t.Fatal(err)
	}
	c := open(t, dir, func(o *jet.Options) { o.Context = ctxFile })
	if err := c.Health(within(t)); err != nil {
		t.Errorf("context: %v", err)
	}
	if c.Embedded() {
		t.Error("a context means an external server")
	}
}

func TestAGivenUpMessageIsRescued(t *testing.T) {
	t.Parallel()
	s := natsServer(t)
	nc, _ := client(t, s.ClientURL())
	j := open(t, t.TempDir(), func(o *jet.Options) { o.URL = s.ClientURL() })
	ctx := within(t)
	tg := target(t)
	if err := j.Jobs().Submit(ctx, capture.Job{ID: "1", Target: tg}); err != nil {
		t.Fatal(err)
	}
	until(t, "it is a dead letter and its target free", func() bool {
		// Again each time: an advisory from before we listen is not heard.
		advise(t, nc, jet.JobsStream, "captures-0", 1)
		list, err := j.Dead().List(ctx, 0, 10)
		return err == nil && len(list) == 1 && list[0].Stream == jet.JobsStream &&
			j.Jobs().Submit(ctx, capture.Job{ID: "2", Target: tg}) == nil
	})
	advise(t, nc, jet.JobsStream, "somebody-elses", 2)
	advise(t, nc, jet.JobsStream, "captures-0", 99)
	if v := next(t, j); v.Job().ID != "2" {
		t.Errorf("got %s, want the second job untouched", v.Job().ID)
	}
}

// advise says what the server says when a consumer's MaxDeliver is reached.
func advise(t *testing.T, nc *nats.Conn, stream, consumer string, seq uint64) {
	t.Helper()
	b, err := json.Marshal(map[string]any{"stream": stream, "consumer": consumer, "stream_seq": seq, "deliveries": 33})
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Publish(jet.AdvisoryPrefix+stream+"."+consumer, b); err != nil {
		t.Fatal(err)
	}
}

func TestABadJobIsPutAside(t *testing.T) {
	t.Parallel()
	s := natsServer(t)
	_, js := client(t, s.ClientURL())
	j := open(t, t.TempDir(), func(o *jet.Options) { o.URL = s.ClientURL() })
	ctx := within(t)
	for _, subj := range []string{"snapflame.jobs.0.x", "snapflame.outbox.x"} {
		if _, err := js.Publish(ctx, subj, []byte("not json")); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Jobs().Submit(ctx, capture.Job{ID: "1", Target: target(t), Priority: 3}); err != nil {
		t.Fatal(err)
	}
	if v := next(t, j); v.Job().ID != "1" {
		t.Errorf("got %s, want the good one", v.Job().ID)
	}
	if p, err := j.Outbox().Next(ctx, 0); p != nil || err != nil {
		t.Errorf("got %v, %v", p, err)
	}
	until(t, "both are dead letters", func() bool {
		list, err := j.Dead().List(ctx, 0, 10)
		return err == nil && len(list) == 2 && strings.Contains(list[0].Reason, "not a job")
	})
}
