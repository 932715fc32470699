package jet

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

var _ triggers.DeadLetters = (*DeadLetters)(nil)

// Headers of a dead letter.
const (
	deadSubjectHdr = "Snapflame-Subject"
	deadSeqHdr     = "Snapflame-Sequence"
	deadReasonHdr  = "Snapflame-Reason"
	deadTimeHdr    = "Snapflame-At"
	deadStreamHdr  = "Snapflame-Stream"
	deadCodingHdr  = "Snapflame-Encoding"
	deadCutHdr     = "Snapflame-Cut-From" // the size, when even compressed it was too large
)

const reasonMax = 300 // bytes of a reason, in a header

// DeadLetters keeps what could not be read or done.
type DeadLetters struct{ j *Jet }

// Dead is the dead letters, for triggers and for people.
func (j *Jet) Dead() *DeadLetters { return &DeadLetters{j} }

// Letter is a dead letter as it is kept.
type Letter struct {
	triggers.DeadLetter
	ID     uint64 // for Replay
	Stream string // where it was
	Cut    int    // the original size in bytes, when Data is only its beginning
}

type letter struct {
	triggers.DeadLetter
	stream string
}

// Bury implements triggers.DeadLetters. The same letter again within two
// minutes is kept once.
func (d *DeadLetters) Bury(ctx context.Context, l triggers.DeadLetter) error {
	return d.put(ctx, letter{DeadLetter: l, stream: d.j.opts.Stream})
}

func (d *DeadLetters) put(ctx context.Context, l letter) error {
	if err := d.j.await(ctx); err != nil {
		return err
	}
	if l.At.IsZero() {
		l.At = time.Now()
	}
	h := nats.Header{}
	h.Set(deadSubjectHdr, oneLine(l.Subject))
	h.Set(deadSeqHdr, strconv.FormatUint(l.Sequence, 10))
	h.Set(deadReasonHdr, oneLine(l.Reason))
	h.Set(deadTimeHdr, l.At.UTC().Format(time.RFC3339Nano))
	h.Set(deadStreamHdr, l.stream)
	sum := sha256.Sum256(append([]byte(l.stream+"\x00"+l.Subject+"\x00"+l.Reason+"\x00"), l.Data...))
	id := "dead." + strconv.FormatUint(l.Sequence, 10) + "." + hex.EncodeToString(sum[:12])
	m := &nats.Msg{Subject: deadSubject + l.stream, Header: h, Data: d.fit(h, l.Data)}
	if _, err := d.j.send(ctx, m, id); err != nil {
		return fmt.Errorf("keep the dead letter %s #%d: %w", l.Subject, l.Sequence, err)
	}
	return nil
}

// fit makes the data fit beside the headers: a message at the payload limit
// would otherwise be the one that cannot be put aside.
func (d *DeadLetters) fit(h nats.Header, data []byte) []byte {
	room := int(d.j.nc.MaxPayload()) - 2*headerRoom
	if room <= 0 || len(data) <= room {
		return data
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err == nil && w.Close() == nil && b.Len() <= room {
		h.Set(deadCodingHdr, "gzip")
		return b.Bytes()
	}
	h.Set(deadCutHdr, strconv.Itoa(len(data)))
	return data[:room]
}

func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) > reasonMax {
		s = strings.ToValidUTF8(s[:reasonMax], "")
	}
	return s
}

// List returns at most limit letters with an ID after the one given, oldest
// first.
func (d *DeadLetters) List(ctx context.Context, after uint64, limit int) ([]Letter, error) {
	if err := d.j.await(ctx); err != nil {
		return nil, err
	}
	info, err := d.j.info(ctx, deadStream)
	if err != nil {
		return nil, err
	}
	out := []Letter{}
	for seq := max(after+1, info.State.FirstSeq); seq <= info.State.LastSeq && len(out) < limit; seq++ {
		l, err := d.get(ctx, seq)
		if errors.Is(err, capture.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

func (d *DeadLetters) get(ctx context.Context, id uint64) (Letter, error) {
	m, err := d.j.streams.dead.GetMsg(ctx, id)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return Letter{}, fmt.Errorf("dead letter %d: %w", id, capture.ErrNotFound)
	}
	if err != nil {
		return Letter{}, fmt.Errorf("dead letter %d: %w", id, typed(err))
	}
	l := Letter{ID: id, Stream: m.Header.Get(deadStreamHdr), DeadLetter: triggers.DeadLetter{
		Subject: m.Header.Get(deadSubjectHdr), Reason: m.Header.Get(deadReasonHdr),
		Sequence: number(m.Header.Get(deadSeqHdr)), Data: m.Data,
	}}
	l.At, _ = time.Parse(time.RFC3339Nano, m.Header.Get(deadTimeHdr))
	l.Cut, _ = strconv.Atoi(m.Header.Get(deadCutHdr))
	if m.Header.Get(deadCodingHdr) == "gzip" {
		r, err := gzip.NewReader(bytes.NewReader(m.Data))
		if err == nil {
			l.Data, err = io.ReadAll(io.LimitReader(r, maxObject))
		}
		if err != nil {
			return Letter{}, fmt.Errorf("dead letter %d: %w", id, err)
		}
	}
	return l, nil
}

// Replay publishes a letter under its old subject again and removes it. Doing
// it twice publishes once.
func (d *DeadLetters) Replay(ctx context.Context, id uint64) error {
	if err := d.j.await(ctx); err != nil {
		return err
	}
	l, err := d.get(ctx, id)
	if err != nil {
		return err
	}
	if l.Cut > 0 {
		return fmt.Errorf("dead letter %d: only the first %d of %d bytes were kept: publish the original again", id, len(l.Data), l.Cut)
	}
	if _, err := d.j.send(ctx, &nats.Msg{Subject: l.Subject, Data: l.Data}, "replay."+strconv.FormatUint(id, 10)); err != nil {
		return fmt.Errorf("replay dead letter %d to %s: %w", id, l.Subject, err)
	}
	return d.Delete(ctx, id)
}

// ReplayAll replays every letter that is there now, and says how many; letters
// that cannot be replayed stay, and their errors are joined.
func (d *DeadLetters) ReplayAll(ctx context.Context) (int, error) {
	var n int
	var errs []error
	last := uint64(0)
	info, err := d.j.info(ctx, deadStream)
	if err != nil {
		return 0, err
	}
	for last < info.State.LastSeq {
		list, err := d.List(ctx, last, 100)
		if err != nil || len(list) == 0 {
			return n, errors.Join(append(errs, err)...)
		}
		for _, l := range list {
			if last = l.ID; last > info.State.LastSeq {
				break
			}
			if err := d.Replay(ctx, l.ID); err != nil {
				errs = append(errs, err)
				continue
			}
			n++
		}
	}
	return n, errors.Join(errs...)
}

// Delete removes a letter; one that is gone is not an error.
func (d *DeadLetters) Delete(ctx context.Context, id uint64) error {
	if err := d.j.streams.dead.DeleteMsg(ctx, id); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		var api *jetstream.APIError
		if errors.As(err, &api) && api.ErrorCode == codeNoSequence {
			return nil
		}
		return fmt.Errorf("delete dead letter %d: %w", id, typed(err))
	}
	return nil
}
