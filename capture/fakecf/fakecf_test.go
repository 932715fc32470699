package fakecf_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"

	"github.com/snapflame/snapflame/capture/fakecf"
)

const (
	v1  = "11111111-1111-4111-8111-111111111111"
	v2  = "22222222-2222-4222-8222-222222222222"
	ns  = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	obj = "3fa1c07d5be2498a1d6e0b7c94f2538e6a1b2c3d4e5f60718293a4b5c6d7e8f9"
)

func account() *fakecf.Server {
	s := &fakecf.Server{AccountID: "acc", Token: "secret", Speed: 1000}
	s.AddWorker(fakecf.Worker{Name: "room", Versions: []fakecf.Version{{ID: v1, Percent: 100}, {ID: v2, Quiet: true}}})
	s.AddWorker(fakecf.Worker{Name: "caller", Versions: []fakecf.Version{{ID: v2, Percent: 100, Bindings: []fakecf.Binding{
		{Type: "durable_object_namespace", Name: "ROOM", NamespaceID: ns, Class: "Room", Script: "room"}, {Type: "service", Name: "AUTH", Service: "room"},
	}}}})
	s.AddNamespace(fakecf.Namespace{ID: ns, Class: "Room", Script: "room"})
	s.AddObject(fakecf.Object{ID: obj, Namespace: ns, Version: v1})
	return s
}

type answer struct {
	status int
	header http.Header
	body   []byte
	code   int
	text   string
	err    error
}

func ask(t *testing.T, c *http.Client, method, url, token, body string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := c.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	a.body, a.err = io.ReadAll(res.Body)
	var e struct {
		Errors []struct {
			Code    int
			Message string
		}
	}
	if json.Unmarshal(a.body, &e) == nil && len(e.Errors) > 0 {
		a.code, a.text = e.Errors[0].Code, e.Errors[0].Message
	}
	return a
}

func TestProfileRules(t *testing.T) {
	const ok = `{"duration_ms":1000}`
	do := `{"duration_ms":1000,"namespace_id":"` + ns + `","actor_id":"` + obj + `"}`
	for name, c := range map[string]struct {
		worker, version, token, body string
		status                       int
		text                         string
		code                         int
	}{
		"worker":                  {"room", v1, "secret", ok, 200, "", 0},
		"prefix of eight":         {"room", v1[:8], "secret", ok, 200, "", 0},
		"prefix of seven":         {"room", v1[:7], "secret", ok, 404, "version was not found", 10222},
		"latest is not deployed":  {"room", "latest", "secret", ok, 404, "No recent executions were found for this Worker.", 10393},
		"object":                  {"room", v1, "secret", do, 200, "", 0},
		"object of a caller":      {"caller", v2, "secret", do, 404, "namespace was not found for this Worker", 10066},
		"object on other version": {"room", v2, "secret", do, 404, "No recent executions", 10393},
		"no such worker":          {"none", v1, "secret", ok, 404, "does not exist", 10007},
		"wrong token":             {"room", v1, "wrong", ok, 401, "Invalid API Token", 1000},
		"no token":                {"room", v1, "", ok, 400, "Missing", 9106},
		"no duration":             {"room", v1, "secret", `{}`, 400, "duration_ms", 10001},
		"999 ms":                  {"room", v1, "secret", `{"duration_ms":999}`, 400, "duration_ms", 10001},
		"50001 ms":                {"room", v1, "secret", `{"duration_ms":50001}`, 400, "duration_ms", 10001},
		"fractional":              {"room", v1, "secret", `{"duration_ms":1000.5}`, 400, "parse", 10001},
		"memory type":             {"room", v1, "secret", `{"duration_ms":1000,"profile_type":"memory"}`, 400, "profile_type", 10001},
		"actor alone":             {"room", v1, "secret", `{"duration_ms":1000,"actor_id":"` + obj + `"}`, 400, "together", 10001},
		"namespace alone":         {"room", v1, "secret", `{"duration_ms":1000,"namespace_id":"` + ns + `"}`, 400, "together", 10001},
		"short actor":             {"room", v1, "secret", `{"duration_ms":1000,"namespace_id":"` + ns + `","actor_id":"abc"}`, 400, "64-character", 10001},
		"sampling rate":           {"room", v1, "secret", `{"duration_ms":1000,"rate":9}`, 400, "parse", 10001},
	} {
		t.Run(name, func(t *testing.T) {
			s := account()
			a := ask(t, &http.Client{Transport: s.Transport()}, "POST", "http://cf/client/v4/accounts/acc/workers/workers/"+c.worker+"/versions/"+c.version+"/profile", c.token, c.body)
			if a.status != c.status || a.code != c.code || !strings.Contains(a.text, c.text) {
				t.Errorf("got %d %d %q, want %d %d %q", a.status, a.code, a.text, c.status, c.code, c.text)
			}
			if c.status == 200 {
				if _, err := profile.ParseData(a.body); err != nil {
					t.Errorf("not a profile: %v", err)
				}
			}
		})
	}
}

func TestCaptureTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := account()
		s.Speed = 2
		start := time.Now()
		ask(t, &http.Client{Transport: s.Transport()}, "POST", "http://cf/client/v4/accounts/acc/workers/workers/room/versions/"+v1+"/profile", "secret", `{"duration_ms":50000}`)
		if got := time.Since(start); got != 25*time.Second {
			t.Errorf("took %v, want 25s at twice the speed", got)
		}
		c := s.Captures()
		if len(c) != 1 || c[0].Outcome != "profile" || c[0].VersionID != v1 || c[0].Target() != "room" {
			t.Errorf("log: %+v", c)
		}
	})
}

func TestRateLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := account()
		s.CaptureLimit, s.CaptureWindow, s.RetryAfter, s.GlobalLimit = 1, time.Minute, "seconds", 5
		c := &http.Client{Transport: s.Transport()}
		url := "http://cf/client/v4/accounts/acc/workers/workers/room/versions/" + v1 + "/profile"
		ask(t, c, "POST", url, "secret", `{"duration_ms":1000}`)
		if a := ask(t, c, "POST", url, "secret", `{"duration_ms":1000}`); a.status != 429 || a.header.Get("Retry-After") != "60" {
			t.Errorf("got %d, Retry-After %q; want 429, 60", a.status, a.header.Get("Retry-After"))
		}
		s.RetryAfter = "date"
		if a := ask(t, c, "POST", url, "secret", `{"duration_ms":1000}`); a.status != 429 || !strings.HasSuffix(a.header.Get("Retry-After"), "GMT") {
			t.Errorf("got %d, Retry-After %q; want 429 and a date", a.status, a.header.Get("Retry-After"))
		}
		get := "http://cf/client/v4/accounts/acc/workers/workers/room"
		var a answer
		for range 4 {
			a = ask(t, c, "GET", get, "secret", "")
		}
		if a.status != 429 || !strings.Contains(a.text, "1200 requests") {
			t.Errorf("after the global limit: %d %q", a.status, a.text)
		}
		time.Sleep(5 * time.Minute)
		if a := ask(t, c, "GET", get, "secret", ""); a.status != 200 {
			t.Errorf("after the block: %d %q, want 200", a.status, a.text)
		}
	})
}

func TestFaults(t *testing.T) {
	s := account()
	base, stop, err := s.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	c := &http.Client{Timeout: 5 * time.Second}
	url := base + "/accounts/acc/workers/workers/room/versions/" + v1 + "/profile"
	for _, f := range []struct {
		name  string
		fault fakecf.Fault
		want  func(a answer) bool
		out   string
	}{
		{"reset before", fakecf.Fault{ResetBefore: true}, func(a answer) bool { return a.err != nil && a.status == 0 }, ""},
		{"reset after", fakecf.Fault{ResetAfter: true}, func(a answer) bool { return a.err != nil && a.status == 0 }, "lost"},
		{"cut", fakecf.Fault{Cut: true}, func(a answer) bool { return errors.Is(a.err, io.ErrUnexpectedEOF) || a.err != nil && a.status == 200 }, "lost"},
		{"empty", fakecf.Fault{Empty: true}, func(a answer) bool { return a.status == 200 && len(a.body) == 0 }, "lost"},
		{"html", fakecf.Fault{Status: 502, Body: []byte("<html>"), ContentType: "text/html"}, func(a answer) bool { return a.status == 502 && bytes.HasPrefix(a.body, []byte("<html>")) }, ""},
		{"truncated", fakecf.Fault{Truncate: true}, func(a answer) bool { _, err := profile.ParseData(a.body); return a.status == 200 && err != nil }, "lost"},
	} {
		t.Run(f.name, func(t *testing.T) {
			before := len(s.Captures())
			s.NextFaults(f.fault)
			if a := ask(t, c, "POST", url, "secret", `{"duration_ms":1000}`); !f.want(a) {
				t.Errorf("got %+v", a)
			}
			got := ""
			if all := s.Captures(); len(all) > before {
				got = all[len(all)-1].Outcome
			}
			if got != f.out {
				t.Errorf("outcome %q, want %q", got, f.out)
			}
		})
	}
}

func TestResolution(t *testing.T) {
	s := account()
	c := &http.Client{Transport: s.Transport()}
	get := func(path string) string {
		t.Helper()
		a := ask(t, c, "GET", "http://cf/client/v4/accounts/acc/workers"+path, "secret", "")
		if a.status != 200 {
			t.Fatalf("%s: %d %s", path, a.status, a.body)
		}
		return string(a.body)
	}
	if err := s.Deploy("room", map[string]float64{v1: 90, v2: 10}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/scripts/room/deployments":                      `"percentage":90`,
		"/workers/room":                                  `"namespace_id":"` + ns,
		"/durable_objects/namespaces?per_page=1":         `"script":"room"`,
		"/durable_objects/namespaces/" + ns + "/objects": obj,
		"/workers/room/versions":                         v2,
		"/workers/caller/versions/" + v2:                 `"class_name":"Room","name":"ROOM","namespace_id":"` + ns + `","script_name":"room","type":"durable_object_namespace"`,
		"/workers/caller/versions":                       `"service":"room"`,
	} {
		if got := get(path); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwants %s", path, got, want)
		}
	}
	s.Rename("room", "lobby")
	if a := ask(t, c, "GET", "http://cf/client/v4/accounts/acc/workers/scripts/room/deployments", "secret", ""); a.status != 404 {
		t.Errorf("old name: %d, want 404", a.status)
	}
}
