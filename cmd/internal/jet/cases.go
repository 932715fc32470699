package jet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
)

var _ bot.Cases = (*Cases)(nil)

// Keys of the incidents bucket.
const (
	openPrefix   = "open."
	closedPrefix = "closed."
)

// Cases keeps incidents: the open ones under their key, the closed ones under
// their ID. What a state means is bot's business: a case that says it is closed
// is under its key as long as nobody has archived it.
type Cases struct{ j *Jet }

// Cases is the incidents, for bot.
func (j *Jet) Cases() *Cases { return &Cases{j} }

func openKey(key string) (string, error) {
	k, err := encodeKey(key)
	return openPrefix + k, err
}

func closedKey(id string) (string, error) {
	k, err := encodeKey(id)
	return closedPrefix + k, err
}

// OpenCase implements bot.Cases.
func (c *Cases) OpenCase(ctx context.Context, key string) (bot.Case, uint64, error) {
	k, err := openKey(key)
	if err != nil {
		return bot.Case{}, 0, err
	}
	if err := c.j.await(ctx); err != nil {
		return bot.Case{}, 0, err
	}
	var v bot.Case
	rev, err := c.j.streams.incidents.getJSON(ctx, k, &v)
	if err != nil {
		return bot.Case{}, 0, err
	}
	return v, rev, nil
}

// PutCase implements bot.Cases. Its errors are capture.ErrConflict, ErrTooLarge
// when the case has outgrown one message, and those of the engine.
func (c *Cases) PutCase(ctx context.Context, v bot.Case, rev uint64) (uint64, error) {
	k, err := openKey(v.Key)
	if err != nil {
		return 0, err
	}
	if err := c.j.await(ctx); err != nil {
		return 0, err
	}
	return c.j.streams.incidents.putJSON(ctx, k, v, rev, 0)
}

// CloseCase implements bot.Cases. The archive is written first: a crash in
// between leaves the case in both places, and the next CloseCase ends that.
// Case prefers the open one.
func (c *Cases) CloseCase(ctx context.Context, v bot.Case, rev uint64) error {
	k, err := openKey(v.Key)
	if err != nil {
		return err
	}
	if err := c.j.await(ctx); err != nil {
		return err
	}
	if _, now, err := c.j.streams.incidents.get(ctx, k); err != nil {
		return err
	} else if now != rev {
		return fmt.Errorf("close case %s: %w", v.Key, capture.ErrConflict)
	}
	v.State = bot.Closed
	if err := c.archive(ctx, v); err != nil {
		return err
	}
	return c.j.streams.incidents.remove(ctx, k, rev)
}

// archive writes the closed case, unless what is there is newer: a process that
// was held up between reading and writing must not bring back an old close of a
// case that was opened and closed again.
func (c *Cases) archive(ctx context.Context, v bot.Case) error {
	k, err := closedKey(v.ID)
	if err != nil {
		return err
	}
	for {
		var there bot.Case
		rev, err := c.j.streams.incidents.getJSON(ctx, k, &there)
		if err != nil && !errors.Is(err, capture.ErrNotFound) {
			return err
		}
		if err == nil && there.ClosedAt.After(v.ClosedAt) {
			return nil
		}
		if _, err = c.j.streams.incidents.putJSON(ctx, k, v, rev, 0); !errors.Is(err, capture.ErrConflict) {
			return err
		}
	}
}

// PutClosed changes a case in the archive: a capture that ends after the quiet
// period, a thread that moved. rev is from ClosedCase.
func (c *Cases) PutClosed(ctx context.Context, v bot.Case, rev uint64) (uint64, error) {
	k, err := closedKey(v.ID)
	if err != nil {
		return 0, err
	}
	if err := c.j.await(ctx); err != nil {
		return 0, err
	}
	return c.j.streams.incidents.putJSON(ctx, k, v, rev, 0)
}

