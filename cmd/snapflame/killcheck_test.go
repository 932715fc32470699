package main

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/capture/fakecf"
)

const signalZero = syscall.Signal(0)

// resumed waits until all events that were in hand at the kill are handled, and
// returns how many those were and how long it took after readiness. What comes
// in later does not count.
func (m *matrix) resumed() (behind int, took time.Duration) {
	m.t.Helper()
	js, done := m.client()
	defer done()
	ready := time.Now()
	last := uint64(0)
	m.await("the events at hand are handled", func() bool {
		ctx, cancel := timeout(m.t, 2*time.Second)
		defer cancel()
		c, err := js.Consumer(ctx, "WORKERS_EVENTS", "triggers")
		if err != nil {
			return false
		}
		info := c.CachedInfo()
		if last == 0 {
			behind = info.NumAckPending + int(info.NumPending)
			last = info.AckFloor.Stream + uint64(behind)
			if behind == 0 {
				return true
			}
		}
		return info.AckFloor.Stream >= last || info.NumAckPending == 0 && info.NumPending == 0
	})
	return behind, time.Since(ready)
}

// settle waits until nothing is left to do: every event handled, every job and
// every post out of its queue, every incident closed.
func (m *matrix) settle() time.Duration {
	m.t.Helper()
	began := time.Now()
	js, done := m.client()
	defer done()
	empty := func(stream string) bool {
		ctx, cancel := timeout(m.t, 2*time.Second)
		defer cancel()
		s, err := js.Stream(ctx, stream)
		return err == nil && s.CachedInfo().State.Msgs == 0
	}
	m.patience = 4 * time.Minute
	if long() {
		m.patience = 20 * time.Minute
	}
	m.await("the last event is stored", func() bool { return m.bursts.Load() == 0 })
	m.await("no event waits", func() bool {
		ctx, cancel := timeout(m.t, 2*time.Second)
		defer cancel()
		c, err := js.Consumer(ctx, "WORKERS_EVENTS", "triggers")
		return err == nil && c.CachedInfo().NumAckPending == 0 && c.CachedInfo().NumPending == 0
	})
	m.await("no capture waits", func() bool { return empty("SNAPFLAME_JOBS") })
	m.await("every incident is closed", func() bool {
		return !strings.Contains(m.get("/api/v1/incidents?state=open&limit=1"), `"id"`)
	})
	m.await("no post waits", func() bool { return empty("SNAPFLAME_OUTBOX") })
	took := time.Since(began)
	// A picture appears a moment after Slack has taken it.
	m.await("pictures have appeared", func() bool { return time.Since(began) > took+m.slack.ShareDelay })
	return took
}

// cases are all incidents, as the API shows them.
func (w *world) cases() []bot.Case {
	w.t.Helper()
	var out []bot.Case
	for cursor := ""; ; {
		var list struct {
			Incidents []struct {
				ID string `json:"id"`
			} `json:"incidents"`
			Next string `json:"next"`
		}
		w.decode("/api/v1/incidents?limit=100&cursor="+cursor, &list)
		for _, i := range list.Incidents {
			var c bot.Case
			w.decode("/api/v1/incidents/"+i.ID, &c)
			out = append(out, c)
		}
		if cursor = list.Next; cursor == "" {
			return out
		}
	}
}

func (w *world) decode(path string, to any) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.get(path)), to); err != nil {
		w.t.Fatalf("%s: %v", path, err)
	}
}

// profileLength is how many bytes the API gives of a capture; 0 for none.
func (w *world) profileLength(id string) int {
	r, _ := http.NewRequest(http.MethodGet, "http://"+w.http+"/api/v1/captures/"+id+"/profile", nil)
	r.Header.Set("Authorization", "Bearer api-secret-token")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	n, _ := io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusOK {
		return 0
	}
	return int(n)
}

// check compares what the service says with what the fakes saw.
func (m *matrix) check() {
	m.t.Helper()
	cases := m.cases()
	m.checkEvents(cases)
	m.checkPosts(cases)
	m.checkCaptures(cases)
	for _, k := range m.kills {
		if k.resumed > resumeLimit {
			m.t.Errorf("after a kill at %q it took %s until %d events were handled", k.step, k.resumed, k.behind)
		}
	}
	if v := m.slack.Violations(); len(v) > 0 {
		m.t.Errorf("violations: %v", v)
	}
}

