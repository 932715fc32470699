package cloudflare_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/capture/cloudflare"
	"github.com/snapflame/snapflame/capture/fakecf"
)

const (
	secret = "s3cret-token"
	v1     = "11111111-1111-4111-8111-111111111111"
	v2     = "22222222-2222-4222-8222-222222222222"
	v3     = "33333333-3333-4333-8333-333333333333"
	nsRoom = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	nsMeet = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	obj    = "3fa1c07d5be2498a1d6e0b7c94f2538e6a1b2c3d4e5f60718293a4b5c6d7e8f9"
	obj2   = "4fa1c07d5be2498a1d6e0b7c94f2538e6a1b2c3d4e5f60718293a4b5c6d7e8f9"
	nobody = "5fa1c07d5be2498a1d6e0b7c94f2538e6a1b2c3d4e5f60718293a4b5c6d7e8f9"
)

func account() *fakecf.Server {
	s := &fakecf.Server{AccountID: "acc", Token: secret, Speed: 10000}
	s.AddWorker(fakecf.Worker{Name: "room-production", Versions: []fakecf.Version{{ID: v1, Percent: 90}, {ID: v2, Percent: 10}, {ID: v3, Quiet: true}}})
	s.AddWorker(fakecf.Worker{Name: "meeting", Versions: []fakecf.Version{{ID: v2, Percent: 100}}})
	s.AddWorker(fakecf.Worker{Name: "caller", Versions: []fakecf.Version{{ID: v3, Percent: 100}}})
	s.AddNamespace(fakecf.Namespace{ID: nsRoom, Class: "Room", Script: "room-production"})
	s.AddNamespace(fakecf.Namespace{ID: nsMeet, Class: "Meeting", Script: "meeting"})
	s.AddObject(fakecf.Object{ID: obj, Namespace: nsRoom, Version: v1})
	s.AddObject(fakecf.Object{ID: obj2, Namespace: nsMeet})
	return s
}

