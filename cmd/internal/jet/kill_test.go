package jet_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/cmd/internal/jet"
	"github.com/snapflame/snapflame/triggers"
)

// childDir in the environment makes the test binary a process to be killed.
const childDir = "JET_TEST_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(context.Background(), dir, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// child does everything durable over and over, and says what was acknowledged.
func child(ctx context.Context, dir string, out io.Writer) error {
	j, err := jet.Open(ctx, jet.Options{StoreDir: dir, MaxBytes: 1 << 30})
	if err != nil {
		return err
	}
	for { // the one before was killed with it
		if _, err := j.Acquire(ctx, "sender", "child"); err == nil {
			break
		} else if !errors.Is(err, capture.ErrConflict) {
			return err
		}
	}
	round := time.Now().UnixNano()
	for i := 0; ; i++ {
		id := fmt.Sprintf("%d-%d", round, i)
		for _, step := range []struct {
			name string
			do   func() error
		}{
			{"event", func() error { return j.Publish(ctx, "workers.events.a", []byte(id), id) }},
			{"case", func() error {
				_, err := j.Cases().PutCase(ctx, bot.Case{ID: id, Key: id}, 0)
				return err
			}},
			{"job", func() error {
				return j.Jobs().Submit(ctx, capture.Job{ID: id, Target: capture.Target{Kind: capture.Worker, Script: id}})
			}},
			{"record", func() error {
				_, err := j.Records().PutRecord(ctx, capture.Record{Job: capture.Job{ID: id}}, 0)
				return err
			}},
			{"post", func() error { return j.Outbox().Put(ctx, bot.Post{Key: id}) }},
			{"profile", func() error { return j.Profiles().PutProfile(ctx, id, bytes.Repeat([]byte(id), 5000)) }},
		} {
			if err := step.do(); err != nil {
				return fmt.Errorf("%s: %w", step.name, err)
			}
			if _, err := fmt.Fprintln(out, step.name, id); err != nil {
				return err
			}
		}
	}
}

func TestKillLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	acked := map[string]map[string]bool{}
	for round := range 3 {
		for _, line := range killedAfter(t, dir, 60+97*round) {
			kind, id, ok := strings.Cut(line, " ")
			if !ok {
				continue
			}
			if acked[kind] == nil {
				acked[kind] = map[string]bool{}
			}
			acked[kind][id] = true
		}
	}
	j := open(t, dir)
	opened := time.Now()
	ctx := within(t)
	for id := range acked["case"] {
		if _, _, err := j.Cases().OpenCase(ctx, id); err != nil {
			t.Errorf("case %s: %v", id, err)
		}
	}
	for id := range acked["record"] {
		if _, _, err := j.Records().Record(ctx, id); err != nil {
			t.Errorf("record %s: %v", id, err)
		}
	}
	for id := range acked["profile"] {
		if b, err := j.Profiles().Profile(ctx, id); err != nil || !bytes.Equal(b, bytes.Repeat([]byte(id), 5000)) {
			t.Errorf("profile %s: %d bytes, %v", id, len(b), err)
		}
	}
	drain := func(kind string, one func() (string, error)) {
		t.Helper()
		for len(acked[kind]) > 0 {
			id, err := one()
			if err != nil {
				t.Fatalf("%s: %v, %d are missing", kind, err, len(acked[kind]))
			}
			delete(acked[kind], id)
		}
	}
	drain("job", func() (string, error) {
		v := next(t, j)
		return v.Job().ID, v.Done(ctx)
	})
	drain("post", func() (string, error) {
		p := nextPost(t, j)
		return p.Post().Key, p.Ack(ctx)
	})
	t.Cleanup(func() {
		if t.Failed() {
			st, err := j.Stats(context.Background())
			t.Logf("not seen: %d events %v; %+v, %v", len(acked["event"]), acked["event"], st, err)
		}
	})
	take(t, j, j, func(d triggers.Delivery) bool {
		delete(acked["event"], string(d.Data()))
		return len(acked["event"]) == 0
	})
	until(t, "the killed owner's lease ran out", func() bool {
		_, err := j.Acquire(ctx, "sender", "me")
		return err == nil
	})
	if d := time.Since(opened); d > 10*time.Second {
		t.Errorf("work and lease were back after %s", d)
	}
}

