package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/report/flame"
)

// maxBaselines is how many quiet captures an incident is compared with: each
// must be beaten, and more than three only cost power.
const maxBaselines = 3

// analyst reads stored profiles. It implements bot.Analyst and answers the
// pages and commands that look at a profile again.
type analyst struct {
	records  records
	files    files
	maps     sourceMaps
	cap      time.Duration
	log      zerolog.Logger
	reports  *lru[reportKey, *report.Report]
	measured func(stage string, took time.Duration)
}

type records interface {
	Record(ctx context.Context, id string) (capture.Record, uint64, error)
	RecordsList(ctx context.Context, before time.Time, limit int) ([]capture.Record, error)
}

type files interface {
	Profile(ctx context.Context, id string) ([]byte, error)
	PutFile(ctx context.Context, name string, data []byte) error
}

// sourceMaps finds the source map of a version; nil when there is none.
type sourceMaps interface {
	For(ctx context.Context, script, version string) report.SourceMapper
}

var _ bot.Analyst = (*analyst)(nil)

// Analyse reads a stored capture, merged with the earlier ones of its series,
// compares it with the baselines of its target, draws the picture and stores it.
func (a *analyst) Analyse(ctx context.Context, s bot.Study) (bot.Analysed, error) {
	began := time.Now()
	rep, err := a.one(ctx, s.Record)
	if bad, ok := errors.AsType[*report.InputError](err); ok {
		// Its bytes were checked before they were stored, so this is a profile
		// that only the full analysis refuses. It will not get better.
		return bot.Analysed{Summary: bot.Summary{Verdict: string(report.Empty), Headline: "The stored profile cannot be read: " + bad.Error(), Window: s.Record.Duration.String() + " asked for"}}, nil
	}
	if err != nil {
		return bot.Analysed{}, err
	}
	rep, merged, err := a.merge(ctx, rep, s)
	if err != nil {
		return bot.Analysed{}, err
	}
	baseline := a.compare(ctx, rep, s.Record)
	out := bot.Analysed{Summary: bot.Summarise(rep, flame.Headline(rep), merged, baseline)}
	a.measured("analyse", time.Since(began))
	if out.PNG, err = a.draw(ctx, rep, s.Record.ID); err != nil {
		return bot.Analysed{}, err
	}
	a.measured("draw", time.Since(began))
	return out, nil
}

// one analyses a record's own profile.
func (a *analyst) one(ctx context.Context, r capture.Record) (*report.Report, error) {
	data, err := a.files.Profile(ctx, r.ID)
	if err != nil {
		return nil, fmt.Errorf("read profile %s: %w", r.ID, err)
	}
	o := report.Options{SampleCap: a.cap, Meta: meta(r)}
	if a.maps != nil {
		o.SourceMap = a.maps.For(ctx, o.Meta.Script, o.Meta.VersionID)
	}
	return report.Analyse(data, o)
}