func client(t *testing.T, s *fakecf.Server) *cloudflare.Client {
	t.Helper()
	c, err := cloudflare.New(cloudflare.Options{AccountID: "acc", Token: secret, BaseURL: "http://cf/client/v4", HTTP: s.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func kindOf(err error) capture.FailureKind {
	if f, ok := errors.AsType[*capture.Failure](err); ok {
		return f.Kind
	}
	return ""
}

func request() capture.Request {
	return capture.Request{
		Type: capture.CPU, Duration: 10 * time.Second,
		Target: capture.Target{Kind: capture.DurableObject, Script: "room-production", Class: "Room", ObjectID: obj, NamespaceID: nsRoom, VersionID: v1},
	}
}

func TestProfileAsksExactly(t *testing.T) {
	for _, enc := range []string{"gzip", "raw"} {
		s := account()
		s.Encoding = enc
		data, err := client(t, s).Profile(t.Context(), request())
		if err != nil || len(data) == 0 {
			t.Fatalf("%s: %d bytes, %v", enc, len(data), err)
		}
		r := s.Requests()[0]
		if want := "/accounts/acc/workers/workers/room-production/versions/" + v1 + "/profile"; r.Path != want {
			t.Errorf("path %s, want %s", r.Path, want)
		}
		if want := `{"duration_ms":10000,"profile_type":"cpu","namespace_id":"` + nsRoom + `","actor_id":"` + obj + `"}`; r.Body != want {
			t.Errorf("body %s, want %s", r.Body, want)
		}
	}
}

func TestProfileEscapesNames(t *testing.T) {
	s := account()
	r := request()
	r.Target.Script = "../../../user/tokens/verify?x=/"
	_, err := client(t, s).Profile(t.Context(), r)
	if kindOf(err) != capture.FailNotFound {
		t.Errorf("got %v, want not_found", err)
	}
	if p := s.Requests()[0].Path; !strings.HasPrefix(p, "/accounts/acc/workers/workers/..%2F") {
		t.Errorf("path %s left its place", p)
	}
}

func TestNothingWrongIsSent(t *testing.T) {
	s := account()
	c := client(t, s)
	for name, change := range map[string]func(*capture.Request){
		"latest":       func(r *capture.Request) { r.Target.VersionID = "Latest" },
		"no version":   func(r *capture.Request) { r.Target.VersionID = "" },
		"no worker":    func(r *capture.Request) { r.Target.Script = "" },
		"no namespace": func(r *capture.Request) { r.Target.NamespaceID = "" },
		"bad object":   func(r *capture.Request) { r.Target.ObjectID = obj[1:] },
		"too short":    func(r *capture.Request) { r.Duration = 999 * time.Millisecond },
		"too long":     func(r *capture.Request) { r.Duration = 50001 * time.Millisecond },
		"other type":   func(r *capture.Request) { r.Type = "memory" },
	} {
		r := request()
		change(&r)
		if _, err := c.Profile(t.Context(), r); kindOf(err) != capture.FailBadRequest {
			t.Errorf("%s: %v, want bad_request", name, err)
		}
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests were sent, want none", n)
	}
}

func pack(data []byte) []byte {
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	zw.Write(data)
	zw.Close()
	return b.Bytes()
}

func TestFailuresAreToldApart(t *testing.T) {
	json := func(status, code int, text string) fakecf.Fault {
		return fakecf.Fault{Status: status, Code: code, Message: text}
	}
	for name, c := range map[string]struct {
		fault fakecf.Fault
		want  capture.FailureKind
		after time.Duration
	}{
		"text over status":    {json(500, 0, "No recent executions were found for this Worker."), capture.FailNoExecutions, 0},
		"text over code":      {json(404, 10393, "The Worker has no loaded isolate in its recent execution locations."), capture.FailNoIsolate, 0},
		"code over status":    {json(404, 10393, "something new"), capture.FailNoExecutions, 0},
		"unavailable":         {json(404, 1, "Worker profiling is unavailable in this environment."), capture.FailUnavailable, 0},
		"unsupported":         {json(400, 1, "This Worker does not support runtime profiling."), capture.FailUnsupported, 0},
		"could not start":     {json(503, 1, "The Worker runtime could not start profiling. Please try again."), capture.FailCouldNotStart, 0},
		"400":                 {json(400, 1, "no"), capture.FailBadRequest, 0},
		"401":                 {json(401, 10000, "Authentication error"), capture.FailUnauthorized, 0},
		"bad header":          {json(400, 6003, "Invalid request headers"), capture.FailUnauthorized, 0},
		"403":                 {json(403, 10000, "Authentication error"), capture.FailForbidden, 0},
		"404":                 {json(404, 10007, "gone"), capture.FailNotFound, 0},
		"500":                 {json(500, 7, "oops"), capture.FailServer, 0},
		"429 seconds":         {fakecf.Fault{Status: 429, Message: "slow", RetryAfter: "17"}, capture.FailRateLimited, 17 * time.Second},
		"429 date":            {fakecf.Fault{Status: 429, RetryAfter: "Sat, 01 Jan 2000 00:00:40 GMT"}, capture.FailRateLimited, 40 * time.Second},
		"429 absent":          {fakecf.Fault{Status: 429}, capture.FailRateLimited, 0},
		"429 nonsense":        {fakecf.Fault{Status: 429, RetryAfter: "-NaN"}, capture.FailRateLimited, 0},
		"429 for ever":        {fakecf.Fault{Status: 429, RetryAfter: "1e300"}, capture.FailRateLimited, time.Hour},
		"429 global":          {json(429, 971, "More than 1200 requests per 300 seconds reached."), capture.FailRateLimited, 5 * time.Minute},
		"html 502":            {fakecf.Fault{Status: 502, Body: []byte("<html>secret page</html>"), ContentType: "text/html"}, capture.FailServer, 0},
		"html 200":            {fakecf.Fault{Body: []byte("<!doctype html>"), ContentType: "text/html"}, capture.FailNotProfile, 0},
		"json 200":            {fakecf.Fault{Body: []byte(`{"success":true}`)}, capture.FailNotProfile, 0},
		"error with 200":      {fakecf.Fault{Body: []byte(`{"success":false,"errors":[{"code":10393,"message":"No recent executions"}]}`)}, capture.FailNoExecutions, 0},
		"redirect":            {fakecf.Fault{Status: 302, Body: []byte("x")}, capture.FailNotProfile, 0},
		"empty":               {fakecf.Fault{Empty: true}, capture.FailEmpty, 0},
		"truncated":           {fakecf.Fault{Truncate: true}, capture.FailTruncated, 0},
		"cut":                 {fakecf.Fault{Cut: true}, capture.FailTruncated, 0},
		"text":                {fakecf.Fault{Replace: []byte("hello there")}, capture.FailNotProfile, 0},
		"double gzip":         {fakecf.Fault{Replace: pack(pack([]byte("x")))}, capture.FailNotProfile, 0},
		"reset before":        {fakecf.Fault{ResetBefore: true}, capture.FailUnreachable, 0},
		"reset after":         {fakecf.Fault{ResetAfter: true}, capture.FailUnreachable, 0},
		"hang":                {fakecf.Fault{Hang: true}, capture.FailTimeout, 0},
		"slow beyond measure": {fakecf.Fault{Delay: time.Minute}, capture.FailTimeout, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the bubble's clock begins at 2000-01-01
				s := account()
				s.NextFaults(c.fault)
				data, err := client(t, s).Profile(t.Context(), request())
				var f *capture.Failure
				if !errors.As(err, &f) || f.Kind != c.want || f.RetryAfter != c.after || data != nil {
					t.Fatalf("got %v after %v with %d bytes, want %s after %v", err, f.RetryAfter, len(data), c.want, c.after)
				}
				if n := len(s.Requests()); n != 1 {
					t.Errorf("%d requests, want exactly one", n)
				}
				if f.Explain() == "" || strings.Contains(err.Error()+f.Explain(), "secret page") {
					t.Errorf("explains %q", f.Explain())
				}
			})
		})
	}
}

func TestTimeoutIsDurationAndFortySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := account()
		s.NextFaults(fakecf.Fault{Hang: true})
		start := time.Now()
		_, err := client(t, s).Profile(t.Context(), request())
		if got := time.Since(start); got != 50*time.Second || kindOf(err) != capture.FailTimeout {
			t.Errorf("%v after %v, want timeout after 50s", err, got)
		}
	})
}

func TestTokenNeverShows(t *testing.T) {
	s := account()
	s.NextFaults(fakecf.Fault{Status: 400, Message: "your token " + secret + " is bad"})
	c := client(t, s)
	_, err := c.Profile(t.Context(), request())
	if strings.Contains(err.Error(), secret) {
		t.Errorf("the token is in %q", err)
	}
	if _, err := cloudflare.New(cloudflare.Options{AccountID: "a", Token: secret, BaseURL: "ftp://" + secret}); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("New: %v", err)
	}
}

// A transport of its own with the sockets: a reset after the effect must not be
// repeated by net/http, and a refused connection is known not to have arrived.
func TestRealSockets(t *testing.T) {
	s := account()
	base, stop, err := s.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := cloudflare.New(cloudflare.Options{AccountID: "acc", Token: secret, BaseURL: base})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Profile(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	s.NextFaults(fakecf.Fault{ResetAfter: true})
	_, err = c.Profile(t.Context(), request())
	var f *capture.Failure
	if !errors.As(err, &f) || f.Kind != capture.FailUnreachable || !f.MayHaveRun() {
		t.Errorf("reset after effect: %v, want unreachable that may have run", err)
	}
	if n := len(s.Captures()); n != 2 {
		t.Errorf("%d captures, want 2: nothing is repeated", n)
	}
	stop()
	_, err = c.Profile(t.Context(), request())
	if !errors.As(err, &f) || f.Kind != capture.FailUnreachable || f.MayHaveRun() {
		t.Errorf("nobody listens: %v, want unreachable that cannot have run", err)
	}
}

type choice struct{ script, ns, version, source string }

func choices(rs []capture.Resolution) []choice {
	var out []choice
	for _, r := range rs {
		out = append(out, choice{r.Target.Script, r.Target.NamespaceID, r.Target.VersionID, r.VersionSource})
	}
	return out
}

func TestResolve(t *testing.T) {
	do := capture.DurableObject
	for name, c := range map[string]struct {
		target capture.Target
		want   []choice
		fail   capture.FailureKind
		note   string
	}{
		"worker, deployed version": {
			capture.Target{Kind: capture.Worker, Script: "room-production"},
			[]choice{{"room-production", "", v1, "deployment"}, {"room-production", "", v2, "deployment"}},
			"", "gradual deployment: 90 % 11111111, 10 % 22222222",
		},
		"worker, version of the event": {
			capture.Target{Kind: capture.Worker, Script: "meeting", VersionID: v2}, []choice{{"meeting", "", v2, "event"}}, "", "",
		},
		"worker, prefix": {
			capture.Target{Kind: capture.Worker, Script: "meeting", VersionID: v2[:8]}, []choice{{"meeting", "", v2[:8], "event"}}, "", "",
		},
		"worker, event's version no longer deployed": {
			capture.Target{Kind: capture.Worker, Script: "meeting", VersionID: v1},
			[]choice{{"meeting", "", v1, "event"}, {"meeting", "", v2, "deployment"}},
			"", "",
		},
		"no such worker": {capture.Target{Kind: capture.Worker, Script: "room"}, nil, capture.FailNotFound, "room-production"},
		"latest":         {capture.Target{Kind: capture.Worker, Script: "meeting", VersionID: "latest"}, nil, capture.FailBadRequest, ""},
		"object, own record": {
			capture.Target{Kind: do, Script: "meeting", Class: "Meeting", ObjectID: obj2, VersionID: v2}, []choice{{"meeting", nsMeet, v2, "event"}}, "", "",
		},
		"object, logged id only": {capture.Target{Kind: do, ObjectID: obj2}, []choice{{"meeting", nsMeet, v2, "deployment"}}, "", ""},
		"object, upper case":     {capture.Target{Kind: do, ObjectID: strings.ToUpper(obj2)}, []choice{{"meeting", nsMeet, v2, "deployment"}}, "", ""},
		"object, caller's script and version": {
			capture.Target{Kind: do, Script: "caller", VersionID: v3, ObjectID: obj2}, []choice{{"meeting", nsMeet, v2, "deployment"}}, "", "caller does not implement the object; meeting does",
		},
		"object, base name of an environment": {
			capture.Target{Kind: do, Script: "room", Class: "Room", ObjectID: obj},
			[]choice{{"room-production", nsRoom, v1, "deployment"}, {"room-production", nsRoom, v2, "deployment"}},
			"", "",
		},
		"object nobody knows": {capture.Target{Kind: do, ObjectID: nobody}, nil, capture.FailNoNamespace, ""},
		"no object id":        {capture.Target{Kind: do, ObjectID: "abc"}, nil, capture.FailBadRequest, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := account()
			rs, err := client(t, s).Resolve(t.Context(), c.target)
			if kindOf(err) != c.fail {
				t.Fatalf("got %v, want %q", err, c.fail)
			}
			got := choices(rs)
			if len(got) != len(c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("%d: got %v, want %v", i, got[i], c.want[i])
				}
			}
			var said string
			if err != nil {
				said = err.Error()
			} else {
				said = strings.Join(rs[0].Notes, "; ")
			}
			if !strings.Contains(said, c.note) {
				t.Errorf("says %q, want %q", said, c.note)
			}
		})
	}
}

