package pages_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/pages"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/triggers"
)

var start = time.Date(2026, 11, 30, 3, 10, 0, 0, time.UTC)

const object = "3fa1c07d5be2498a1d6e0b7c94f2538e6a1b2c3d4e5f60718293a4b5c6d7e8f9"

// store answers every interface of the pages from memory.
type store struct {
	c       bot.Case
	catalog *bot.Catalog
	profile string // file of report/testdata/profiles
	base    string
	failure error
}

func (s *store) ListCases(_ context.Context, q bot.CaseQuery) ([]bot.CaseRow, string, uint64, error) {
	if s.failure != nil {
		return nil, "", 0, s.failure
	}
	rows, next, err := s.catalog.List(q)
	return rows, next, s.catalog.Version(), err
}

func (s *store) Case(_ context.Context, id string) (bot.Case, error) {
	if id != s.c.ID {
		return bot.Case{}, fmt.Errorf("case %s: %w", id, capture.ErrNotFound)
	}
	return s.c, s.failure
}

func (s *store) Record(_ context.Context, id string) (capture.Record, uint64, error) {
	for _, v := range s.c.Captures {
		if v.Record.ID == id {
			return v.Record, 1, nil
		}
	}
	return capture.Record{}, 0, capture.ErrNotFound
}

func (s *store) ListCaptures(context.Context, string, string, int, string) ([]capture.Record, string, error) {
	var out []capture.Record
	for _, v := range s.c.Captures {
		out = append(out, v.Record)
	}
	return out, "", nil
}

func (s *store) Report(_ context.Context, id, base string) (*report.Report, error) {
	r, _, err := s.Record(context.Background(), id)
	if err != nil {
		return nil, err
	}
	rep, err := read(s.profile, r)
	if err != nil || base == "" {
		return rep, err
	}
	other, err := read(s.base, r)
	if err != nil {
		return nil, err
	}
	rep.Base, err = report.Compare(rep, []*report.Report{other})
	return rep, err
}

func read(file string, r capture.Record) (*report.Report, error) {
	data, err := os.ReadFile(filepath.Join("../../report/testdata/profiles", file))
	if err != nil {
		return nil, err
	}
	return report.Analyse(data, report.Options{Meta: report.Meta{Title: "room-api RoomObject 3fa1c07d", CaptureID: r.ID, StartedAt: r.StartedAt, Duration: r.Duration}})
}

func (s *store) Objects(_ context.Context, worker string, _ int) (bot.ObjectList, error) {
	list := bot.ObjectList{Since: start, Window: "5m0s"}
	if worker == "nobody" {
		return list, nil
	}
	for i := range 12 {
		list.Objects = append(list.Objects, bot.ObjectRow{
			Script: "room-api", Entrypoint: "RoomObject", ObjectID: strings.Repeat(fmt.Sprintf("%x", i+3), 64)[:64], Requests: int64(9000 - 700*i), Errors: int64(412 - 40*i),
			CPUMS: int64(48_000 - 4000*i), WallMS: int64(290_000 - 9000*i), QueuedMS: int64(242_000 - 5000*i), ErrorBound: 120, LastSeen: start.Add(8 * time.Minute),
		})
	}
	list.Objects[0].Incident, list.Objects[0].LastCapture = s.c.ID, s.c.ID+"-1"
	return list, nil
}

func (s *store) Deployments(context.Context, string) ([]pages.Deployment, error) {
	return []pages.Deployment{{At: start.Add(-90 * time.Second), Version: "9f1c2b7e-6d0a-4a55-8e43-0a5f4f0c1d22", Percent: 100}}, nil
}

func (s *store) Permalink(context.Context, string) string {
	return "https://acme.slack.com/archives/C0INC/p1796020331000100"
}

