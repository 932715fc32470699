package capture_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snapflame/snapflame/capture"
)

const v1 = "11111111-1111-4111-8111-111111111111"

func sample(tb testing.TB) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "do-meter.cpu.pb.gz"))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// script is an API that answers each call with the next of its lines; when they
// are used up it gives the profile. An answer takes the capture's duration when
// it is a profile, else no time at all.
type script struct {
	mu    sync.Mutex
	lines []error
	data  []byte
	calls []call
}

type call struct {
	at      time.Time
	target  capture.Target
	typ     capture.Type
	outcome error
	ran     bool
}

func (s *script) Profile(ctx context.Context, r capture.Request) ([]byte, error) {
	s.mu.Lock()
	var err error
	if len(s.lines) > 0 {
		err, s.lines = s.lines[0], s.lines[1:]
	}
	var f *capture.Failure
	ran := err == nil || errors.As(err, &f) && f.MayHaveRun()
	s.calls = append(s.calls, call{time.Now(), r.Target, r.Type, err, ran})
	s.mu.Unlock()
	if ran {
		select {
		case <-time.After(r.Duration):
		case <-ctx.Done():
			return nil, &capture.Failure{Kind: capture.FailTimeout}
		}
	}
	if err != nil {
		return nil, err
	}
	return s.data, nil
}

func (s *script) times() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []time.Time
	for _, c := range s.calls {
		out = append(out, c.at)
	}
	return out
}

// plain resolves by filling in a version.
type plain struct {
	mu     sync.Mutex
	err    error
	more   []string
	forgot int
}

func (p *plain) Resolve(_ context.Context, t capture.Target) ([]capture.Resolution, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, p.err
	}
	out := []capture.Resolution{}
	if t.VersionID == "" {
		t.VersionID = v1
	}
	for _, v := range append([]string{t.VersionID}, p.more...) {
		t.VersionID = v
		out = append(out, capture.Resolution{Target: t, VersionSource: "event"})
	}
	return out, nil
}

func (p *plain) Forget(capture.Target) { p.mu.Lock(); p.forgot++; p.mu.Unlock() }

func job(id string) capture.Job {
	return capture.Job{
		ID: id, Type: capture.CPU, Duration: 10 * time.Second, Cause: capture.CauseIncident, QueuedAt: time.Now(),
		Target: capture.Target{Kind: capture.DurableObject, ObjectID: strings.Repeat("a", 60) + id, Script: "room"},
	}
}

func fails(k capture.FailureKind) *capture.Failure { return &capture.Failure{Kind: k} }

// run works until the queue is empty or the time is over.
func run(t *testing.T, w *world, p capture.Parts, o capture.Options, atMost time.Duration) {
	t.Helper()
	r, err := capture.NewRunner(p, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = r.Run(ctx) }()
	for end := time.Now().Add(atMost); w.left() > 0 && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	cancel()
	<-done
}