func TestPinnedObjectHasOlderVersions(t *testing.T) {
	s := account()
	if err := s.Deploy("room-production", map[string]float64{v3: 100}); err != nil {
		t.Fatal(err)
	}
	rs, err := client(t, s).Resolve(t.Context(), capture.Target{Kind: capture.DurableObject, Script: "room-production", Class: "Room", ObjectID: obj})
	if err != nil {
		t.Fatal(err)
	}
	got := choices(rs)
	if len(got) < 2 || got[0].version != v3 || got[1].source != "older_deployment" {
		t.Errorf("got %v, want the deployed version, then the older ones", got)
	}
}

func TestWarmTargetNeedsNoCall(t *testing.T) {
	s := account()
	c := client(t, s)
	for _, tg := range []capture.Target{
		{Kind: capture.DurableObject, Script: "meeting", Class: "Meeting", ObjectID: obj2, VersionID: v2},
		{Kind: capture.DurableObject, ObjectID: obj},
		{Kind: capture.Worker, Script: "caller"},
		{Kind: capture.DurableObject, Script: "room", Class: "Room", ObjectID: obj},
		{Kind: capture.DurableObject, Script: "caller", ObjectID: obj2, VersionID: v3},
	} {
		if _, err := c.Resolve(t.Context(), tg); err != nil {
			t.Fatal(err)
		}
		before := len(s.Requests())
		if _, err := c.Resolve(t.Context(), tg); err != nil {
			t.Fatal(err)
		}
		if n := len(s.Requests()) - before; n != 0 {
			t.Errorf("%+v: %d calls when warm, want none", tg, n)
		}
	}
}

