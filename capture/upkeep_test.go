package capture_test

import (
	"bytes"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"

	"github.com/snapflame/snapflame/capture"
)

func TestExpired(t *testing.T) {
	rec := func(id string, age time.Duration, bytes int64, s capture.State, c capture.Cause) capture.Record {
		return capture.Record{
			Job:   capture.Job{ID: id, Cause: c, Type: capture.CPU, Target: capture.Target{Kind: capture.Worker, Script: "w"}, QueuedAt: noon.Add(-age - time.Minute)},
			State: s, EndedAt: noon.Add(-age), Bytes: bytes,
		}
	}
	h := time.Hour
	all := []capture.Record{
		rec("new", h, 10, capture.Stored, capture.CauseIncident), rec("mid", 5*h, 10, capture.Stored, capture.CauseIncident),
		rec("failed", 6*h, 0, capture.Failed, capture.CauseIncident), rec("old", 9*h, 10, capture.Stored, capture.CauseIncident),
		rec("runs", 99*h, 0, capture.Started, capture.CauseIncident), rec("norm", 8*h, 10, capture.Stored, capture.CauseBaseline),
		rec("older norm", 10*h, 10, capture.Stored, capture.CauseBaseline),
	}
	for name, c := range map[string]struct {
		keep capture.Retention
		want string
	}{
		"no bounds":         {capture.Retention{}, ""},
		"age":               {capture.Retention{Age: 7 * h}, "older norm,old,norm"},
		"age, to the limit": {capture.Retention{Age: 10 * h}, ""},
		"count":             {capture.Retention{Count: 2}, "older norm,old,failed"},
		"bytes":             {capture.Retention{Bytes: 25}, "older norm,old"},
		"one byte":          {capture.Retention{Bytes: 1}, "older norm,old,mid,new"},
		"all":               {capture.Retention{Age: 7 * h, Count: 1, Bytes: 15}, "older norm,old,norm,failed,mid"},
	} {
		before := slices.Clone(all)
		var got []string
		for _, r := range capture.Expired(all, c.keep, noon) {
			got = append(got, r.ID)
		}
		if strings.Join(got, ",") != c.want {
			t.Errorf("%s: got %q, want %q", name, strings.Join(got, ","), c.want)
		}
		if !reflect.DeepEqual(before, all) {
			t.Errorf("%s changed its argument", name)
		}
	}
}

func TestRedact(t *testing.T) {
	data, err := os.ReadFile("testdata/do-meter.cpu.pb.gz")
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	p.Comments = []string{"HIDDEN"}
	p.DocURL, p.DropFrames, p.KeepFrames = "https://HIDDEN", "HIDDEN", "HIDDEN"
	p.Mapping = []*profile.Mapping{{ID: 1, File: "/HIDDEN", BuildID: "HIDDEN", Start: 1, Limit: 2}}
	p.Location[0].Mapping, p.Location[0].Address = p.Mapping[0], 1
	p.Sample[0].Label = map[string][]string{"user": {"HIDDEN"}}
	p.Sample[1].NumLabel = map[string][]int64{"HIDDEN": {7}}
	p.Function[0].SystemName = "HIDDEN"
	p.Function[1].Filename += "?token=HIDDEN#HIDDEN"
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	got, err := capture.Redact(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	q, err := profile.ParseData(got)
	if err != nil {
		t.Fatal(err)
	}
	var raw bytes.Buffer
	if err := q.WriteUncompressed(&raw); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw.Bytes(), []byte("HIDDEN")) {
		t.Error("what was to be hidden is still there")
	}
	if len(q.Sample) != len(p.Sample) || q.DurationNanos != p.DurationNanos || q.Period != p.Period {
		t.Fatalf("%d samples of %d, duration %d, period %d", len(q.Sample), len(p.Sample), q.DurationNanos, q.Period)
	}
	for i := range p.Sample {
		if !slices.Equal(p.Sample[i].Value, q.Sample[i].Value) || len(p.Sample[i].Location) != len(q.Sample[i].Location) {
			t.Fatalf("sample %d differs", i)
		}
		for k, l := range p.Sample[i].Location {
			a, b := l.Line[0], q.Sample[i].Location[k].Line[0]
			if a.Function.Name != b.Function.Name || a.Line != b.Line || a.Function.StartLine != b.Function.StartLine {
				t.Fatalf("sample %d, frame %d: %s:%d became %s:%d", i, k, a.Function.Name, a.Line, b.Function.Name, b.Line)
			}
		}
	}
	if _, err := capture.Redact([]byte("<html>")); err == nil {
		t.Error("a page was redacted, want an error")
	}
}

func TestRewriteIsWhatIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, api := newWorld(), &script{data: sample(t)}
		p := w.parts(api, &plain{})
		p.Rewrite = func([]byte) ([]byte, error) { return []byte("less"), nil }
		w.submit(job("1"))
		run(t, w, p, capture.Options{}, time.Minute)
		if r := w.record("1"); r.State != capture.Stored || r.Bytes != 4 || string(w.profiles["1"]) != "less" || !strings.HasPrefix(r.SHA256, "4fdd3b62") {
			t.Errorf("%s, %q stored, the record says %d bytes, %s", r.State, w.profiles["1"], r.Bytes, r.SHA256)
		}
	})
}

func TestBaselinePlan(t *testing.T) {
	h := time.Hour
	all := func(capture.Target) bool { return true }
	workers := func(t capture.Target) bool { return t.Kind == capture.Worker }
	worker := func(name string) capture.Target { return capture.Target{Kind: capture.Worker, Script: name} }
	seen := func(name string, ago time.Duration, versions map[string]time.Time) capture.Seen {
		return capture.Seen{Target: worker(name), At: noon.Add(-ago), Versions: versions}
	}
	had := func(name, version string, typ capture.Type, ago time.Duration, s capture.State) capture.Record {
		j := capture.Job{Target: worker(name), Type: typ, Cause: capture.CauseBaseline, QueuedAt: noon.Add(-ago)}
		return capture.Record{Job: j, State: s, Resolved: capture.Target{Script: name, VersionID: version}, EndedAt: noon.Add(-ago)}
	}
	starts := func(n int) capture.Budget {
		var b capture.Budget
		for i := range n {
			b.Starts = append(b.Starts, noon.Add(-time.Minute).Add(time.Duration(i)))
		}
		return b
	}
	object := capture.Seen{Target: capture.Target{Kind: capture.DurableObject, ObjectID: "x", Script: "room"}, At: noon}
	v := map[string]time.Time{"v1": noon.Add(-24 * h), "v2": noon.Add(-time.Minute)}
	old := map[string]time.Time{"v1": noon.Add(-24 * h), "v2": noon.Add(-4 * time.Minute)}
	cpu := []capture.Type{capture.CPU}
	for name, c := range map[string]struct {
		s     capture.BaselineState
		want  func(capture.Target) bool
		types []capture.Type
		job   string
		why   capture.BaselineReason
	}{
		"off":                       {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, nil)}}, nil, nil, "", capture.BaselineOff},
		"first":                     {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, nil)}}, all, nil, "w  cpu", ""},
		"then heap":                 {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, nil)}, Past: []capture.Record{had("w", "v1", capture.CPU, h, capture.Stored)}}, all, nil, "w  heap", ""},
		"enough":                    {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, nil)}, Past: []capture.Record{had("w", "v1", capture.CPU, h, capture.Stored)}}, all, cpu, "", capture.BaselineNone},
		"again after six hours":     {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, nil)}, Past: []capture.Record{had("w", "v1", capture.CPU, 6*h, capture.Stored)}}, all, cpu, "w  cpu", ""},
		"one is queued":             {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, nil)}, Past: []capture.Record{had("w", "", capture.CPU, 7*h, capture.Queued)}}, all, cpu, "", capture.BaselineNone},
		"failed lately":             {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, nil)}, Past: []capture.Record{had("w", "", capture.CPU, h-1, capture.Failed)}}, all, cpu, "", capture.BaselineNone},
		"failed an hour ago":        {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, nil)}, Past: []capture.Record{had("w", "", capture.CPU, h, capture.Failed)}}, all, cpu, "w  cpu", ""},
		"quiet for too long":        {capture.BaselineState{Seen: []capture.Seen{seen("w", 6*time.Minute, nil)}}, all, cpu, "", capture.BaselineNone},
		"open incident":             {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, nil)}, Trouble: map[string]time.Time{"w": noon.Add(h)}}, all, cpu, "", capture.BaselineNone},
		"incident just over":        {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, nil)}, Trouble: map[string]time.Time{"w": noon.Add(-14 * time.Minute)}}, all, cpu, "", capture.BaselineNone},
		"incident of another":       {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, nil)}, Trouble: map[string]time.Time{"o": noon.Add(h)}}, all, cpu, "w  cpu", ""},
		"somebody waits":            {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, nil)}, Waiting: 1}, all, cpu, "", capture.BaselineBusy},
		"something runs":            {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, nil)}, Budget: capture.Budget{Running: map[string]time.Time{"a": noon.Add(time.Second)}}}, all, cpu, "", capture.BaselineBusy},
		"half the hour is used":     {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, nil)}, Budget: starts(30)}, all, cpu, "", capture.BaselineBudget},
		"less than half":            {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, nil)}, Budget: starts(29)}, all, cpu, "w  cpu", ""},
		"rate limit":                {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, nil)}, Budget: capture.Budget{}.Block(noon, noon.Add(h), capture.WaitRateLimit)}, all, cpu, "", capture.BaselineBlocked},
		"no answer":                 {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, nil)}, Budget: capture.Budget{Strikes: 1}}, all, cpu, "", capture.BaselineBlocked},
		"objects are not asked for": {capture.BaselineState{Seen: []capture.Seen{object}}, workers, cpu, "", capture.BaselineNone},
		"objects are asked for":     {capture.BaselineState{Seen: []capture.Seen{object}}, all, cpu, "room  cpu", ""},
		"new version unsettled":     {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, v)}, Past: []capture.Record{had("w", "v1", capture.CPU, h, capture.Stored)}}, all, cpu, "", capture.BaselineNone},
		"new version settled":       {capture.BaselineState{Seen: []capture.Seen{seen("w", 0, old)}, Past: []capture.Record{had("w", "v1", capture.CPU, h, capture.Stored)}}, all, cpu, "w v2 cpu", ""},
		"new version before old": {capture.BaselineState{
			Seen: []capture.Seen{seen("a", 0, map[string]time.Time{"v1": noon.Add(-24 * h)}), seen("w", 0, old)},
			Past: []capture.Record{had("a", "v1", capture.CPU, 9*h, capture.Stored), had("w", "v1", capture.CPU, 8*h, capture.Stored)},
		}, all, cpu, "w v2 cpu", ""},
		"the oldest first": {capture.BaselineState{
			Seen: []capture.Seen{seen("a", 0, nil), seen("w", 0, nil)},
			Past: []capture.Record{had("a", "v1", capture.CPU, 8*h, capture.Stored), had("w", "v1", capture.CPU, 9*h, capture.Stored)},
		}, all, cpu, "w  cpu", ""},
	} {
		rules := capture.BaselineRules{Enabled: c.want != nil, Wanted: c.want, Types: c.types}
		j, why := capture.BaselinePlan(c.s, rules, noon)
		got := ""
		if why == "" {
			got = j.Target.Script + " " + j.Target.VersionID + " " + string(j.Type)
			if again, _ := capture.BaselinePlan(c.s, rules, noon.Add(59*time.Second)); again.ID != j.ID || j.Cause != capture.CauseBaseline || j.Priority != capture.Priorities-1 {
				t.Errorf("%s: job %+v, and a minute later %s", name, j, again.ID)
			}
		}
		if got != c.job || why != c.why {
			t.Errorf("%s: got %q %q, want %q %q", name, got, why, c.job, c.why)
		}
	}
}

func BenchmarkExpired(b *testing.B) {
	var all []capture.Record
	for i := range 5000 {
		all = append(all, capture.Record{Job: capture.Job{ID: strconv.Itoa(i)}, State: capture.Stored, EndedAt: noon.Add(-time.Duration(i) * time.Minute), Bytes: 1000})
	}
	for b.Loop() {
		capture.Expired(all, capture.Retention{Count: 4000}, noon)
	}
}
