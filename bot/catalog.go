package bot

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/snapflame/snapflame/triggers"
)

// CaseRow is what a list shows of a case; the rest is read by its ID.
type CaseRow struct {
	ID          string               `json:"id"`
	Key         string               `json:"key"`
	State       CaseState            `json:"state"`
	Class       triggers.Class       `json:"class"`
	Subclass    triggers.Subclass    `json:"subclass,omitempty"`
	Script      string               `json:"script"`
	Environment string               `json:"environment,omitempty"`
	Target      triggers.Target      `json:"target"`
	Attribution triggers.Attribution `json:"attribution"`
	Confidence  string               `json:"confidence,omitempty"`
	OpenedAt    time.Time            `json:"opened_at"`
	LastAt      time.Time            `json:"last_at"`
	ClosedAt    time.Time            `json:"closed_at,omitzero"`
	Count       int64                `json:"count"`
	Versions    []string             `json:"versions,omitempty"`
	Captures    []CaptureBrief       `json:"captures,omitempty"`
}

// CaptureBrief is a capture in a list of incidents.
type CaptureBrief struct {
	ID       string `json:"id"`
	State    string `json:"state"`
	Type     string `json:"type"`
	Headline string `json:"headline,omitempty"`
}

// RowOf trims a case to its row. At most eight versions are kept, by count.
func RowOf(c Case) CaseRow {
	r := CaseRow{
		ID: c.ID, Key: c.Key, State: c.State, Class: c.Class, Subclass: c.Subclass, Script: c.Script,
		Environment: c.Environment, Target: c.Target, Attribution: c.Attribution, Confidence: c.Confidence,
		OpenedAt: c.OpenedAt, LastAt: c.LastAt, ClosedAt: c.ClosedAt, Count: c.Count,
	}
	for v := range c.Versions {
		r.Versions = append(r.Versions, v)
	}
	slices.SortFunc(r.Versions, func(a, b string) int {
		if d := c.Versions[b] - c.Versions[a]; d != 0 {
			return int(d)
		}
		return strings.Compare(a, b)
	})
	r.Versions = r.Versions[:min(8, len(r.Versions))]
	for _, v := range c.Captures {
		b := CaptureBrief{ID: v.Record.ID, State: string(v.Record.State), Type: string(v.Record.Type)}
		if v.Summary != nil {
			b.Headline = v.Summary.Headline
		}
		r.Captures = append(r.Captures, b)
	}
	return r
}

// CaseQuery selects cases. Empty fields select all.
type CaseQuery struct {
	Class   triggers.Class
	State   CaseState
	Script  string // of the reporting or the target Worker, exact
	Object  string // object id or a prefix of it
	Version string // version id or a prefix of it
	Since   time.Time
	Until   time.Time
	Text    string // anywhere in script, entrypoint, object, headline; case-insensitive
	Limit   int    // 1 to 200; 0 is 50
	Cursor  string // from the last answer
}

// ErrCursor says that a cursor was not one of ours.
var ErrCursor = errors.New("the cursor is not one that this list gave; start again without it")

// Catalog holds the rows of all open and the newest closed cases in memory, so
// that a list of ten thousand costs no read of the store. It is rebuilt from
// the store at start, and bounded: the oldest closed rows go first.
type Catalog struct {
	limit int

	mu   sync.RWMutex
	rows []CaseRow // by OpenedAt, then ID, ascending
	at   map[string]time.Time
	seen uint64 // changes so far: the ETag of a list
}

// NewCatalog keeps at most limit rows.
func NewCatalog(limit int) *Catalog {
	return &Catalog{limit: limit, at: map[string]time.Time{}}
}

func order(a, b CaseRow) int {
	if d := a.OpenedAt.Compare(b.OpenedAt); d != 0 {
		return d
	}
	return strings.Compare(a.ID, b.ID)
}

