package app

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/api"
	"github.com/snapflame/snapflame/bot/pages"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/capture/cloudflare"
	"github.com/snapflame/snapflame/cmd/internal/jet"
	"github.com/snapflame/snapflame/report"
)

// reader answers pages, API and commands from what is stored.
type reader struct {
	catalog  *bot.Catalog
	cases    *jet.Cases
	records  *jet.Records
	profiles *jet.Profiles
	sent     *jet.SentLedger
	dead     *jet.DeadLetters
	analyst  *analyst
	cf       *cloudflare.Client
	links    func(ctx context.Context, channel, ts string) string // Slack's permalink; "" when Slack does not say
	splits   *lru[string, []pages.Deployment]

	loaded chan struct{} // closed when the catalog holds what was stored before
	once   sync.Once
}

// loadPatience is how long a list waits for the catalog of a service that has
// just started; twenty thousand incidents are read in less.
const loadPatience = 10 * time.Second

var (
	_ api.Cases         = (*reader)(nil)
	_ api.Captures      = (*reader)(nil)
	_ api.DeadLetters   = (*reader)(nil)
	_ pages.Cases       = (*reader)(nil)
	_ pages.Captures    = (*reader)(nil)
	_ pages.Deployments = (*reader)(nil)
	_ pages.Threads     = (*reader)(nil)
)

// ListCases answers from memory, once that holds everything: a list that lacks
// the incident somebody looks for would be taken for the truth.
func (r *reader) ListCases(ctx context.Context, q bot.CaseQuery) ([]bot.CaseRow, string, uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, loadPatience)
	defer cancel()
	select {
	case <-r.loaded:
	case <-ctx.Done():
		return nil, "", 0, fmt.Errorf("the incidents are still being read, try again in a few seconds: %w", ctx.Err())
	}
	rows, next, err := r.catalog.List(q)
	return rows, next, r.catalog.Version(), err
}

// Case finds an incident, open or closed.
func (r *reader) Case(ctx context.Context, id string) (bot.Case, error) { return r.cases.Case(ctx, id) }

// Record finds a capture.
func (r *reader) Record(ctx context.Context, id string) (capture.Record, uint64, error) {
	return r.records.Record(ctx, id)
}

// Profile gives the stored bytes.
func (r *reader) Profile(ctx context.Context, id string) ([]byte, error) {
	return r.profiles.Profile(ctx, id)
}

// Report analyses a stored capture again.
func (r *reader) Report(ctx context.Context, id, base string) (*report.Report, error) {
	return r.analyst.Report(ctx, id, base)
}

// Import stores a capture that another installation exported. The profile comes
// first: a record without its bytes would be a capture that is not there.
func (r *reader) Import(ctx context.Context, rec capture.Record, data []byte) error {
	if _, err := report.Analyse(data, report.Options{}); err != nil {
		return fmt.Errorf("%w: %w", api.ErrRefused, err)
	}
	_, _, err := r.records.Record(ctx, rec.ID)
	if err == nil {
		return capture.ErrConflict
	}
	if !errors.Is(err, capture.ErrNotFound) {
		return err
	}
	if err := r.profiles.PutProfile(ctx, rec.ID, data); err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	rec.Bytes, rec.SHA256 = int64(len(data)), hex.EncodeToString(sum[:]) // of what is stored here
	_, err = r.records.PutRecord(ctx, rec, 0)
	return err
}

// Analysis is report --json of a stored capture.
func (r *reader) Analysis(ctx context.Context, id string) ([]byte, error) {
	rep, err := r.analyst.Report(ctx, id, "")
	if err != nil {
		return nil, err
	}
	return json.Marshal(rep)
}

// listPages bounds how far back one list request looks through records that it
// filters out: 20 pages of 200.
const listPages = 20

