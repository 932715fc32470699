package jet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/snapflame/snapflame/capture"
)

var _ capture.Profiles = (*Profiles)(nil)

const profileObject = "profile/"

// maxObject bounds what is read back into memory; the largest real profile is
// half a megabyte.
const maxObject = 64 << 20

// Profiles keeps bytes: profiles under the capture's ID, pictures and pages
// under any name.
type Profiles struct{ j *Jet }

// Profiles is the file store, for capture, bot and pages.
func (j *Jet) Profiles() *Profiles { return &Profiles{j} }

// PutProfile implements capture.Profiles.
func (p *Profiles) PutProfile(ctx context.Context, id string, data []byte) error {
	return p.PutFile(ctx, profileObject+id, data)
}

// Profile implements capture.Profiles.
func (p *Profiles) Profile(ctx context.Context, id string) ([]byte, error) {
	return p.File(ctx, profileObject+id)
}

// DeleteProfile removes a capture's bytes; what is not there is not an error.
func (p *Profiles) DeleteProfile(ctx context.Context, id string) error {
	return p.DeleteFile(ctx, profileObject+id)
}

// PutFile stores bytes under a name, in place of what was there. A full store
// refuses with ErrFull and keeps the old object.
func (p *Profiles) PutFile(ctx context.Context, name string, data []byte) error {
	if name == "" {
		return errors.New("store a file: an empty name")
	}
	if len(data) > maxObject {
		return fmt.Errorf("store %s: %w: %d bytes", name, ErrTooLarge, len(data))
	}
	if err := p.j.await(ctx); err != nil {
		return err
	}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := p.put(ctx, name, data)
		if err == nil {
			return nil
		}
		if err = typed(err); !errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
			return fmt.Errorf("store %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("store %s: %w", name, err)
		case <-p.j.done:
			return ErrClosed
		case <-time.After(wait):
		}
	}
}

func (p *Profiles) put(ctx context.Context, name string, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, sendBudget)
	defer cancel()
	_, err := p.j.streams.objects.Put(ctx, jetstream.ObjectMeta{Name: name}, bytes.NewReader(data))
	return err //nolint:wrapcheck // typed by the caller
}

// File returns stored bytes, checked against their digest. capture.ErrNotFound
// when there are none.
func (p *Profiles) File(ctx context.Context, name string) ([]byte, error) {
	if err := p.j.await(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, sendBudget)
	defer cancel()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		data, err := p.get(ctx, name)
		switch {
		case err == nil:
			return data, nil
		case errors.Is(err, jetstream.ErrObjectNotFound):
			return nil, fmt.Errorf("file %s: %w", name, capture.ErrNotFound)
		}
		// A replica that is behind gives only a part: the digest does not match.
		err = typed(err)
		behind := errors.Is(err, jetstream.ErrDigestMismatch) && wait < 500*time.Millisecond
		if (!behind && !errors.Is(err, ErrUnavailable)) || ctx.Err() != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("read %s: %w", name, err)
		case <-p.j.done:
			return nil, ErrClosed
		case <-time.After(wait):
		}
	}
}

func (p *Profiles) get(ctx context.Context, name string) ([]byte, error) {
	r, err := p.j.streams.objects.Get(ctx, name)
	if err != nil {
		return nil, err //nolint:wrapcheck // typed by the caller
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(io.LimitReader(r, maxObject+1))
	if err == nil && len(data) > maxObject {
		err = ErrTooLarge
	}
	return data, err
}

// OpenFile is File as a reader with its size in bytes.
func (p *Profiles) OpenFile(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	data, err := p.File(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	return io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
}

// DeleteFile removes a file; one that is not there is not an error.
func (p *Profiles) DeleteFile(ctx context.Context, name string) error {
	if err := p.j.await(ctx); err != nil {
		return err
	}
	err := p.j.streams.objects.Delete(ctx, name)
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("delete %s: %w", name, typed(err))
	}
	return nil
}

// Stored is one file of the store.
type Stored struct {
	Name string
	Size int64
	At   time.Time
}

// Files lists the store, in no order.
func (p *Profiles) Files(ctx context.Context) ([]Stored, error) {
	if err := p.j.await(ctx); err != nil {
		return nil, err
	}
	list, err := p.j.streams.objects.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the file store: %w", typed(err))
	}
	out := make([]Stored, 0, len(list))
	for _, o := range list {
		out = append(out, Stored{Name: o.Name, Size: int64(o.Size), At: o.ModTime}) //nolint:gosec // bounded by the bucket
	}
	return out, nil
}
