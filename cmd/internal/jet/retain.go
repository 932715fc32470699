package jet

import (
	"context"
	"errors"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
)

// DeleteRecord removes a capture's record; one that is not there is not an error.
func (r *Records) DeleteRecord(ctx context.Context, id string) error {
	k, err := r.key(ctx, id)
	if err != nil {
		return err
	}
	return r.j.streams.records.remove(ctx, k, 0)
}

// DeleteClosed removes the archived cases that closed before the time given,
// and returns their IDs. What was opened again meanwhile stays.
func (c *Cases) DeleteClosed(ctx context.Context, before time.Time) ([]string, error) {
	var gone []string
	for {
		page, err := c.ClosedCases(ctx, before, 200)
		if err != nil || len(page) == 0 {
			return gone, err
		}
		for _, v := range page {
			id, err := c.deleteClosed(ctx, v)
			if err != nil {
				return gone, err
			}
			if id != "" {
				gone = append(gone, id)
			}
		}
		if len(page) < 200 {
			return gone, nil
		}
		before = page[len(page)-1].ClosedAt
	}
}

func (c *Cases) deleteClosed(ctx context.Context, v bot.Case) (string, error) {
	there, rev, err := c.ClosedCase(ctx, v.ID)
	if errors.Is(err, capture.ErrNotFound) || err == nil && !there.ClosedAt.Equal(v.ClosedAt) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	k, err := closedKey(v.ID)
	if err != nil {
		return "", err
	}
	err = c.j.streams.incidents.remove(ctx, k, rev)
	if errors.Is(err, capture.ErrConflict) {
		return "", nil
	}
	return v.ID, err
}