func TestEveryFailureEnds(t *testing.T) {
	none, gone := fails(capture.FailNoExecutions), fails(capture.FailNoIsolate)
	limited := &capture.Failure{Kind: capture.FailRateLimited, RetryAfter: 17 * time.Second}
	dial := &capture.Failure{Kind: capture.FailUnreachable, Unsent: true}
	many := func(f *capture.Failure, n int) []error {
		return slices.Repeat([]error{f}, n)
	}
	for name, c := range map[string]struct {
		lines []error
		story string
		at    []time.Duration // of the calls, from the first
	}{
		"at once":            {nil, "started stored", []time.Duration{0}},
		"isolate comes back": {many(gone, 2), "started waiting:isolate started waiting:isolate started stored", []time.Duration{0, 3, 9}},
		"isolate stays away": {many(none, 99), "failed:no_recent_executions", []time.Duration{0, 3, 9, 21, 36, 51}},
		"could not start":    {many(fails(capture.FailCouldNotStart), 1), "started waiting:isolate started stored", []time.Duration{0, 3}},
		"429 with a time":    {many(limited, 1), "started waiting:rate_limit started stored", []time.Duration{0, 17}},
		"429 without":        {many(fails(capture.FailRateLimited), 1), "started waiting:rate_limit started stored", []time.Duration{0, 60}},
		"unreachable":        {many(dial, 3), "started waiting:unreachable started waiting:unreachable started waiting:unreachable started stored", []time.Duration{0, 5, 10, 20}},
		"reset":              {many(fails(capture.FailUnreachable), 1), "started waiting:unreachable started stored", []time.Duration{0, 70}},
		"reset for ever":     {many(fails(capture.FailUnreachable), 9), "failed:unreachable", []time.Duration{0, 70, 140}},
		"timeout":            {many(fails(capture.FailTimeout), 1), "started waiting:retry started stored", []time.Duration{0, 70}},
		"empty":              {many(fails(capture.FailEmpty), 2), "started waiting:retry started failed:empty_body", []time.Duration{0, 70}},
		"unauthorized":       {many(fails(capture.FailUnauthorized), 9), "started failed:unauthorized", []time.Duration{0}},
		"forbidden":          {many(fails(capture.FailForbidden), 9), "started failed:forbidden", []time.Duration{0}},
		"unsupported":        {many(fails(capture.FailUnsupported), 9), "started failed:profiling_unsupported", []time.Duration{0}},
		"unavailable":        {many(fails(capture.FailUnavailable), 9), "started failed:profiling_unavailable", []time.Duration{0}},
		"bad request":        {many(fails(capture.FailBadRequest), 9), "started failed:bad_request", []time.Duration{0}},
		"not found":          {many(fails(capture.FailNotFound), 9), "started waiting:retry started failed:not_found", []time.Duration{0, 1}},
		"too large":          {many(fails(capture.FailTooLarge), 9), "started failed:too_large", []time.Duration{0}},
		"error of the API":   {many(&capture.Failure{Kind: capture.FailServer, Code: 7}, 9), "failed:server_error", []time.Duration{0, 15, 30}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, api := newWorld(), &script{lines: c.lines, data: sample(t)}
				w.submit(job("1"))
				run(t, w, w.parts(api, &plain{}), capture.Options{}, 3*time.Hour)
				story := strings.Join(w.story("1"), " ")
				if !strings.HasSuffix(story, c.story) || strings.HasPrefix(c.story, "started") && story != c.story {
					t.Errorf("told %q, want %q", story, c.story)
				}
				var got []time.Duration
				for _, at := range api.times() {
					got = append(got, at.Sub(api.calls[0].at).Round(time.Second)/time.Second)
				}
				if !slices.Equal(got, c.at) {
					t.Errorf("called at %v s, want %v s", got, c.at)
				}
				r := w.record("1")
				if r.State == capture.Failed && (len(w.profiles) != 0 || r.Explain(time.Now()) == "") {
					t.Errorf("left %d profiles behind and explains %q", len(w.profiles), r.Explain(time.Now()))
				}
				if r.State == capture.Stored && (len(w.profiles["1"]) != int(r.Bytes) || r.SHA256 == "") {
					t.Errorf("stored %d bytes, the record says %d", len(w.profiles["1"]), r.Bytes)
				}
				if len(w.budget.Running) != 0 || len(w.budget.Busy) != 0 {
					t.Errorf("still reserved: %+v", w.budget)
				}
			})
		})
	}
}

func TestHourOfOutageLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, api := newWorld(), &script{data: sample(t)}
		end := time.Now().Add(time.Hour)
		down := apiFunc(func(ctx context.Context, r capture.Request) ([]byte, error) {
			if time.Now().Before(end) {
				return nil, &capture.Failure{Kind: capture.FailServer, Status: 502}
			}
			return api.Profile(ctx, r)
		})
		for _, id := range []string{"1", "2", "3", "4", "5"} {
			w.submit(job(id))
		}
		run(t, w, w.parts(down, &plain{}), capture.Options{}, 2*time.Hour)
		if len(w.profiles) != 5 {
			t.Errorf("%d captures, want 5 after the outage", len(w.profiles))
		}
		if last := slices.MaxFunc(api.times(), time.Time.Compare); last.Sub(end) > 10*time.Minute {
			t.Errorf("the last came %v after the outage", last.Sub(end))
		}
	})
}

type apiFunc func(context.Context, capture.Request) ([]byte, error)

func (f apiFunc) Profile(ctx context.Context, r capture.Request) ([]byte, error) { return f(ctx, r) }

func TestLookupFailures(t *testing.T) {
	for kind, want := range map[capture.FailureKind]string{
		capture.FailNoNamespace:  "failed:no_namespace",
		capture.FailNoDeployment: "failed:no_deployment",
		capture.FailUnauthorized: "failed:unauthorized",
		capture.FailUnreachable:  "waiting:unreachable",
	} {
		synctest.Test(t, func(t *testing.T) {
			w, api := newWorld(), &script{}
			w.submit(job("1"))
			run(t, w, w.parts(api, &plain{err: fails(kind)}), capture.Options{}, time.Minute)
			if got := w.story("1"); len(got) == 0 || got[0] != want {
				t.Errorf("%s: told %v, want %s", kind, got, want)
			}
			if len(api.calls) != 0 || len(w.budget.Starts) != 0 {
				t.Errorf("%s: %d calls, %d starts, want none", kind, len(api.calls), len(w.budget.Starts))
			}
		})
	}
}

func TestSecondCandidateIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, api := newWorld(), &script{lines: []error{fails(capture.FailNoExecutions)}, data: sample(t)}
		res := &plain{more: []string{"other"}}
		w.submit(job("1"))
		run(t, w, w.parts(api, res), capture.Options{}, time.Minute)
		if len(api.calls) != 2 || api.calls[1].target.VersionID != "other" || res.forgot == 0 {
			t.Errorf("asked %+v, forgot %d times; want the other version second, after forgetting", api.calls, res.forgot)
		}
	})
}

func TestReadersVeto(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, api := newWorld(), &script{data: sample(t)}
		p := w.parts(api, &plain{})
		p.Check = func(capture.Type, []byte) error { return errors.New("a profile of nothing") }
		w.submit(job("1"))
		run(t, w, p, capture.Options{}, 10*time.Minute)
		if got := w.record("1"); got.State != capture.Failed || got.Failure.Kind != capture.FailNotProfile || len(w.profiles) != 0 {
			t.Errorf("got %s %v and %d profiles, want failed and none", got.State, got.Failure, len(w.profiles))
		}
	})
}

func TestWaitsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, api := newWorld(), &script{data: sample(t)}
		a, b := job("1"), job("2")
		b.Target = a.Target
		b.QueuedAt = b.QueuedAt.Add(time.Second)
		c := job("3")
		c.NotBefore = time.Now().Add(40 * time.Second)
		w.submit(a)
		w.submit(c)
		time.AfterFunc(time.Second, func() { w.submit(b) })
		paused := true
		var mu sync.Mutex
		time.AfterFunc(20*time.Second, func() { mu.Lock(); paused = false; mu.Unlock() })
		o := capture.Options{Paused: func(context.Context) bool { mu.Lock(); defer mu.Unlock(); return paused }}
		run(t, w, w.parts(api, &plain{}), o, time.Hour)
		for id, want := range map[string]string{
			"1": "waiting:paused started stored",
			"2": "waiting:paused waiting:spacing waiting:spacing started stored",
			"3": "waiting:paused waiting:planned started stored",
		} {
			if got := strings.Join(slices.Compact(w.story(id)), " "); got != strings.Join(slices.Compact(strings.Fields(want)), " ") {
				t.Errorf("%s: told %q, want %q", id, got, want)
			}
		}
		for _, r := range w.heard {
			if r.State == capture.Waiting && r.WaitFor == capture.WaitSpacing && !strings.Contains(r.Explain(time.Time{}), "Next capture at ") {
				t.Errorf("explains %q", r.Explain(time.Time{}))
			}
		}
	})
}

func TestTermFinishesWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, api := newWorld(), &script{data: sample(t)}
		j := job("1")
		j.Duration = 50 * time.Second
		w.submit(j)
		r, err := capture.NewRunner(w.parts(api, &plain{}), capture.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		start := time.Now()
		_ = r.Run(ctx)
		if got := w.record("1").State; got != capture.Stored || time.Since(start) != 50*time.Second {
			t.Errorf("%s after %v, want stored after 50s", got, time.Since(start))
		}
	})
}

func TestTermGivesUpAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		hang := apiFunc(func(ctx context.Context, _ capture.Request) ([]byte, error) {
			<-ctx.Done()
			return nil, fails(capture.FailTimeout)
		})
		w.submit(job("1"))
		r, err := capture.NewRunner(w.parts(hang, &plain{}), capture.Options{Drain: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		_ = r.Run(ctx)
		if got := w.record("1").State; got != capture.Started || time.Since(start) != 25*time.Second {
			t.Errorf("%s after %v, want started (its answer is lost) after 25s", got, time.Since(start))
		}
		run(t, w, w.parts(&script{data: sample(t)}, &plain{}), capture.Options{}, time.Hour)
		got := w.record("1")
		if got.State != capture.Stored || !got.AskedAgain || got.StartedAt.Sub(start) != 70*time.Second {
			t.Errorf("%s, asked again %v at %v; want stored, asked again at 70s", got.State, got.AskedAgain, got.StartedAt.Sub(start))
		}
	})
}

func TestSecondLossIsTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, api := newWorld(), &script{data: sample(t)}
		j := job("1")
		w.submit(j)
		w.records["1"] = capture.Record{Job: j, State: capture.Started, StartedAt: time.Now(), Attempts: 2, AskedAgain: true}
		w.revs["1"] = 1
		run(t, w, w.parts(api, &plain{}), capture.Options{}, time.Hour)
		if got := w.record("1"); got.State != capture.Failed || got.Failure.Kind != capture.FailLostAnswer || len(api.calls) != 0 {
			t.Errorf("got %s %v after %d calls, want lost_answer and none", got.State, got.Failure, len(api.calls))
		}
	})
}

func TestBytesOfTheDeadAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, api := newWorld(), &script{}
		j := job("1")
		w.submit(j)
		w.records["1"] = capture.Record{Job: j, State: capture.Started, StartedAt: time.Now(), Attempts: 1}
		w.revs["1"], w.profiles["1"] = 1, sample(t)
		run(t, w, w.parts(api, &plain{}), capture.Options{}, time.Hour)
		if got := w.record("1"); got.State != capture.Stored || len(api.calls) != 0 {
			t.Errorf("got %s after %d calls, want stored without asking", got.State, len(api.calls))
		}
	})
}

func TestFinalRecordIsOnlyTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, api := newWorld(), &script{}
		j := job("1")
		w.submit(j)
		w.records["1"], w.revs["1"] = capture.Record{Job: j, State: capture.Stored}, 1
		deaf := 3
		w.err = func(op string) error {
			if op == "tell" && deaf > 0 {
				deaf--
				return errors.New("deaf")
			}
			return nil
		}
		run(t, w, w.parts(api, &plain{}), capture.Options{}, time.Hour)
		if w.left() != 0 || len(w.heard) != 1 || len(api.calls) != 0 {
			t.Errorf("%d left, told %d times, %d calls; want 0, 1, 0", w.left(), len(w.heard), len(api.calls))
		}
	})
}