// newStore is an overload of eight minutes with two captures, one of which failed.
func newStore(t testing.TB, minutes int) *store {
	t.Helper()
	c := bot.Case{
		ID: "inc7k2", Key: "overloaded.do-" + object, State: bot.Open, OpenedAt: start, LastAt: start.Add(time.Duration(minutes) * time.Minute),
		Class: triggers.ClassOverloaded, Subclass: triggers.SubclassRequestsQueued, Attribution: triggers.AttributionLogged,
		Target: triggers.Target{Kind: triggers.TargetDurableObject, Script: "room-api", Entrypoint: "RoomObject", ObjectID: object},
		Script: "edge-gateway", Environment: "production", Quote: "Durable Object is overloaded. Too many requests queued.",
		Rule: "overloaded", Channel: "C0INC", Previous: "inc6aa",
		Versions: map[string]int64{"9f1c2b7e-6d0a-4a55-8e43-0a5f4f0c1d22": 900, "1b0d7a3c-55aa-4d1f-9c0e-7f52c6a1e004": 120},
		Routes:   map[string]int64{"POST /v1/rooms/REDACTED/msg": 940, "GET /v1/rooms/REDACTED": 80}, Colos: map[string]int64{"FRA": 700, "SIN": 320},
		Scripts: map[string]int64{"edge-gateway": 1000, "room-api-cron": 20}, Sizes: []int64{500, 20 << 20, 18 << 20, 3 << 20, 17 << 20}, MaxSize: 20 << 20,
		PerMinute: map[int64]int64{}, Slots: map[int64]map[string]int64{},
		Log: []bot.Entry{{At: start, Reason: "logged", Text: "the object's id stands in the record"}, {At: start.Add(time.Second), Reason: "started", Text: "CPU capture inc7k2-1 started"}},
	}
	for i := range minutes * 6 {
		at := start.Unix() + int64(i*10)
		n := int64(10 + (i*7)%23)
		c.Slots[at/10] = map[string]int64{"9f1c2b7e-6d0a-4a55-8e43-0a5f4f0c1d22": n, "1b0d7a3c-55aa-4d1f-9c0e-7f52c6a1e004": n / 6}
		c.PerMinute[at/60] += n + n/6
		c.Count += n + n/6
	}
	job := capture.Job{ID: "inc7k2-1", IncidentID: c.ID, Type: capture.CPU, Duration: 10 * time.Second, Cause: capture.CauseIncident, QueuedAt: start, Target: capture.Target{Kind: capture.DurableObject, Class: "RoomObject", ObjectID: object}}
	stored := capture.Record{
		Job: job, State: capture.Stored, StartedAt: start.Add(2 * time.Second), EndedAt: start.Add(12 * time.Second), Bytes: 14_795, SHA256: "ab", Attempts: 1,
		Resolved: capture.Target{Kind: capture.DurableObject, Script: "room-api", Class: "RoomObject", ObjectID: object, VersionID: "9f1c2b7e-6d0a-4a55-8e43-0a5f4f0c1d22"}, VersionSource: "event",
	}
	failed := stored
	failed.ID, failed.State, failed.StartedAt = "inc7k2-2", capture.Failed, start.Add(70*time.Second)
	failed.Failure = &capture.Failure{Kind: capture.FailNoIsolate, Message: "The Worker has no loaded isolate in its recent execution locations."}
	s := &store{c: c, catalog: bot.NewCatalog(20_000), profile: "do-schema.cpu.pb.gz", base: "do-meter.cpu.pb.gz"}
	rep, err := read(s.profile, stored)
	if err != nil {
		t.Fatal(err)
	}
	sum := bot.Summarise(rep, "ensureSchema takes 71.6 % of busy CPU", 1, "")
	s.c.Captures = []bot.CaptureView{{Record: stored, Summary: &sum, PNG: &bot.File{Object: "x.png"}}, {Record: failed}}
	s.catalog.Put(bot.RowOf(s.c))
	return s
}

func (s *store) handler(t testing.TB, acting bool) http.Handler {
	t.Helper()
	h, err := pages.New(pages.Options{
		Cases: s, Captures: s, Objects: s, Deployments: s, Threads: s,
		Acting: func(*http.Request) bool { return acting }, Now: func() time.Time { return start.Add(9 * time.Minute) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}
