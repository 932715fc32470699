package jet_test

import (
	"os"
	"path/filepath"
	"testing"

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