// Put adds or replaces a row.
func (c *Catalog) Put(r CaseRow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen++
	if at, ok := c.at[r.ID]; ok {
		i, found := slices.BinarySearchFunc(c.rows, CaseRow{ID: r.ID, OpenedAt: at}, order)
		if found && at.Equal(r.OpenedAt) {
			c.rows[i] = r
			return
		}
		if found {
			c.rows = slices.Delete(c.rows, i, i+1)
		}
	}
	i, _ := slices.BinarySearchFunc(c.rows, r, order)
	c.rows = slices.Insert(c.rows, i, r)
	c.at[r.ID] = r.OpenedAt
	if len(c.rows) > c.limit {
		c.evict()
	}
}

// Forget removes a row.
func (c *Catalog) Forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.at[id]
	if !ok {
		return
	}
	c.seen++
	delete(c.at, id)
	if i, found := slices.BinarySearchFunc(c.rows, CaseRow{ID: id, OpenedAt: at}, order); found {
		c.rows = slices.Delete(c.rows, i, i+1)
	}
}

func (c *Catalog) evict() {
	i := max(0, slices.IndexFunc(c.rows, func(r CaseRow) bool { return r.State == Closed })) // all open: the oldest
	delete(c.at, c.rows[i].ID)
	c.rows = slices.Delete(c.rows, i, i+1)
}

// Version changes whenever a row does.
func (c *Catalog) Version() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.seen
}

// Len is how many rows are known.
func (c *Catalog) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.rows)
}

// List returns the rows a query selects, newest first, and the cursor of the
// next page; empty when there is none.
func (c *Catalog) List(q CaseQuery) ([]CaseRow, string, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = 50
	}
	limit = min(limit, 200)
	c.mu.RLock()
	defer c.mu.RUnlock()
	end := len(c.rows)
	if q.Cursor != "" {
		after, err := parseCursor(q.Cursor)
		if err != nil {
			return nil, "", err
		}
		end, _ = slices.BinarySearchFunc(c.rows, after, order)
	}
	q.Text = strings.ToLower(q.Text)
	out := make([]CaseRow, 0, limit)
	for i := end - 1; i >= 0; i-- {
		if !q.selects(c.rows[i]) {
			continue
		}
		if len(out) == limit {
			return out, cursorOf(out[limit-1]), nil
		}
		out = append(out, c.rows[i])
	}
	return out, "", nil
}

func (q CaseQuery) selects(r CaseRow) bool {
	switch {
	case q.Class != "" && r.Class != q.Class,
		q.State != "" && r.State != q.State,
		q.Script != "" && r.Script != q.Script && r.Target.Script != q.Script,
		q.Object != "" && !strings.HasPrefix(r.Target.ObjectID, strings.ToLower(q.Object)),
		!q.Since.IsZero() && r.LastAt.Before(q.Since),
		!q.Until.IsZero() && r.OpenedAt.After(q.Until):
		return false
	}
	if q.Version != "" && !strings.HasPrefix(r.Target.VersionID, q.Version) &&
		!slices.ContainsFunc(r.Versions, func(v string) bool { return strings.HasPrefix(v, q.Version) }) {
		return false
	}
	return q.Text == "" || r.mentions(q.Text)
}

func (r CaseRow) mentions(text string) bool {
	for _, s := range []string{r.ID, r.Script, r.Environment, r.Target.Script, r.Target.Entrypoint, r.Target.ObjectID, string(r.Class)} {
		if strings.Contains(strings.ToLower(s), text) {
			return true
		}
	}
	return slices.ContainsFunc(r.Captures, func(b CaptureBrief) bool { return strings.Contains(strings.ToLower(b.Headline), text) })
}

func cursorOf(r CaseRow) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%s", r.OpenedAt.UnixNano(), r.ID))
}

func parseCursor(s string) (CaseRow, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) > 200 {
		return CaseRow{}, ErrCursor
	}
	at, id, ok := strings.Cut(string(b), ".")
	ns, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil {
		return CaseRow{}, ErrCursor
	}
	return CaseRow{ID: id, OpenedAt: time.Unix(0, ns)}, nil
}