// ClosedCase is an archived case with its revision.
func (c *Cases) ClosedCase(ctx context.Context, id string) (bot.Case, uint64, error) {
	k, err := closedKey(id)
	if err != nil {
		return bot.Case{}, 0, err
	}
	if err := c.j.await(ctx); err != nil {
		return bot.Case{}, 0, err
	}
	var v bot.Case
	rev, err := c.j.streams.incidents.getJSON(ctx, k, &v)
	return v, rev, err
}

// Case implements bot.Cases.
func (c *Cases) Case(ctx context.Context, id string) (bot.Case, error) {
	if err := c.j.await(ctx); err != nil {
		return bot.Case{}, err
	}
	if key, ok := c.j.incidents.openKey(id); ok {
		v, err := c.at(ctx, key)
		if err == nil && v.ID == id {
			return v, nil
		}
		if err != nil && !errors.Is(err, capture.ErrNotFound) {
			return bot.Case{}, err
		}
	}
	v, _, err := c.ClosedCase(ctx, id)
	if !errors.Is(err, capture.ErrNotFound) {
		return v, err
	}
	// The index may be a moment behind: look at the open ones themselves.
	keys, err := c.j.streams.incidents.keys(ctx, openPrefix+">")
	if err != nil {
		return bot.Case{}, err
	}
	for _, k := range keys {
		if v, err := c.at(ctx, k); err == nil && v.ID == id {
			return v, nil
		}
	}
	return bot.Case{}, fmt.Errorf("case %s: %w", id, capture.ErrNotFound)
}

func (c *Cases) at(ctx context.Context, key string) (bot.Case, error) {
	var v bot.Case
	_, err := c.j.streams.incidents.getJSON(ctx, key, &v)
	return v, err
}

// WatchOpen implements bot.Cases. Of a case that was archived, f gets only key
// and ID. f may hear of one state twice.
func (c *Cases) WatchOpen(ctx context.Context, f func(v bot.Case, rev uint64, closed bool), init func()) error {
	if err := c.j.await(ctx); err != nil {
		return err
	}
	ids := map[string]string{} // open key → ID
	return c.j.streams.incidents.watch(ctx, openPrefix+">", func(e jetstream.KeyValueEntry) {
		if e.Operation() == jetstream.KeyValuePut {
			var v bot.Case
			if err := json.Unmarshal(e.Value(), &v); err != nil {
				c.j.log.Error().Err(err).Str("key", e.Key()).Msg("an open incident cannot be read")
				return
			}
			ids[e.Key()] = v.ID
			f(v, e.Revision(), false)
			return
		}
		if id, known := ids[e.Key()]; known {
			delete(ids, e.Key())
			key := decodeKey(strings.TrimPrefix(e.Key(), openPrefix))
			f(bot.Case{ID: id, Key: key, State: bot.Closed}, e.Revision(), true)
		}
	}, init)
}

// ClosedCases lists the archive, newest first: at most limit cases that closed
// before the time given (zero: now). The next page starts at the last one's
// ClosedAt. It reaches back as far as the index does, see indexRows.
func (c *Cases) ClosedCases(ctx context.Context, before time.Time, limit int) ([]bot.Case, error) {
	if err := c.j.await(ctx); err != nil {
		return nil, err
	}
	return listed(ctx, c.j.incidents.page(before, limit), c.ClosedCase)
}

// WatchAll calls f with every case, open and closed, then init, then with every
// change, until ctx ends. A case that is archived comes once more.
func (c *Cases) WatchAll(ctx context.Context, f func(v bot.Case, rev uint64), init func()) error {
	if err := c.j.await(ctx); err != nil {
		return err
	}
	return c.j.streams.incidents.watch(ctx, ">", func(e jetstream.KeyValueEntry) {
		var v bot.Case
		if e.Operation() == jetstream.KeyValuePut && json.Unmarshal(e.Value(), &v) == nil {
			f(v, e.Revision())
		}
	}, init)
}