// killedAfter runs the child until it has said n lines, kills it, and returns
// all whole lines that it said.
func killedAfter(t *testing.T, dir string, n int) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	var lines []string
	killed := false
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			break
		}
		if lines = append(lines, strings.TrimSuffix(line, "\n")); len(lines) == n {
			killed = true
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait()
	if !killed {
		t.Fatalf("the child ended by itself: %s", stderr.String())
	}
	return lines
}

func TestTwoProcessesOnOneFolderAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open(t, dir)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.CombinedOutput()
	if want := fmt.Sprintf("process %d", os.Getpid()); err == nil || !strings.Contains(string(out), want) {
		t.Errorf("got %v and %q, want it to name %q", err, out, want)
	}
}

func TestAKilledSendersPostIsSentAgain(t *testing.T) {
	t.Parallel()
	s := natsServer(t)
	use := func(o *jet.Options) { o.URL = s.ClientURL() }
	a, b := open(t, t.TempDir(), use), open(t, t.TempDir(), use)
	ctx := within(t)
	if err := a.Outbox().Put(ctx, bot.Post{Key: "k"}); err != nil {
		t.Fatal(err)
	}
	if err := a.Jobs().Submit(ctx, capture.Job{ID: "1", Target: target(t)}); err != nil {
		t.Fatal(err)
	}
	nextPost(t, a)
	next(t, a)
	shut(t, a) // neither acknowledged nor given back
	began := time.Now()
	if p := nextPost(t, b); p.Post().Key != "k" {
		t.Errorf("got %q", p.Post().Key)
	}
	if v := next(t, b); v.Job().ID != "1" {
		t.Errorf("got %q", v.Job().ID)
	}
	if d := time.Since(began); d > 8*time.Second {
		t.Errorf("it took %s, want about the acknowledgement wait of 5 s", d)
	}
}

func TestAPostInHandIsNotSentTwice(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir())
	ctx := within(t)
	if err := j.Outbox().Put(ctx, bot.Post{Key: "k"}); err != nil {
		t.Fatal(err)
	}
	p := nextPost(t, j)
	touching, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(time.Second)
		defer t.Stop()
		for {
			select {
			case <-touching.Done():
				return
			case <-t.C:
				_ = p.Touch()
			}
		}
	})
	defer func() { stop(); wg.Wait() }()
	if err := j.Outbox().Put(ctx, bot.Post{Key: "k", Channel: "newer"}); err != nil {
		t.Fatal(err)
	}
	// Beyond the acknowledgement wait it is still ours, and the newer one waits.
	if again, err := j.Outbox().Next(ctx, 7*time.Second); again != nil || err != nil {
		t.Errorf("got %v, %v, want nothing while the post is in hand", again, err)
	}
	if err := p.Ack(ctx); err != nil {
		t.Error(err)
	}
	q, err := j.Outbox().Next(ctx, time.Second)
	if err != nil || q == nil || q.Post().Channel != "newer" {
		t.Fatalf("got %v, %v, want the newer one at once", q, err)
	}
	stop()
	// A sender that stops without an answer does not keep the key.
	if r := nextPost(t, j); r.Post().Channel != "newer" {
		t.Errorf("got %q", r.Post().Channel)
	}
}

func TestAnOpenWithoutAnAnswerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	j, err := jet.Open(t.Context(), jet.Options{URL: "nats://127.0.0.1:1", Settle: time.Millisecond})
	if err != nil {
		t.Fatalf("open: %v, want it to go on in the background", err)
	}
	defer shut(t, j)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := j.Publish(ctx, "workers.events.a", nil, ""); !errors.Is(err, jet.ErrUnavailable) {
		t.Errorf("publish: got %v, want ErrUnavailable", err)
	}
	until(t, "health names the address", func() bool {
		err := j.Health(t.Context())
		return err != nil && strings.Contains(err.Error(), "127.0.0.1:1")
	})
}
