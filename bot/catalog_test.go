package bot_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/triggers"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func row(i int) bot.CaseRow {
	r := bot.CaseRow{ID: fmt.Sprintf("i%05d", i), State: bot.Closed, Class: triggers.ClassOverloaded, Script: fmt.Sprintf("w%d", i%10), OpenedAt: noon.Add(time.Duration(i) * time.Second)}
	r.LastAt = r.OpenedAt.Add(time.Minute)
	if i%100 == 0 {
		r.State, r.Target.ObjectID = bot.Open, "abcd"
	}
	return r
}

func TestCatalogPagesNewestFirst(t *testing.T) {
	c := bot.NewCatalog(10_000)
	for _, i := range []int{3, 1, 2, 0, 4, 9, 8, 7, 6, 5} {
		c.Put(row(i))
	}
	c.Put(row(4)) // a change must not add a row
	var got []string
	for cursor, page := "", 0; ; page++ {
		rows, next, err := c.List(bot.CaseQuery{Limit: 3, Cursor: cursor})
		if err != nil || page > 4 {
			t.Fatalf("page %d: %v", page, err)
		}
		for _, r := range rows {
			got = append(got, r.ID[5:])
		}
		if next == "" {
			break
		}
		cursor = next
	}
	if s := fmt.Sprint(got); s != "[9 8 7 6 5 4 3 2 1 0]" {
		t.Errorf("got %s", s)
	}
}

func TestCatalogFilters(t *testing.T) {
	c := bot.NewCatalog(10_000)
	for i := range 1000 {
		c.Put(row(i))
	}
	for name, tc := range map[string]struct {
		q    bot.CaseQuery
		want int
	}{
		"open":    {bot.CaseQuery{State: bot.Open}, 10},
		"script":  {bot.CaseQuery{Script: "w7"}, 100},
		"object":  {bot.CaseQuery{Object: "ABC"}, 10},
		"since":   {bot.CaseQuery{Since: noon.Add(900*time.Second + time.Minute)}, 100},
		"until":   {bot.CaseQuery{Until: noon.Add(9 * time.Second)}, 10},
		"text":    {bot.CaseQuery{Text: "I00042"}, 1},
		"class":   {bot.CaseQuery{Class: triggers.ClassExceededCPU}, 0},
		"version": {bot.CaseQuery{Version: "x"}, 0},
	} {
		tc.q.Limit = 200
		rows, _, err := c.List(tc.q)
		if err != nil || len(rows) != tc.want {
			t.Errorf("%s: got %d rows (%v), want %d", name, len(rows), err, tc.want)
		}
	}
	if _, _, err := c.List(bot.CaseQuery{Cursor: "%%%"}); !errors.Is(err, bot.ErrCursor) {
		t.Errorf("a foreign cursor: got %v", err)
	}
}

func TestCatalogIsBoundedAndKeepsOpenCases(t *testing.T) {
	c := bot.NewCatalog(50)
	for i := range 1000 {
		c.Put(row(i))
	}
	if c.Len() != 50 {
		t.Errorf("got %d rows, want 50", c.Len())
	}
	rows, _, _ := c.List(bot.CaseQuery{State: bot.Open})
	if len(rows) != 10 {
		t.Errorf("%d of 10 open cases are left", len(rows))
	}
}

func TestCatalogForgets(t *testing.T) {
	c := bot.NewCatalog(50)
	for i := range 5 {
		c.Put(row(i))
	}
	c.Forget("i00003")
	c.Forget("never known")
	rows, _, _ := c.List(bot.CaseQuery{})
	if len(rows) != 4 || rows[0].ID != "i00004" || rows[1].ID != "i00002" {
		t.Errorf("got %v", rows)
	}
}

func BenchmarkCatalogList(b *testing.B) {
	c := bot.NewCatalog(20_000)
	for i := range 10_000 {
		c.Put(row(i))
	}
	for b.Loop() {
		if _, _, err := c.List(bot.CaseQuery{Text: "i09", Limit: 200}); err != nil {
			b.Fatal(err)
		}
	}
}
