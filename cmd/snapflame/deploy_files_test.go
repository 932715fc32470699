package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/snapflame/snapflame/cmd/internal/conf"
)

// deployed are the files below deploy that name things of the program: not the
// Tail Worker, which has variables of its own, nor the tools' module files.
func deployed(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := filepath.Join(top, "deploy")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if rel == "tailworker" || rel == "compose/secrets" {
				return filepath.SkipDir
			}
			return nil
		}
		switch filepath.Ext(path) {
		case ".mod", ".sum", ".png", ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// ownVariables are read by the files of deploy themselves and not by the program.
var ownVariables = map[string]string{
	"SNAPFLAME_IMAGE":     "compose: the image's name",
	"SNAPFLAME_NATS_USER": "nats: the public nkey of the program",
	"EVENTS_NATS_USER":    "nats: the public nkey of what publishes events",
	"NATS_SERVER_NAME":    "nats: the server's name",
	"SNAPFLAME_DEAD":      "the stream of dead letters",
}

var variableName = regexp.MustCompile(`\b(?:SNAPFLAME|CLOUDFLARE|SLACK|NATS|EVENTS_NATS)_[A-Z0-9_]*[A-Z0-9]\b`)

func TestDeployVariablesAreRead(t *testing.T) {
	seen := map[string]bool{}
	for name, text := range deployed(t) {
		for _, v := range variableName.FindAllString(text, -1) {
			seen[v] = true
			if ownVariables[v] == "" && checkVariable(v) != "" {
				t.Errorf("deploy/%s names %s, which nothing reads", name, v)
			}
		}
	}
	for v, what := range ownVariables {
		if !seen[v] {
			t.Errorf("%s (%s) is not used any more", v, what)
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d variables found", len(seen))
	}
}

// documents decodes each document of a YAML file.
func documents(t *testing.T, name, text string) []map[string]any {
	t.Helper()
	var out []map[string]any
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var v map[string]any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("deploy/%s: %v", name, err)
		}
		if v != nil {
			out = append(out, v)
		}
	}
}

func TestDeployFilesParse(t *testing.T) {
	n := 0
	for name, text := range deployed(t) {
		switch filepath.Ext(name) {
		case ".yaml":
			n++
			if len(documents(t, name, text)) == 0 {
				t.Errorf("deploy/%s is empty", name)
			}
		case ".json":
			n++
			var v any
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				t.Errorf("deploy/%s: %v", name, err)
			}
		case ".sh":
			n++
			if out, err := exec.Command("bash", "-n", filepath.Join(top, "deploy", name)).CombinedOutput(); err != nil {
				t.Errorf("deploy/%s: %s", name, out)
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d files were read", n)
	}
	if path, err := exec.LookPath("shellcheck"); err == nil {
		scripts, _ := filepath.Glob(filepath.Join(top, "deploy/*/*.sh"))
		scripts = append(scripts, filepath.Join(top, "deploy/release.sh"))
		for i, s := range scripts {
			scripts[i], _ = filepath.Abs(s)
		}
		c := exec.Command(path, append([]string{"-x"}, scripts...)...)
		c.Dir = top
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("shellcheck: %v\n%s", err, out)
		}
	}
}

// The configuration files that are deployed are complete beside their secrets.
func TestDeployedConfigurationIsComplete(t *testing.T) {
	for _, name := range []string{"kubernetes/base/snapflame.yaml", "systemd/snapflame.yaml"} {
		env := map[string]string{"CLOUDFLARE_API_TOKEN": "x", "SLACK_BOT_TOKEN": "xoxb-x", "SLACK_APP_TOKEN": "xapp-x"}
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"config", "check", "--config", filepath.Join(top, "deploy", name)}, strings.NewReader(""), &stdout, &stderr,
			func(k string) string { return env[k] })
		if code != exitDone || strings.Contains(stdout.String(), "without") {
			t.Errorf("deploy/%s: exit code %d\n%s%s", name, code, stdout.String(), stderr.String())
		}
	}
}

// grace is how long a stop may take.
func grace(t *testing.T) time.Duration {
	t.Helper()
	for _, f := range conf.Fields() {
		if f.Key == "shutdown_grace" {
			d, err := time.ParseDuration(f.Default)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
	}
	t.Fatal("shutdown_grace is gone")
	return 0
}

// unit is a systemd unit or drop-in: every value of each key.
func unit(text string) map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if key, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			out[key] = append(out[key], value)
		}
	}
	return out
}