func (a *analyst) merge(ctx context.Context, rep *report.Report, s bot.Study) (*report.Report, int, error) {
	all := []*report.Report{}
	for _, id := range s.With {
		r, _, err := a.records.Record(ctx, id)
		if errors.Is(err, capture.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		earlier, err := a.one(ctx, r)
		if err != nil {
			a.log.Warn().Err(err).Str("capture", id).Msg("left out of a merged report")
			continue
		}
		all = append(all, earlier)
	}
	if len(all) == 0 {
		return rep, 1, nil
	}
	m, err := report.Merge(append(all, rep))
	if err != nil {
		a.log.Warn().Err(err).Str("capture", s.Record.ID).Msg("captures of a series do not merge")
		return rep, 1, nil
	}
	return m, len(all) + 1, nil
}

// compare fills rep.Base from the target's baselines and says which they were.
// Without one nothing is compared: an old incident is no quiet time.
func (a *analyst) compare(ctx context.Context, rep *report.Report, r capture.Record) string {
	var bases []*report.Report
	var words []string
	for _, b := range a.baselines(ctx, r) {
		base, err := a.one(ctx, b)
		if err != nil || base.Verdict != report.Conclusive {
			continue
		}
		bases = append(bases, base)
		words = append(words, b.StartedAt.UTC().Format("2006-01-02 15:04"))
	}
	if len(bases) == 0 {
		return ""
	}
	c, err := report.Compare(rep, bases)
	if err != nil {
		a.log.Warn().Err(err).Str("capture", r.ID).Msg("not compared with its baselines")
		return ""
	}
	rep.Base = c
	return fmt.Sprintf("%d quiet capture%s (%s UTC)", len(bases), map[bool]string{true: "s"}[len(bases) > 1], strings.Join(words, ", "))
}

// baselines are the newest quiet captures of the same target and type, the same
// version first: a share moves with the code.
func (a *analyst) baselines(ctx context.Context, r capture.Record) []capture.Record {
	var same, other []capture.Record
	var before time.Time
	for range 20 { // at most 4,000 records back
		page, err := a.records.RecordsList(ctx, before, 200)
		if err != nil || len(page) == 0 {
			break
		}
		for _, b := range page {
			if b.Cause != capture.CauseBaseline || b.State != capture.Stored || b.Type != r.Type || b.ID == r.ID || !alike(b, r) {
				continue
			}
			if b.Resolved.VersionID == r.Resolved.VersionID {
				same = append(same, b)
			} else {
				other = append(other, b)
			}
		}
		if len(same) >= maxBaselines || len(page) < 200 {
			break
		}
		before = page[len(page)-1].QueuedAt
	}
	all := append(same, other...)
	return all[:min(maxBaselines, len(all))]
}

// alike reports whether two captures show the same code under the same kind of
// load: the same Worker, and the same class of object.
func alike(a, b capture.Record) bool {
	return a.Target.Kind == b.Target.Kind && a.Resolved.Script == b.Resolved.Script && classOf(a) == classOf(b)
}

// classOf is the class of a Durable Object; a logged id alone does not say it,
// the account does.
func classOf(r capture.Record) string { return cmp.Or(r.Resolved.Class, r.Target.Class) }

// draw stores the picture and the page of a report, and names the picture.
func (a *analyst) draw(ctx context.Context, rep *report.Report, id string) (*bot.File, error) {
	var png, page bytes.Buffer
	draw := flame.PNG
	if rep.Base != nil && changed(rep.Base) {
		draw = flame.DiffPNG
	}
	err := draw(&png, rep)
	if errors.Is(err, flame.ErrEmpty) {
		return nil, nil //nolint:nilnil // an empty profile has no picture, and that is no failure
	}
	if err == nil {
		err = flame.HTML(&page, rep)
	}
	if err != nil {
		// Figures without a picture are still the answer.
		a.log.Error().Err(err).Str("capture", id).Msg("the flamegraph cannot be drawn")
		return nil, nil //nolint:nilnil // as above
	}
	for name, data := range map[string][]byte{id + ".png": png.Bytes(), id + ".html": page.Bytes()} {
		if err := a.files.PutFile(ctx, name, data); err != nil {
			return nil, fmt.Errorf("store %s: %w", name, err)
		}
	}
	title := flame.Headline(rep)
	return &bot.File{Object: id + ".png", Name: "flamegraph-" + id + ".png", Title: title, Alt: "Flamegraph. " + title}, nil
}

func changed(c *report.Comparison) bool {
	for _, ch := range c.Changes {
		if ch.Verdict != report.NoClearChange {
			return true
		}
	}
	return false
}

func meta(r capture.Record) report.Meta {
	t := r.Resolved
	if t.Script == "" {
		t = r.Target
	}
	m := report.Meta{
		Script: t.Script, Class: r.Target.Class, ObjectID: r.Target.ObjectID, VersionID: t.VersionID,
		CaptureID: r.ID, StartedAt: r.StartedAt, Duration: r.Duration, Stateless: r.Target.Kind == capture.Worker,
	}
	if m.Class == "" {
		m.Class = t.Class
	}
	m.Title = strings.Join(strings.Fields(m.Script+" "+m.Class+" "+m.ObjectID[:min(8, len(m.ObjectID))]), " ")
	if len(r.Notes) > 0 {
		m.Note = r.Notes[0]
	}
	return m
}

type reportKey struct{ id, base string }

// Report analyses a stored capture for a page or a command; base is another
// capture to compare with, or empty.
func (a *analyst) Report(ctx context.Context, id, base string) (*report.Report, error) {
	return a.reports.get(reportKey{id, base}, func() (*report.Report, error) {
		r, _, err := a.records.Record(ctx, id)
		if err != nil {
			return nil, err
		}
		rep, err := a.one(ctx, r)
		if err != nil || base == "" {
			return rep, err
		}
		b, _, err := a.records.Record(ctx, base)
		if err != nil {
			return nil, fmt.Errorf("the capture to compare with: %w", err)
		}
		other, err := a.one(ctx, b)
		if err != nil {
			return nil, err
		}
		rep.Base, err = report.Compare(rep, []*report.Report{other})
		return rep, err
	})
}

// withBaselines compares a stored capture with the quiet ones of its target.
func (a *analyst) withBaselines(ctx context.Context, id string) (*report.Report, error) {
	r, _, err := a.records.Record(ctx, id)
	if err != nil {
		return nil, err
	}
	rep, err := a.one(ctx, r)
	if err != nil {
		return nil, err
	}
	if a.compare(ctx, rep, r) == "" {
		return nil, &bot.Refusal{Reason: bot.RefusedUnknown, Sentence: "There is no quiet capture of this target to compare with yet. Compare with another capture: compare " + id + " <capture>."}
	}
	return rep, nil
}
