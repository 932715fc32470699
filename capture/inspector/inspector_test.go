package inspector_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/gorilla/websocket"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/capture/inspector"
)

const cpuJSON = `{"profile":{"nodes":[
 {"id":1,"callFrame":{"functionName":"(root)","url":"","lineNumber":-1,"columnNumber":-1},"children":[2,4,5]},
 {"id":2,"callFrame":{"functionName":"fetch","url":"file:///bundle/worker.js","lineNumber":9,"columnNumber":4},"children":[3]},
 {"id":3,"callFrame":{"functionName":"record","url":"file:///bundle/worker.js","lineNumber":41,"columnNumber":8}},
 {"id":4,"callFrame":{"functionName":"","url":"","lineNumber":-1,"columnNumber":-1}},
 {"id":5,"callFrame":{"functionName":"(garbage collector)","url":"","lineNumber":-1,"columnNumber":-1}}],
 "startTime":1000,"endTime":3004000,"samples":[3,3,4,5],"timeDeltas":[1000,1100,3000900,-5]}}`

const heapJSON = `{"profile":{"head":{"callFrame":{"functionName":"(root)","url":"","lineNumber":-1,"columnNumber":-1},"id":1,"children":[
 {"callFrame":{"functionName":"observe","url":"file:///bundle/worker.js","lineNumber":0,"columnNumber":0},"id":2,"children":[
 {"callFrame":{"functionName":"join","url":"","lineNumber":-1,"columnNumber":-1},"id":3,"children":[]}]}]},
 "samples":[{"size":524352,"nodeId":3,"ordinal":1},{"size":524304,"nodeId":2,"ordinal":2}]}}`

