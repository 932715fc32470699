package bot

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

// maxTries is how often a stored capture is given to the Analyst before the
// thread says that it cannot be read. The bytes stay in the store.
const maxTries = 5

// FollowUp is a capture that another one calls for.
type FollowUp struct {
	Type      capture.Type
	Duration  time.Duration // 0: as the one before
	NotBefore time.Time
	Note      string // why, for the thread
	Series    bool   // merged with the captures before it into one report
}

// Planner says what follows a capture that has ended, stored with its summary
// or failed. It is pure; nil plans nothing.
type Planner func(c Case, ended CaptureView, now time.Time) []FollowUp

// CaptureChanged takes in what became of a capture. a is what the analysis of a
// stored one gave, nil before that. The same record again changes nothing, and a
// record that is older than what the case knows is not believed: deliveries may
// come twice and late. changed is false when the case is as it was.
func (c Case) CaptureChanged(r capture.Record, a *Analysed, plan Planner, p Policy, now time.Time) (next Case, changed bool) {
	i := c.view(r.ID)
	if i < 0 && len(c.Captures) >= maxCaptures {
		return c, false
	}
	if i >= 0 {
		v := c.Captures[i]
		analysed := a != nil && v.Summary == nil
		if v.Record.Final() && (!r.Final() || !analysed) {
			return c, false
		}
		if !analysed && reflect.DeepEqual(v.Record, r) {
			return c, false
		}
	}
	c = c.clone()
	if i < 0 {
		c.Captures = append(c.Captures, CaptureView{})
		i = len(c.Captures) - 1
	}
	v := &c.Captures[i]
	v.Record, v.Busy = r, false
	c.learn(r)
	c.log(now, recordReason(r), recordEntry(r))
	if !r.Final() {
		c.rootChanged(now, rootEvery)
		return c, true
	}
	c.ActiveAt = now
	if r.State == capture.Stored && a == nil {
		// Known to be stored; the report follows with its analysis.
		c.rootChanged(now, rootEvery)
		return c, true
	}
	if a != nil {
		v.Summary, v.PNG = &a.Summary, a.PNG
	}
	// The end of a capture is what the channel waits for: the root says it at
	// once, before the report and the picture stand in the thread.
	c.postRoot(now)
	c.ended(i, plan, p, now)
	return c, true
}

// learn fills in what the event did not say and the account did: whose object
// it is. It never contradicts the event, and the key of the target stays.
func (c *Case) learn(r capture.Record) {
	if c.Target.Kind != triggers.TargetDurableObject || r.Target.ObjectID != c.Target.ObjectID {
		return
	}
	if c.Target.Script == "" {
		c.Target.Script = r.Resolved.Script
	}
	if c.Target.Entrypoint == "" {
		c.Target.Entrypoint = r.Resolved.Class
	}
}

// ended decides what a final capture leads to: words, a picture, a follow-up.
func (c *Case) ended(i int, plan Planner, p Policy, now time.Time) {
	v := c.Captures[i]
	notice := NoticeReport
	if v.Record.State == capture.Failed {
		notice = NoticeFailure
	}
	more := false
	if plan != nil {
		for _, f := range plan(*c, v, now) {
			if len(c.Captures) >= maxCaptures {
				break
			}
			more = more || f.Series
			c.follow(i, f, now)
		}
	}
	c.tellEvidence()
	if !p.Off[notice] {
		c.post(c.reportKey(c.head(v)))
	}
	if v.PNG != nil && !p.Off[NoticePicture] && (v.Series == "" || !more) {
		c.post(c.ID + ".png." + v.Record.ID)
	}
}

func (c *Case) follow(i int, f FollowUp, now time.Time) {
	before := c.Captures[i].Record
	target := before.Target
	if before.Resolved.VersionID != "" {
		// Two versions are two programs: what follows profiles the same one.
		target.VersionID = before.Resolved.VersionID
	}
	series := ""
	if f.Series {
		series = c.head(c.Captures[i])
		c.Captures[i].Series = series
	}
	c.take(wanted{
		target: target, typ: f.Type, duration: orDuration(f.Duration, before.Duration), cause: capture.CauseFollowUp,
		note: f.Note, notBefore: f.NotBefore, failureAt: before.FailureAt, series: series, by: before.RequestedBy,
	}, now)
	c.log(now, string(capture.CauseFollowUp), fmt.Sprintf("%s capture next: %s", typeWords(f.Type), f.Note))
}

// head is the capture under whose report a capture is told.
func (c Case) head(v CaptureView) string {
	if v.Series != "" {
		return v.Series
	}
	return v.Record.ID
}

// With is which earlier captures of its series a capture is analysed with.
func (c Case) With(id string) []string {
	i := c.view(id)
	if i < 0 || c.Captures[i].Series == "" {
		return nil
	}
	var with []string
	for _, v := range c.Captures[:i] {
		if v.Series == c.Captures[i].Series && v.Record.State == capture.Stored {
			with = append(with, v.Record.ID)
		}
	}
	return with
}

// Unread counts an analysis that failed for a reason that may pass; last is
// true when it was the last try.
func (c Case) Unread(id string) (next Case, last bool) {
	i := c.view(id)
	if i < 0 {
		return c, false
	}
	c = c.clone()
	c.Captures[i].Tries++
	return c, c.Captures[i].Tries >= maxTries
}

// Unfinished is the newest capture that is queued, waiting, running, or stored
// and not yet told.
func (c Case) Unfinished() (CaptureView, bool) {
	for _, v := range slices.Backward(c.Captures) {
		if !v.told() {
			return v, true
		}
	}
	return CaptureView{}, false
}

func (v CaptureView) told() bool {
	return v.Record.State == capture.Failed || v.Record.State == capture.Stored && v.Summary != nil
}

func recordReason(r capture.Record) string {
	if r.Failure != nil && r.State != capture.Started {
		return string(r.Failure.Kind)
	}
	if r.WaitFor != "" && r.State == capture.Waiting {
		return string(r.WaitFor)
	}
	return string(r.State)
}

func recordEntry(r capture.Record) string {
	text := fmt.Sprintf("%s capture %s: %s", typeWords(r.Type), r.ID, r.State)
	if r.State == capture.Waiting && r.WaitFor != "" {
		text += ": " + r.WaitFor.Words()
	}
	if r.State == capture.Waiting && !r.NextAt.IsZero() {
		text += ", next at " + clock(r.NextAt)
	}
	if r.Failure != nil && r.State != capture.Started {
		text += ": " + r.Failure.Error()
	}
	return text
}