func TestSystemd(t *testing.T) {
	files := deployed(t)
	u := unit(files["systemd/snapflame.service"])
	if bad := checkCommand(strings.Fields(u["ExecStart"][0])[1:]); bad != "" {
		t.Errorf("ExecStart: %s", bad)
	}
	if d, err := time.ParseDuration(u["TimeoutStopSec"][0]); err != nil || d <= grace(t) {
		t.Errorf("TimeoutStopSec is %v, shutdown_grace %v: running captures would be killed", u["TimeoutStopSec"], grace(t))
	}
	if got := u["RestartPreventExitStatus"]; !slices.Equal(got, []string{"2"}) || exitUsage != 2 {
		t.Errorf("RestartPreventExitStatus is %v, wrong configuration exits %d", got, exitUsage)
	}
	for key, want := range map[string]string{
		"DynamicUser": "yes", "ProtectSystem": "strict", "NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "PrivateDevices": "yes",
		"MemoryDenyWriteExecute": "yes", "RestrictNamespaces": "yes", "StateDirectory": "snapflame", "UMask": "0077",
	} {
		if got := u[key]; !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %v, want %s", key, got, want)
		}
	}
	// The store must lie in what ProtectSystem=strict leaves writable.
	if !slices.ContainsFunc(u["Environment"], func(s string) bool {
		return strings.HasPrefix(s, "SNAPFLAME_NATS_STORE_DIR=/var/lib/snapflame/")
	}) {
		t.Error("the store is not in the state directory")
	}
	for name, text := range files {
		if strings.HasPrefix(name, "systemd/") && (strings.HasSuffix(name, ".service") || strings.HasSuffix(name, ".conf")) {
			credentials(t, name, unit(text), unit(files["systemd/snapflame.service"]))
		}
	}
	if path, err := exec.LookPath("systemd-analyze"); err == nil {
		out, err := exec.Command(path, "security", "--offline=true", "--threshold=20", filepath.Join(top, "deploy/systemd/snapflame.service")).CombinedOutput()
		if err != nil && !strings.Contains(string(out), "unrecognized option") {
			t.Errorf("the unit is more exposed than 2.0: %s", out[max(0, len(out)-200):])
		}
	}
}

// credentials: each secret that is loaded is read, and each that is read is loaded.
func credentials(t *testing.T, name string, u, base map[string][]string) {
	t.Helper()
	loaded := map[string]bool{}
	for _, l := range u["LoadCredential"] {
		id, path, _ := strings.Cut(l, ":")
		if l != "" && path != "/etc/snapflame/secrets/"+id {
			t.Errorf("deploy/%s: %s is loaded from %s", name, id, path)
		}
		loaded[id] = l != ""
	}
	environment := u["Environment"]
	if slices.Contains(u["LoadCredential"], "") { // it replaces those of the unit
		environment = append(slices.Clone(base["Environment"]), environment...)
	}
	read := map[string]bool{}
	for _, e := range environment {
		variable, value, _ := strings.Cut(e, "=")
		id, ok := strings.CutPrefix(value, "%d/")
		if !ok || slices.Contains(u["UnsetEnvironment"], variable) {
			continue
		}
		read[id] = true
		if !loaded[id] {
			t.Errorf("deploy/%s: %s reads %s, which is not loaded", name, variable, id)
		}
	}
	for id, is := range loaded {
		if is && !read[id] {
			t.Errorf("deploy/%s: %s is loaded and nothing reads it", name, id)
		}
	}
}

// Links and paths in the documents lead somewhere (links: TestLinks), and the
// tests that the threat model names exist.
func TestThreatModelNamesTestsThatExist(t *testing.T) {
	text := deployed(t)["SECURITY.md"]
	known := map[string]bool{}
	fn := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		for _, m := range fn.FindAllStringSubmatch(string(code), -1) {
			known[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(text, -1)
	if len(named) < 20 {
		t.Errorf("SECURITY.md names only %d tests", len(named))
	}
	for _, m := range named {
		if !known[m[1]] {
			t.Errorf("SECURITY.md names %s, and there is no such test", m[1])
		}
	}
}