// ListCaptures lists records newest first.
func (r *reader) ListCaptures(ctx context.Context, incident, script string, limit int, cursor string) ([]capture.Record, string, error) {
	if incident != "" {
		return r.captures(ctx, incident)
	}
	before, err := parseTime(cursor)
	if err != nil {
		return nil, "", err
	}
	var out []capture.Record
	for range listPages {
		page, err := r.records.RecordsList(ctx, before, 200)
		if err != nil {
			return nil, "", err
		}
		for _, rec := range page {
			if script != "" && rec.Target.Script != script && rec.Resolved.Script != script {
				continue
			}
			if len(out) == limit {
				return out, formatTime(out[limit-1].QueuedAt), nil
			}
			out = append(out, rec)
		}
		if len(page) < 200 {
			return out, "", nil
		}
		before = page[len(page)-1].QueuedAt
	}
	return out, formatTime(before), nil
}

// captures are an incident's, newest first.
func (r *reader) captures(ctx context.Context, incident string) ([]capture.Record, string, error) {
	c, err := r.cases.Case(ctx, incident)
	if err != nil {
		return nil, "", err
	}
	out := make([]capture.Record, 0, len(c.Captures))
	for _, done := range slices.Backward(c.Captures) {
		rec, _, err := r.records.Record(ctx, done.Record.ID)
		if errors.Is(err, capture.ErrNotFound) {
			rec, err = done.Record, nil // decided, and not queued yet
		}
		if err != nil {
			return nil, "", err
		}
		out = append(out, rec)
	}
	return out, "", nil
}

func formatTime(t time.Time) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(t.UnixNano(), 36)))
}

func parseTime(cursor string) (time.Time, error) {
	if cursor == "" {
		return time.Time{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return time.Time{}, bot.ErrCursor
	}
	ns, err := strconv.ParseInt(string(b), 36, 64)
	if err != nil {
		return time.Time{}, bot.ErrCursor
	}
	return time.Unix(0, ns), nil
}

// Deployments lists when versions of a Worker went live. Kept for a while per
// Worker: the marks of a page are not worth a call of the API each time.
func (r *reader) Deployments(ctx context.Context, script string) ([]pages.Deployment, error) {
	key := script + "@" + strconv.FormatInt(time.Now().Unix()/60, 10)
	return r.splits.get(key, func() ([]pages.Deployment, error) {
		list, err := r.cf.Deployments(ctx, script)
		if err != nil {
			return nil, err
		}
		var out []pages.Deployment
		for _, d := range list {
			for _, v := range d.Versions {
				out = append(out, pages.Deployment{At: d.Created, Version: v.VersionID, Percent: v.Percentage})
			}
		}
		return out, nil
	})
}

// Permalink finds the thread of an incident by where its root was sent.
func (r *reader) Permalink(ctx context.Context, incident string) string {
	s, _, err := r.sent.Sent(ctx, incident+".root")
	if err != nil || s.TS == "" || r.links == nil {
		return ""
	}
	return r.links(ctx, s.Channel, s.TS)
}

// DeadLetters lists the newest of what could not be read.
func (r *reader) DeadLetters(ctx context.Context, limit int) ([]api.DeadLetter, error) {
	letters, err := r.dead.List(ctx, 0, limit)
	if err != nil {
		return nil, err
	}
	out := make([]api.DeadLetter, 0, len(letters))
	for _, l := range letters {
		out = append(out, api.DeadLetter{Sequence: l.ID, Subject: l.Subject, Reason: l.Reason, At: l.At, Bytes: len(l.Data), Head: string(l.Data[:min(200, len(l.Data))])})
	}
	return out, nil
}

// ReplayDeadLetter publishes one again.
func (r *reader) ReplayDeadLetter(ctx context.Context, sequence uint64) error {
	if err := r.dead.Replay(ctx, sequence); err != nil {
		return fmt.Errorf("replay dead letter %d: %w", sequence, err)
	}
	return nil
}

// watch keeps the catalog of cases current until ctx ends.
func (r *reader) watch(ctx context.Context) error {
	return r.cases.WatchAll(ctx, func(c bot.Case, _ uint64) { r.catalog.Put(bot.RowOf(c)) }, func() {
		r.once.Do(func() { close(r.loaded) })
	})
}
