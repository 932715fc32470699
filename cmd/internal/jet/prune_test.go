package jet_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/cmd/internal/jet"
)

func TestPruneKeepsTheNewestAndTheOpen(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir())
	ctx := within(t)
	now := time.Now()
	for i := range 5 {
		id := strconv.Itoa(i)
		at := now.Add(time.Duration(i-5) * time.Hour)
		c := bot.Case{ID: id, Key: "k" + id, OpenedAt: at, ClosedAt: at}
		rev, err := j.Cases().PutCase(ctx, c, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Cases().CloseCase(ctx, c, rev); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Records().PutRecord(ctx, capture.Record{Job: capture.Job{ID: id, QueuedAt: at}}, 0); err != nil {
			t.Fatal(err)
		}
		if err := j.Profiles().PutProfile(ctx, id, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := j.Cases().PutCase(ctx, bot.Case{ID: "old", Key: "old", OpenedAt: now.Add(-1000 * time.Hour)}, 0); err != nil {
		t.Fatal(err)
	}
	until(t, "all is in the index", func() bool {
		c, err := j.Cases().ClosedCases(ctx, time.Time{}, 10)
		r, err2 := j.Records().RecordsList(ctx, time.Time{}, 10)
		return err == nil && err2 == nil && len(c) == 5 && len(r) == 5
	})
	got, err := j.Prune(ctx, jet.Retention{Age: 150 * time.Minute, Count: 3, Bytes: 2500}, func(id string) bool { return id == "0" })
	if err != nil {
		t.Fatal(err)
	}
	if want := (jet.Pruned{Cases: 3, Records: 2, Files: 3}); got != want {
		t.Errorf("pruned %+v, want %+v", got, want)
	}
	for id, want := range map[string]bool{"0": false, "2": false, "3": true, "4": true, "old": true} {
		if _, err := j.Cases().Case(ctx, id); (err == nil) != want || (err != nil && !errors.Is(err, capture.ErrNotFound)) {
			t.Errorf("case %s: %v, want it kept: %v", id, err, want)
		}
	}
	if _, _, err := j.Records().Record(ctx, "0"); err != nil {
		t.Errorf("a record in use: %v", err)
	}
}
