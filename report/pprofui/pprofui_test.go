package pprofui_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/report/pprofui"
)

func sample() *report.Report {
	return &report.Report{
		Type: report.CPU, Meta: report.Meta{Title: "room-api RoomObject 3fa1c07d"}, BusyNS: 90,
		Tree: &report.Tree{
			Unit: "nanoseconds",
			Frames: []report.Frame{
				{Name: "fetch", File: "file:///bundle/worker.js", Line: 3, Module: "src/index.ts"},
				{Name: "</script><script>alert(1)</script>", File: "/etc/hostname", Line: 1},
				{Name: "(anonymous)", File: "file:///bundle/worker.js", Line: 70},
			},
			Nodes: []report.Node{{Frame: -1, Parent: -1, Total: 90}, {Frame: 0, Parent: 0, Self: 30, Total: 90}, {Frame: 1, Parent: 1, Self: 40, Total: 60}, {Frame: 2, Parent: 2, Self: 20, Total: 20}},
		},
	}
}

func serve(t *testing.T, load pprofui.Load) *httptest.Server {
	t.Helper()
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	t.Setenv("HOME", home)
	t.Cleanup(func() { // nothing may be left on the disk, whoever asked for what
		filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				t.Errorf("the driver wrote %s", path)
			}
			return nil
		})
	})
	h := pprofui.New(pprofui.Options{
		Load: load, Download: func(id string) string { return "/api/v1/captures/" + id + "/profile" },
		Fail: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusNotFound)
		},
	})
	mux := http.NewServeMux()
	mux.Handle("GET /captures/{id}/pprof/{page...}", h)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func get(t *testing.T, s *httptest.Server, path string) (int, string, http.Header) {
	t.Helper()
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Get(s.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), resp.Header
}

func loaded(context.Context, string) (*profile.Profile, error) { return pprofui.Profile(sample()), nil }

func TestServedViews(t *testing.T) {
	s := serve(t, loaded)
	for _, page := range []string{"flamegraph", "top", "peek?f=fetch", "top?si=cpu"} {
		status, body, h := get(t, s, "/captures/c1/pprof/"+page)
		if status != 200 || !strings.Contains(body, "fetch") {
			t.Errorf("%s: got %d", page, status)
		}
		if !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") || strings.Contains(body, "<script>") {
			t.Errorf("%s: a script without a nonce", page)
		}
		if strings.Contains(body, "alert(1)</script>") {
			t.Errorf("%s: a function's name is not escaped", page)
		}
	}
	if _, body, _ := get(t, s, "/captures/c1/pprof/flamegraph"); !strings.Contains(body, "src/index_ts.fetch") {
		t.Error("names lack their module")
	}
}

func TestFences(t *testing.T) {
	s := serve(t, loaded)
	for _, page := range []string{"source?f=.", "disasm?f=.", "graph", "saveconfig?config=x", "deleteconfig?config=x", "debug/pprof/", "..%2fsource", "nothing"} {
		if status, body, _ := get(t, s, "/captures/c1/pprof/"+page); status != 404 {
			t.Errorf("%s: got %d %.80s", page, status, body)
		}
	}
	for page, want := range map[string]string{"": "/captures/c1/pprof/flamegraph", "flamegraph2?f=x": "/captures/c1/pprof/flamegraph?f=x", "download": "/api/v1/captures/c1/profile"} {
		status, _, h := get(t, s, "/captures/c1/pprof/"+page)
		if status != 302 || h.Get("Location") != want {
			t.Errorf("%q: got %d to %q, want 302 to %q", page, status, h.Get("Location"), want)
		}
	}
}

func TestManyCapturesAtOnce(t *testing.T) {
	s := serve(t, func(_ context.Context, id string) (*profile.Profile, error) {
		r := sample()
		r.Tree.Frames[0].Name = "only_" + id
		return pprofui.Profile(r), nil
	})
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			id := string(rune('a' + i%20))
			if status, body, _ := get(t, s, "/captures/"+id+"/pprof/top"); status != 200 || !strings.Contains(body, "only_"+id) {
				t.Errorf("%s: got %d and somebody else's profile", id, status)
			}
		})
	}
	wg.Wait()
}

func TestALoadThatFailedIsTriedAgain(t *testing.T) {
	fails := true
	s := serve(t, func(context.Context, string) (*profile.Profile, error) {
		if fails {
			return nil, errors.New("gone for now")
		}
		return pprofui.Profile(sample()), nil
	})
	if status, body, _ := get(t, s, "/captures/c1/pprof/top"); status != 404 || !strings.Contains(body, "gone for now") {
		t.Errorf("got %d %s", status, body)
	}
	fails = false
	if status, _, _ := get(t, s, "/captures/c1/pprof/top"); status != 200 {
		t.Errorf("second try: got %d", status)
	}
}

func TestProfileKeepsTheFigures(t *testing.T) {
	p := pprofui.Profile(sample())
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, s := range p.Sample {
		sum += s.Value[0]
	}
	if sum != 90 || len(p.Sample) != 3 {
		t.Errorf("got %d in %d samples, want 90 in 3", sum, len(p.Sample))
	}
	if got := p.Function[2].Name; got != "bundle/worker_js.(anonymous):70" {
		t.Errorf("anonymous is %q", got)
	}
}