func TestForgetAsksAgain(t *testing.T) {
	s := account()
	c := client(t, s)
	tg := capture.Target{Kind: capture.Worker, Script: "caller"}
	if _, err := c.Resolve(t.Context(), tg); err != nil {
		t.Fatal(err)
	}
	if err := s.Deploy("caller", map[string]float64{v1: 100}); err != nil {
		t.Fatal(err)
	}
	c.Forget(tg)
	rs, err := c.Resolve(t.Context(), tg)
	if err != nil || rs[0].Target.VersionID != v1 {
		t.Errorf("got %v, %v, want the new version", choices(rs), err)
	}
}

func TestDeploymentThatDecidesIsFresh(t *testing.T) {
	s := account()
	now := time.Now()
	c, err := cloudflare.New(cloudflare.Options{
		AccountID: "acc", Token: secret, BaseURL: "http://cf/client/v4", HTTP: s.Transport(), Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	version := func() (string, []string) {
		rs, err := c.Resolve(t.Context(), capture.Target{Kind: capture.Worker, Script: "caller"})
		if err != nil {
			t.Fatal(err)
		}
		return rs[0].Target.VersionID, rs[0].Notes
	}
	if got, _ := version(); got != v3 {
		t.Fatalf("got %s, want the deployed %s", got, v3)
	}
	if err := s.Deploy("caller", map[string]float64{v1: 100}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(31 * time.Second)
	s.Fault = func(fakecf.Request) *fakecf.Fault {
		return &fakecf.Fault{Status: 502, Body: []byte("<html>bad gateway</html>")}
	}
	if got, notes := version(); got != v3 || !strings.Contains(strings.Join(notes, ""), "did not say whether there is a newer one") {
		t.Errorf("without an answer: %s, %q, want the last known %s, said", got, notes, v3)
	}
	s.Fault = nil
	if got, notes := version(); got != v1 || len(notes) > 0 {
		t.Errorf("half a minute after a deployment: %s, %q, want the new %s", got, notes, v1)
	}
}

func TestRenamedWorkerIsFound(t *testing.T) {
	s := account()
	c := client(t, s)
	if err := c.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Rename("caller", "front")
	rs, err := c.Resolve(t.Context(), capture.Target{Kind: capture.Worker, Script: "caller", VersionID: v3})
	if err != nil || rs[0].Target.Script != "front" || !strings.Contains(strings.Join(rs[0].Notes, ""), "renamed to front") {
		t.Errorf("got %v, %v, want front", rs, err)
	}
}

func TestNewNamespaceIsSeen(t *testing.T) {
	s := account()
	c := client(t, s)
	if err := c.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.AddNamespace(fakecf.Namespace{ID: "cccc", Class: "Fresh", Script: "caller"})
	rs, err := c.Resolve(t.Context(), capture.Target{Kind: capture.DurableObject, Script: "caller", Class: "Fresh", ObjectID: nobody, VersionID: v3})
	if err != nil || rs[0].Target.NamespaceID != "cccc" {
		t.Errorf("got %v, %v, want the namespace that was not remembered", rs, err)
	}
}

func TestUnreadableObjectListsLeaveCandidates(t *testing.T) {
	s := account()
	s.Fault = func(r fakecf.Request) *fakecf.Fault {
		if strings.HasSuffix(r.Path, "/objects") {
			return &fakecf.Fault{Status: 403, Code: 10000, Message: "Authentication error"}
		}
		return nil
	}
	rs, err := client(t, s).Resolve(t.Context(), capture.Target{Kind: capture.DurableObject, ObjectID: obj2, Class: "Meeting"})
	if err != nil || len(rs) < 2 || rs[0].Target.NamespaceID != nsMeet || rs[1].Target.NamespaceID != nsRoom {
		t.Fatalf("got %v, %v, want the class's namespace first, then the other", choices(rs), err)
	}
	if said := strings.Join(rs[0].Notes, "; "); !strings.Contains(said, "2 namespaces may have this object") {
		t.Errorf("says %q", said)
	}
}

func TestNamedNamespaceIsBelieved(t *testing.T) {
	tg := capture.Target{Kind: capture.DurableObject, Script: "meeting", NamespaceID: nsMeet, ObjectID: obj2, VersionID: v2}
	s := account()
	s.Fault = func(r fakecf.Request) *fakecf.Fault {
		if strings.HasSuffix(r.Path, "/namespaces") {
			return &fakecf.Fault{Status: 403, Code: 10000, Message: "Authentication error"}
		}
		return nil
	}
	if rs, err := client(t, s).Resolve(t.Context(), tg); err != nil || rs[0].Target != tg {
		t.Errorf("got %v, %v, want the target as named", rs, err)
	}
	caller := tg
	caller.Script, caller.VersionID = "caller", ""
	if rs, err := client(t, account()).Resolve(t.Context(), caller); err != nil || rs[0].Target.Script != "meeting" {
		t.Errorf("got %v, %v, want the owner that the list names", rs, err)
	}
}

func TestDispatchedWorker(t *testing.T) {
	s := account()
	s.AddWorker(fakecf.Worker{Name: "tenant", Dispatch: "prod", Versions: []fakecf.Version{{ID: v1}, {ID: v2}}})
	c := client(t, s)
	tg := capture.Target{Kind: capture.Worker, Script: "tenant", DispatchNamespace: "prod"}
	rs, err := c.Resolve(t.Context(), tg)
	if err != nil || rs[0].Target.VersionID != v2 {
		t.Fatalf("got %v, %v, want the newest upload", choices(rs), err)
	}
	if _, err := c.Profile(t.Context(), capture.Request{Target: rs[0].Target, Type: capture.CPU, Duration: time.Second}); err != nil {
		t.Errorf("profile: %v", err)
	}
}

func TestReadsAreRetriedWithinReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := account()
		s.NextFaults(fakecf.Fault{Any: true, Status: 502, Body: []byte("<html>")}, fakecf.Fault{Any: true, ResetBefore: true})
		c := client(t, s)
		if nss, err := c.Namespaces(t.Context()); err != nil || len(nss) != 2 {
			t.Errorf("got %v, %v, want success at the third try", nss, err)
		}
		s.Fault = func(fakecf.Request) *fakecf.Fault { return &fakecf.Fault{Status: 401, Message: "no"} }
		before := len(s.Requests())
		if _, err := c.Deployments(t.Context(), "caller"); kindOf(err) != capture.FailUnauthorized || len(s.Requests()) != before+1 {
			t.Errorf("got %v after %d requests, want unauthorized at once", err, len(s.Requests())-before)
		}
	})
}

