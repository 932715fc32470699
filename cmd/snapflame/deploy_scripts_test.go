package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// setupAPI is the part of Cloudflare's API that the scripts of deploy/cloudflare
// call: it checks the token and remembers what was asked.
type setupAPI struct {
	mu    sync.Mutex
	calls []setupCall
}

type setupCall struct {
	at   string // method and path
	body map[string]any
}

func (a *setupAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Header.Get("Authorization") != "Bearer setup-secret" {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"success":false,"errors":[{"code":10000,"message":"Authentication error"}],"result":null}`)
		return
	}
	raw, _ := io.ReadAll(r.Body)
	c := setupCall{at: r.Method + " " + r.URL.Path}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &c.body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"success":false,"errors":[{"code":1,"message":"no JSON"}]}`)
			return
		}
	}
	a.mu.Lock()
	a.calls = append(a.calls, c)
	a.mu.Unlock()
	result := `{"id":"1","value":"the-new-token"}`
	if strings.HasSuffix(r.URL.Path, "/permission_groups") {
		result = `[{"id":"aa","name":"Workers Scripts Write"},{"id":"bb","name":"Workers Scripts Read"},{"id":"cc","name":"Logs Write"}]`
	}
	fmt.Fprintf(w, `{"success":true,"errors":[],"messages":[],"result":%s}`, result)
}

// forget clears what was asked.
func (a *setupAPI) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = nil
}

// asked is what was asked since.
func (a *setupAPI) asked() []setupCall {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.calls)
}

// script runs one of them and returns what it printed.
func (a *setupAPI) script(t *testing.T, name string, env ...string) (stdout, stderr string, code int) {
	t.Helper()
	for _, tool := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	s := httptest.NewServer(a)
	defer s.Close()
	a.forget()
	c := exec.Command("bash", filepath.Join(top, "deploy/cloudflare", name))
	c.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "CLOUDFLARE_API_BASE_URL=" + s.URL, "CLOUDFLARE_ACCOUNT_ID=acc", "SETUP_TOKEN=setup-secret",
		"SNAPFLAME_PUBLIC_URL=https://snapflame.example.com/", "SNAPFLAME_INGEST_TOKEN=s3cret&x",
	}, env...)
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

func TestTokenScript(t *testing.T) {
	var a setupAPI
	out, errs, code := a.script(t, "token.sh")
	if code != 0 || out != "the-new-token\n" || len(a.asked()) != 2 {
		t.Fatalf("exit code %d, printed %q, %d calls: %s", code, out, len(a.asked()), errs)
	}
	got, _ := json.Marshal(a.asked()[1].body)
	want := `{"name":"snapflame","policies":[{"effect":"allow","permission_groups":[{"id":"bb"}],"resources":{"com.cloudflare.api.account.acc":"*"}}]}`
	if a.asked()[1].at != "POST /accounts/acc/tokens" || string(got) != want {
		t.Errorf("%s %s\nwant %s", a.asked()[1].at, got, want)
	}
}

// The scripts point Cloudflare at doors that are there and that its requests open.
func TestIngestScripts(t *testing.T) {
	w := newWorld(t).serve()
	var a setupAPI
	ask := func(address, header, value, body string) int {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "https" || u.Host != "snapflame.example.com" {
			t.Errorf("the address is %q", address)
			return 0
		}
		r, _ := http.NewRequest(http.MethodPost, "http://"+w.http+u.Path, strings.NewReader(body))
		r.Header.Set(header, strings.Replace(value, "s3cret&x", "ingest-secret-token", 1))
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}

	if _, errs, code := a.script(t, "logpush.sh"); code != 0 || len(a.asked()) != 1 || a.asked()[0].at != "POST /accounts/acc/logpush/jobs" {
		t.Fatalf("exit code %d, %v: %s", code, a.asked(), errs)
	}
	dest, _ := a.asked()[0].body["destination_conf"].(string)
	u, err := url.Parse(dest)
	if err != nil {
		t.Fatal(err)
	}
	if auth := u.Query().Get("header_Authorization"); auth != "Bearer s3cret&x" || a.asked()[0].body["dataset"] != "workers_trace_events" {
		t.Errorf("destination %q sends %q", dest, auth)
	}
	// Logpush sends a test before it takes the job.
	if got := ask(dest, "Authorization", u.Query().Get("header_Authorization"), `{"content":"tests"}`); got != http.StatusOK {
		t.Errorf("the test of Logpush got %d", got)
	}

	if _, errs, code := a.script(t, "otlp.sh"); code != 0 || len(a.asked()) != 2 {
		t.Fatalf("exit code %d, %d calls: %s", code, len(a.asked()), errs)
	}
	for i, signal := range []string{"logs", "traces"} {
		conf, _ := a.asked()[i].body["configuration"].(map[string]any)
		headers, _ := conf["headers"].(map[string]any)
		address, _ := conf["url"].(string)
		auth, _ := headers["Authorization"].(string)
		if a.asked()[i].at != "POST /accounts/acc/workers/observability/destinations" || conf["logpushDataset"] != "opentelemetry-"+signal || auth != "Bearer s3cret&x" {
			t.Errorf("%s: %v", signal, a.asked()[i])
		}
		if got := ask(address, "Authorization", auth, ""); got != http.StatusOK { // the preflight
			t.Errorf("the preflight of %s got %d", signal, got)
		}
	}

	if _, errs, code := a.script(t, "issues-webhook.sh"); code != 0 || len(a.asked()) != 1 || a.asked()[0].at != "POST /accounts/acc/alerting/v3/destinations/webhooks" {
		t.Fatalf("exit code %d, %v: %s", code, a.asked(), errs)
	}
	address, _ := a.asked()[0].body["url"].(string)
	secret, _ := a.asked()[0].body["secret"].(string)
	hook := fmt.Sprintf(`{"name":"x","text":"Durable Object is overloaded. Too many requests queued.","data":{},"ts":%d,"alert_type":"workers_issue"}`, time.Now().Unix())
	if got := ask(address, "cf-webhook-auth", secret, hook); got != http.StatusAccepted {
		t.Errorf("the webhook got %d", got)
	}
}

func TestSetupScriptsSayWhatIsWrong(t *testing.T) {
	var a setupAPI
	for _, tc := range []struct {
		name string
		env  string
		want string
	}{
		{"token.sh", "SETUP_TOKEN=wrong", "token.sh: GET /accounts/acc/tokens/permission_groups: Authentication error (10000)"},
		{"logpush.sh", "SNAPFLAME_INGEST_TOKEN=", "logpush.sh: set SNAPFLAME_INGEST_TOKEN"},
		{"otlp.sh", "CLOUDFLARE_API_BASE_URL=http://127.0.0.1:1", "otlp.sh: http://127.0.0.1:1 does not answer"},
	} {
		out, errs, code := a.script(t, tc.name, tc.env)
		lines := strings.Split(strings.TrimSpace(errs), "\n")
		if code == 0 || out != "" || !slices.Contains(lines, tc.want) {
			t.Errorf("%s %s: exit code %d, says %q, want %q", tc.name, tc.env, code, errs, tc.want)
		}
		if strings.Contains(errs, "s3cret") || strings.Contains(errs, "setup-secret") {
			t.Errorf("%s prints a secret: %s", tc.name, errs)
		}
	}
}