// A thousand targets and a budget of 60 an hour: each job is taken in hand
// about twice, once to be told its time and once to run.
func TestManyDrainInOrderWithoutRescanning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, api := newWorld(), &script{data: sample(t)}
		const n = 300
		for i := range n {
			j := job(string(rune('a'+i%26)) + time.Duration(i).String())
			j.Priority = i % 3
			j.QueuedAt = j.QueuedAt.Add(time.Duration(i) * time.Millisecond)
			w.submit(j)
		}
		o := capture.Options{MaxWait: 24 * time.Hour, Limits: func() capture.Limits { return capture.Limits{PerHour: 60} }}
		run(t, w, w.parts(api, &plain{}), o, 24*time.Hour)
		if len(api.calls) != n {
			t.Fatalf("%d captures, want %d", len(api.calls), n)
		}
		if w.pulls > 4*n {
			t.Errorf("%d deliveries for %d jobs, want at most four each", w.pulls, n)
		}
		checkHour(t, api.times(), 60)
	})
}

func checkHour(t *testing.T, at []time.Time, most int) {
	t.Helper()
	slices.SortFunc(at, time.Time.Compare)
	for i := range at {
		if i >= most && at[i].Sub(at[i-most]) < time.Hour {
			t.Fatalf("%d captures within %v, the budget is %d an hour", most+1, at[i].Sub(at[i-most]), most)
		}
	}
}

func TestNoOtherVersionThanTheNamedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, only := range []bool{false, true} {
			w, api := newWorld(), &script{lines: []error{fails(capture.FailNoExecutions)}, data: sample(t)}
			j := job("1")
			j.Target.VersionID, j.OnlyVersion = v1, only
			w.submit(j)
			run(t, w, w.parts(api, &plain{more: []string{"other"}}), capture.Options{}, 3*time.Minute)
			for i, call := range api.calls {
				if want := map[bool]string{false: "other", true: v1}[only]; i > 0 && call.target.VersionID != want {
					t.Errorf("only the named version: %v: attempt %d takes %s, want %s", only, i+1, call.target.VersionID, want)
				}
			}
			if len(api.calls) != 2 || w.record("1").State != capture.Stored {
				t.Errorf("%d calls, %+v", len(api.calls), w.record("1"))
			}
		}
	})
}

func TestReplacementIsolateIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		change func(j *capture.Job)
		want   string
	}{
		"memory":              {func(j *capture.Job) { j.Trouble, j.Type = capture.ExceededMemory, capture.Heap }, "replacement isolate, 16 s after the failure"},
		"heap of an incident": {func(j *capture.Job) { j.Type = capture.Heap }, "replacement isolate, 16 s after the failure"},
		"memory of a stateless Worker": {func(j *capture.Job) {
			j.Trouble, j.Type, j.Target = capture.ExceededMemory, capture.Heap, capture.Target{Kind: capture.Worker, Script: "room-api"}
		}, "an isolate of the Worker, not the one that failed, 16 s after the failure"},
		"overload": {func(j *capture.Job) { j.Trouble = capture.Overloaded }, ""},
		"heap after an overload": {func(j *capture.Job) {
			j.Trouble, j.Type, j.Cause = capture.Overloaded, capture.Heap, capture.CauseFollowUp
		}, ""},
		"memory, time is unknown": {func(j *capture.Job) { j.Trouble, j.FailureAt = capture.ExceededMemory, time.Time{} }, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, api := newWorld(), &script{lines: []error{fails(capture.FailNoIsolate), fails(capture.FailNoIsolate)}, data: sample(t)}
			j := job("1")
			j.FailureAt = time.Now().Add(-7 * time.Second)
			c.change(&j)
			w.submit(j)
			run(t, w, w.parts(api, &plain{}), capture.Options{}, time.Minute)
			if got := strings.Join(w.record("1").Notes, "; "); got != c.want {
				t.Errorf("%s: notes %q, want %q", name, got, c.want)
			}
		})
	}
}
