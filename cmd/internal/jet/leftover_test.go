package jet_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/cmd/internal/jet"
)

// TestWhatCameBackAfterACrashBlocksNothing puts the streams' files back to
// before an acknowledgement and leaves the consumers' as they are, as a kill
// between the two writes does: 210 kills left 188 such messages.
func TestWhatCameBackAfterACrashBlocksNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx := within(t)
	target := target(t)
	j := open(t, dir)
	if err := j.Jobs().Submit(ctx, capture.Job{ID: "1", Target: target}); err != nil {
		t.Fatal(err)
	}
	if err := j.Outbox().Put(ctx, bot.Post{Key: "k"}); err != nil {
		t.Fatal(err)
	}
	shut(t, j)
	before := map[string]string{}
	for _, stream := range []string{jet.JobsStream, "SNAPFLAME_OUTBOX"} {
		found, err := filepath.Glob(filepath.Join(dir, "*", "*", "streams", stream, "msgs"))
		if err != nil || len(found) != 1 {
			t.Fatalf("files of %s: %v, %v", stream, found, err)
		}
		before[found[0]] = t.TempDir()
		if err := os.CopyFS(before[found[0]], os.DirFS(found[0])); err != nil {
			t.Fatal(err)
		}
	}
	j = open(t, dir)
	if err := next(t, j).Done(ctx); err != nil {
		t.Fatal(err)
	}
	if err := nextPost(t, j).Ack(ctx); err != nil {
		t.Fatal(err)
	}
	until(t, "both queues are empty", func() bool {
		s, err := j.Stats(ctx)
		return err == nil && s.Jobs == 0 && s.Outbox == 0
	})
	shut(t, j)
	for now, old := range before {
		if err := os.RemoveAll(now); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(now, os.DirFS(old)); err != nil {
			t.Fatal(err)
		}
	}
	j = open(t, dir)
	until(t, "both queues are empty again", func() bool {
		s, err := j.Stats(ctx)
		return err == nil && s.Jobs == 0 && s.Outbox == 0
	})
	if err := j.Jobs().Submit(ctx, capture.Job{ID: "2", Target: target}); err != nil {
		t.Errorf("the target is still taken: %v", err)
	}
}

// TestAClosedCaseStaysClosed: an old revision of its open record that comes back
// is removed at the start; what is open again, or about to be archived, stays.
func TestAClosedCaseStaysClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx := within(t)
	at := time.Now()
	j := open(t, dir)
	closed := func(id string) bot.Case {
		c := bot.Case{ID: id, Key: id, State: bot.Closed, ActiveAt: at, ClosedAt: at.Add(time.Minute), Count: 2}
		rev, err := j.Cases().PutCase(ctx, c, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Cases().CloseCase(ctx, c, rev); err != nil {
			t.Fatal(err)
		}
		return c
	}
	put := func(c bot.Case) {
		if _, err := j.Cases().PutCase(ctx, c, 0); err != nil {
			t.Fatal(err)
		}
	}
	old := closed("old")
	old.State, old.ClosedAt, old.Count = bot.Open, time.Time{}, 1
	put(old)
	again := closed("again")
	again.State, again.ActiveAt, again.Count = bot.Open, at.Add(2*time.Minute), 3
	put(again)
	put(closed("ending"))
	put(bot.Case{ID: "fresh", Key: "fresh", State: bot.Open, ActiveAt: at})
	shut(t, j)
	j = open(t, dir)
	for id, want := range map[string]bool{"old": false, "again": true, "ending": true, "fresh": true} {
		if _, _, err := j.Cases().OpenCase(ctx, id); (err == nil) != want {
			t.Errorf("case %s: %v, want it there: %t", id, err, want)
		}
	}
	if c, err := j.Cases().Case(ctx, "old"); err != nil || c.Count != 2 {
		t.Errorf("got %d events and %v, want the archived case", c.Count, err)
	}
}