// fake is an inspector that keeps what it was asked.
type fake struct {
	targets string
	results map[string]string // method → result JSON; "!" refuses, "x" hangs up
	srv     *httptest.Server
	mu      sync.Mutex
	asked   []string
	origin  string
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{
		targets: `[{"id":"gateway","title":"workerd: worker gateway","webSocketDebuggerUrl":"ws://0.0.0.0:1/gateway"},{"id":"meter","title":"workerd: worker meter"}]`,
		results: map[string]string{"Profiler.stop": cpuJSON, "HeapProfiler.stopSampling": heapJSON},
	}
	f.srv = httptest.NewServer(f)
	t.Cleanup(f.srv.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/json" {
		_, _ = w.Write([]byte(f.targets))
		return
	}
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	f.mu.Lock()
	f.asked, f.origin = append(f.asked, r.URL.Path), r.Header.Get("Origin")
	f.mu.Unlock()
	for {
		var q struct {
			ID     int             `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if conn.ReadJSON(&q) != nil {
			return
		}
		f.mu.Lock()
		f.asked = append(f.asked, q.Method+string(q.Params))
		f.mu.Unlock()
		_ = conn.WriteMessage(websocket.TextMessage, []byte(`{"method":"Runtime.consoleAPICalled","params":{}}`))
		out := map[string]any{"id": q.ID}
		switch res := f.results[q.Method]; res {
		case "":
			out["result"] = map[string]any{}
		case "!":
			out["error"] = map[string]any{"code": -32601, "message": "wasn't found"}
		case "x":
			return
		default:
			out["result"] = json.RawMessage(res)
		}
		_ = conn.WriteJSON(out)
	}
}

func (f *fake) client(t *testing.T) *inspector.Client {
	t.Helper()
	c, err := inspector.New(inspector.Options{URL: f.srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func req(worker string, typ capture.Type) capture.Request {
	return capture.Request{Type: typ, Duration: time.Second, Target: capture.Target{Kind: capture.Worker, Script: worker}}
}

func stacks(p *profile.Profile) []string {
	var out []string
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			names = append(names, l.Line[0].Function.Name)
		}
		out = append(out, strings.Join(names, "<"))
	}
	return out
}

func TestCPU(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	data, err := f.client(t).Profile(t.Context(), req("meter", capture.CPU))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/meter", "Profiler.enable{}", `Profiler.setSamplingInterval{"interval":1000}`, "Profiler.start{}", "Profiler.stop{}"}
	if !slices.Equal(f.asked, want) || f.origin == "" {
		t.Errorf("asked %q with origin %q, want %q", f.asked, f.origin, want)
	}
	if bad := capture.Sniff(data); bad != nil {
		t.Errorf("Sniff: %v", bad)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := stacks(p), []string{"record<fetch", "record<fetch", "(anonymous)", "(garbage collector)"}; !slices.Equal(got, want) {
		t.Errorf("stacks %q, want %q", got, want)
	}
	if got := p.Sample[1].Value; !slices.Equal(got, []int64{1, 1_100_000}) {
		t.Errorf("values %v, want one sample of 1.1 ms", got)
	}
	if got := p.Sample[3].Value[1]; got != 0 {
		t.Errorf("a negative time became %d, want 0", got)
	}
	leaf := p.Sample[0].Location[0].Line[0]
	if leaf.Line != 42 || leaf.Function.StartLine != 42 || leaf.Function.Filename != "file:///bundle/worker.js" {
		t.Errorf("leaf %+v %+v, want line 42 of the bundle", leaf, leaf.Function)
	}
	if p.SampleType[1].Unit != "nanoseconds" || p.Period != 1_000_000 || p.DurationNanos != 3_003_000_000 || len(p.Mapping) != 0 {
		t.Errorf("unit %s, period %d, duration %d, %d mappings", p.SampleType[1].Unit, p.Period, p.DurationNanos, len(p.Mapping))
	}
}

func TestHeap(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	data, err := f.client(t).Profile(t.Context(), req("gateway", capture.Heap))
	if err != nil {
		t.Fatal(err)
	}
	want := `HeapProfiler.startSampling{"includeObjectsCollectedByMajorGC":true,"includeObjectsCollectedByMinorGC":true,"samplingInterval":524288}`
	if !slices.Contains(f.asked, want) || f.asked[0] != "/gateway" {
		t.Errorf("asked %q, want %q of /gateway", f.asked, want)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := stacks(p), []string{"join<observe", "observe"}; !slices.Equal(got, want) {
		t.Errorf("stacks %q, want %q", got, want)
	}
	if p.SampleType[1].Unit != "bytes" || p.Sample[0].Value[1] != 524352 || p.DurationNanos != int64(time.Second) {
		t.Errorf("unit %s, value %v, duration %d", p.SampleType[1].Unit, p.Sample[0].Value, p.DurationNanos)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(f *fake)
		worker string
		kind   capture.FailureKind
		text   string
	}{
		"several, none of that name": {func(*fake) {}, "shop", capture.FailNotFound, "it has gateway, meter"},
		"none":                       {func(f *fake) { f.targets = "[]" }, "shop", capture.FailNoIsolate, "Is the Worker running?"},
		"a Worker's port":            {func(f *fake) { f.targets = "<html>hello" }, "shop", capture.FailNotProfile, "not as an inspector does"},
		"nobody there":               {func(f *fake) { f.srv.Close() }, "shop", capture.FailUnreachable, "Start wrangler dev"},
		"refused":                    {func(f *fake) { f.results["Profiler.start"] = "!" }, "meter", capture.FailCouldNotStart, "refuses Profiler.start"},
		"reloaded":                   {func(f *fake) { f.results["Profiler.stop"] = "x" }, "meter", capture.FailServer, "been reloaded or stopped"},
		"nonsense":                   {func(f *fake) { f.results["Profiler.stop"] = `{"profile":7}` }, "meter", capture.FailNotProfile, "not as expected"},
		"no path to the root":        {func(f *fake) { f.results["Profiler.stop"] = `{"profile":{"samples":[9],"timeDeltas":[1]}}` }, "meter", capture.FailNotProfile, "node 9"},
		"a circle": {func(f *fake) {
			f.results["Profiler.stop"] = `{"profile":{"nodes":[{"id":1,"children":[1]}],"samples":[1],"timeDeltas":[1]}}`
		}, "meter", capture.FailNotProfile, "node 1"},
		"times missing": {func(f *fake) { f.results["Profiler.stop"] = `{"profile":{"samples":[1]}}` }, "meter", capture.FailNotProfile, "1 samples and 0 times"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			c.change(f)
			_, err := f.client(t).Profile(t.Context(), req(c.worker, capture.CPU))
			var got *capture.Failure
			if !errors.As(err, &got) || got.Kind != c.kind || !strings.Contains(got.Explain(), c.text) {
				t.Errorf("got %v, want %s: … %s …", err, c.kind, c.text)
			}
		})
	}
}

func TestOnlyTargetNeedsNoName(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.targets = `[{"id":"2a6f","title":"Cloudflare Worker","webSocketDebuggerUrl":"ws://127.0.0.1:9229/ws"}]`
	if _, err := f.client(t).Profile(t.Context(), req("shop", capture.CPU)); err != nil {
		t.Fatal(err)
	}
	if f.asked[0] != "/ws" {
		t.Errorf("opened %s, want the target's own path at the host that was asked", f.asked[0])
	}
}

func TestURLs(t *testing.T) {
	for url, ok := range map[string]bool{
		"http://127.0.0.1:9229": true, "ws://localhost:9229/ws": true, "127.0.0.1:9229": true, "localhost:9229": true, "ftp://x": false, "": false, "http://": false,
	} {
		if _, err := inspector.New(inspector.Options{URL: url}); (err == nil) != ok {
			t.Errorf("%q: %v, want ok: %v", url, err, ok)
		}
	}
}