// checkEvents wants one incident per target that counts each of its events once,
// though many come again after a kill.
func (m *matrix) checkEvents(cases []bot.Case) {
	m.t.Helper()
	counted, incidents := map[string]int64{}, map[string]int{}
	for _, c := range cases {
		counted[c.Target.ObjectID] += c.Count
		incidents[c.Target.ObjectID]++
	}
	for _, object := range slices.Sorted(maps.Keys(m.published)) {
		n := int64(m.published[object])
		if incidents[object] != 1 {
			m.t.Errorf("object %s has %d incidents, want 1", short(object), incidents[object])
		}
		if got := counted[object]; got != n {
			m.t.Errorf("object %s: %d events counted of %d", short(object), got, n)
		}
		m.twice += max(0, counted[object]-n)
		m.events += n
	}
}

func short(object string) string { return object[:min(8, len(object))] }

// checkPosts wants each message once, and of each incident a root, a closing
// notice and the outcome of each capture.
func (m *matrix) checkPosts(cases []bot.Case) {
	m.t.Helper()
	posted := map[string][]fakeslack.Message{}
	pictures := map[string]int{} // thread ts → pictures
	for i := range matrixChannels {
		for _, msg := range m.slack.Messages(matrixChannel(i)) {
			if len(msg.Files) > 0 {
				pictures[msg.ThreadTS]++
				continue
			}
			posted[msg.Key()] = append(posted[msg.Key()], msg)
		}
	}
	if n := len(m.slack.Messages(fakeslack.Incidents)); n > 0 {
		m.t.Errorf("%d messages in the default channel, want all where their routes lead", n)
	}
	for key, list := range posted {
		switch {
		case len(list) == 1:
		case m.history, len(list) > 5, !strings.Contains(list[len(list)-1].Plain(), "perhaps: an answer of Slack was lost"):
			m.t.Errorf("message %s stands %d times in the channel", key, len(list))
		default:
			m.doubled++
		}
	}
	for _, c := range cases {
		want := []string{c.ID + ".root", c.ID + ".evidence", c.ID + ".closed"}
		stored := 0
		for _, v := range c.Captures {
			if v.Record.State == capture.Stored {
				stored++
			}
			if v.Series == "" || v.Series == v.Record.ID {
				want = append(want, c.ID+".report."+v.Record.ID)
			}
		}
		for _, key := range want {
			if len(posted[key]) == 0 {
				m.t.Errorf("message %s never came", key)
			}
		}
		roots := posted[c.ID+".root"]
		if len(roots) == 0 {
			continue
		}
		shown := 0
		for _, r := range roots {
			shown += pictures[r.TS]
		}
		if most := stored + boolInt(!m.history)*stored; shown < stored || shown > most {
			m.t.Errorf("incident %s has %d profiles and %d pictures", c.ID, stored, shown)
		}
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// checkCaptures wants every capture stored or stated as failed, and the rules of
// the API kept over all processes that have lived.
func (m *matrix) checkCaptures(cases []bot.Case) {
	m.t.Helper()
	for _, c := range cases {
		if len(c.Captures) == 0 {
			m.t.Errorf("incident %s has no capture", c.ID)
		}
		for _, v := range c.Captures {
			switch r := v.Record; {
			case r.State == capture.Stored && m.profileLength(r.ID) > 0:
				m.stored++
			case r.State == capture.Failed && r.Failure != nil:
				m.failed[string(r.Failure.Kind)]++
			default:
				m.t.Errorf("capture %s of incident %s is %s and has %d bytes; its record: %s; the case: opened %s, active %s, closed %s, log %v",
					r.ID, c.ID, r.State, m.profileLength(r.ID), m.get("/api/v1/captures/"+r.ID), c.OpenedAt, c.ActiveAt, c.ClosedAt, c.Log)
			}
			if v.Record.AskedAgain {
				m.again++
			}
		}
	}
	asked := m.taken()
	last := map[string]fakecf.Capture{}
	for _, c := range asked {
		if c.Version != roomVersion || !strings.HasPrefix(c.Script, "room-") {
			m.t.Errorf("asked for version %q of %q", c.Version, c.Worker)
		}
		before, ok := last[c.Actor]
		if gap := c.Asked.Sub(before.End); ok && gap < matrixSpacing {
			m.t.Errorf("object %s was captured again after %s, want %s at least", short(c.Actor), gap, matrixSpacing)
		}
		last[c.Actor] = c
	}
	for i, c := range asked {
		at := 0
		for _, o := range asked[:i+1] {
			if o.End.After(c.At) {
				at++
			}
		}
		if at > matrixConcurrency {
			m.t.Errorf("%d captures at once, want at most %d", at, matrixConcurrency)
		}
	}
	if len(asked) > matrixPerHour {
		m.t.Errorf("%d captures, above the budget of %d", len(asked), matrixPerHour)
	}
	m.asked = len(asked)
}