func TestPagesAreAllRead(t *testing.T) {
	s := account()
	for i := range 230 {
		s.AddWorker(fakecf.Worker{Name: "w" + time.Duration(i).String(), Versions: []fakecf.Version{{ID: v1, Percent: 100}}})
	}
	ws, err := client(t, s).Workers(t.Context())
	if err != nil || len(ws) != 233 {
		t.Errorf("got %d, %v, want 233", len(ws), err)
	}
}

func TestTokenAndModules(t *testing.T) {
	s := account()
	s.AddWorker(fakecf.Worker{Name: "mapped", Versions: []fakecf.Version{{ID: v1, Percent: 100, Modules: []fakecf.Module{{Name: "worker.js", Content: []byte("code")}}}}})
	c := client(t, s)
	if tok, err := c.VerifyToken(t.Context()); err != nil || tok.Status != "active" {
		t.Errorf("got %v, %v", tok, err)
	}
	if ms, err := c.Modules(t.Context(), "mapped", v1); err != nil || len(ms) != 1 || string(ms[0].Content) != "code" {
		t.Errorf("got %v, %v", ms, err)
	}
}

func TestCancelledCapture(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := account()
	s.OnCapture = func(fakecf.Capture) { cancel() }
	s.Speed = 0.001
	if _, err := client(t, s).Profile(ctx, request()); kindOf(err) == "" {
		t.Errorf("got %v, want a failure", err)
	}
}

func BenchmarkResolveWarm(b *testing.B) {
	s := account()
	c, err := cloudflare.New(cloudflare.Options{AccountID: "acc", Token: secret, BaseURL: "http://cf/client/v4", HTTP: s.Transport()})
	if err != nil {
		b.Fatal(err)
	}
	tg := capture.Target{Kind: capture.DurableObject, Script: "meeting", Class: "Meeting", ObjectID: obj2, VersionID: v2}
	for b.Loop() {
		if _, err := c.Resolve(b.Context(), tg); err != nil {
			b.Fatal(err)
		}
	}
}

var _ http.RoundTripper = (&fakecf.Server{}).Transport()
