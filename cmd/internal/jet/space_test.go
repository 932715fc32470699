package jet_test

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/snapflame/snapflame/cmd/internal/jet"
)

func TestANearlyFullDiskIsSaid(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir(), func(o *jet.Options) { o.MinFree = 1 << 60 })
	ctx := within(t)
	until(t, "health says it", func() bool { err := j.Health(ctx); return err != nil && strings.Contains(err.Error(), "disk") })
	if err := j.Publish(ctx, "workers.events.a", nil, ""); !errors.Is(err, jet.ErrFull) {
		t.Errorf("publish: got %v, want ErrFull", err)
	}
}

func TestAFullFileStoreKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir(), func(o *jet.Options) { o.MaxBytes = 64 << 20 })
	ctx := within(t)
	data := bytes.Repeat([]byte("p"), 3<<20)
	if err := j.Profiles().PutProfile(ctx, "first", data); err != nil {
		t.Fatal(err)
	}
	var err error
	for i := 0; err == nil && i < 20; i++ {
		err = j.Profiles().PutProfile(ctx, strconv.Itoa(i), data)
	}
	if !errors.Is(err, jet.ErrFull) {
		t.Fatalf("got %v, want ErrFull", err)
	}
	if err := j.Profiles().PutProfile(ctx, "first", data[1:]); !errors.Is(err, jet.ErrFull) {
		t.Errorf("replace in a full store: got %v, want ErrFull", err)
	}
	if got, err := j.Profiles().Profile(ctx, "first"); err != nil || len(got) != len(data) {
		t.Errorf("got %d bytes, %v, want the old ones", len(got), err)
	}
	files, err := j.Profiles().Files(ctx)
	if err != nil || len(files) < 2 {
		t.Fatalf("files: %d, %v", len(files), err)
	}
	for _, f := range files {
		if err := j.Profiles().DeleteFile(ctx, f.Name); err != nil {
			t.Error(err)
		}
	}
	if err := j.Profiles().PutProfile(ctx, "again", data); err != nil {
		t.Errorf("after deleting: %v", err)
	}
}
