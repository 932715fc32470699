package main

import (
	"net"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// workload is what a Deployment and a StatefulSet have in common.
type workload struct {
	Kind string
	Spec struct {
		Replicas int
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Templates []struct{ Metadata struct{ Name string } } `yaml:"volumeClaimTemplates"`
		Template  struct {
			Spec struct {
				Automount       *bool `yaml:"automountServiceAccountToken"`
				Grace           int   `yaml:"terminationGracePeriodSeconds"`
				SecurityContext struct {
					RunAsNonRoot bool                  `yaml:"runAsNonRoot"`
					RunAsUser    int                   `yaml:"runAsUser"`
					Seccomp      struct{ Type string } `yaml:"seccompProfile"`
				} `yaml:"securityContext"`
				Containers []container
				Volumes    []struct {
					Name   string
					Secret *struct{ SecretName string } `yaml:"secret"`
				}
			}
		}
	}
}

type container struct {
	Args []string
	Env  []struct {
		Name  string
		Value string
		From  any `yaml:"valueFrom"`
	}
	Ports []struct {
		Name string
		Port int `yaml:"containerPort"`
	}
	StartupProbe    probe `yaml:"startupProbe"`
	LivenessProbe   probe `yaml:"livenessProbe"`
	ReadinessProbe  probe `yaml:"readinessProbe"`
	SecurityContext struct {
		Escalation *bool                   `yaml:"allowPrivilegeEscalation"`
		ReadOnly   bool                    `yaml:"readOnlyRootFilesystem"`
		Capability struct{ Drop []string } `yaml:"capabilities"`
	} `yaml:"securityContext"`
	Mounts []struct {
		Name string
		Path string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type probe struct {
	HTTP struct{ Path, Port string } `yaml:"httpGet"`
}

func (c container) env(name string) string {
	for _, e := range c.Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

func TestKubernetes(t *testing.T) {
	files := deployed(t)
	for name, wantKind := range map[string]string{"kubernetes/cluster/deployment.yaml": "Deployment", "kubernetes/embedded/statefulset.yaml": "StatefulSet"} {
		t.Run(wantKind, func(t *testing.T) {
			var w workload
			if err := yaml.Unmarshal([]byte(files[name]), &w); err != nil {
				t.Fatal(err)
			}
			if w.Kind != wantKind || len(w.Spec.Template.Spec.Containers) != 1 {
				t.Fatalf("%s with %d containers", w.Kind, len(w.Spec.Template.Spec.Containers))
			}
			checkPod(t, w)
			checkContainer(t, w)
			c := w.Spec.Template.Spec.Containers[0]
			switch external := c.env("NATS_URL") != ""; {
			case external && (w.Spec.Replicas < 2 || c.env("SNAPFLAME_NATS_REPLICAS") != "3"):
				t.Errorf("%d replicas with %q copies on an external NATS", w.Spec.Replicas, c.env("SNAPFLAME_NATS_REPLICAS"))
			case !external && (w.Spec.Replicas != 1 || c.env("SNAPFLAME_NATS_STORE_DIR") == ""):
				t.Errorf("%d replicas of an embedded NATS, store in %q", w.Spec.Replicas, c.env("SNAPFLAME_NATS_STORE_DIR"))
			}
		})
	}
}

func checkPod(t *testing.T, w workload) {
	t.Helper()
	s := w.Spec.Template.Spec
	if s.Automount == nil || *s.Automount {
		t.Error("the service account's token is mounted")
	}
	if d := time.Duration(s.Grace) * time.Second; d <= grace(t) {
		t.Errorf("killed after %v, shutdown_grace is %v", d, grace(t))
	}
	if sc := s.SecurityContext; !sc.RunAsNonRoot || sc.RunAsUser == 0 || sc.Seccomp.Type != "RuntimeDefault" {
		t.Errorf("security context %+v", sc)
	}
	if w.Spec.Selector.MatchLabels["app.kubernetes.io/name"] != "snapflame" {
		t.Errorf("selects %v", w.Spec.Selector.MatchLabels)
	}
}

func checkContainer(t *testing.T, w workload) {
	t.Helper()
	c := w.Spec.Template.Spec.Containers[0]
	if bad := checkCommand(c.Args); bad != "" {
		t.Errorf("args %v: %s", c.Args, bad)
	}
	if sc := c.SecurityContext; sc.Escalation == nil || *sc.Escalation || !sc.ReadOnly || !slices.Equal(sc.Capability.Drop, []string{"ALL"}) {
		t.Errorf("security context %+v", sc)
	}
	_, port, err := net.SplitHostPort(c.env("SNAPFLAME_LISTEN"))
	if err != nil || len(c.Ports) != 1 || port != "8080" || c.Ports[0].Port != 8080 || c.Ports[0].Name != "http" {
		t.Errorf("listens on %s, ports %+v", c.env("SNAPFLAME_LISTEN"), c.Ports)
	}
	for what, p := range map[string]probe{"/healthz": c.StartupProbe, "/healthz (liveness)": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		if want, _, _ := strings.Cut(what, " "); p.HTTP.Path != want || p.HTTP.Port != "http" {
			t.Errorf("probe %s: %+v", what, p)
		}
	}
	volumes := map[string]bool{}
	for _, v := range w.Spec.Template.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, v := range w.Spec.Templates {
		volumes[v.Metadata.Name] = true
	}
	secrets := ""
	for _, m := range c.Mounts {
		if !volumes[m.Name] {
			t.Errorf("volume %s is not there", m.Name)
		}
		delete(volumes, m.Name)
		if m.Name == "secrets" {
			secrets = m.Path
		}
	}
	if len(volumes) > 0 {
		t.Errorf("volumes that nothing mounts: %v", volumes)
	}
	for _, e := range c.Env {
		secret := strings.HasSuffix(e.Name, "_FILE") || strings.HasSuffix(e.Name, "_NKEY")
		if secret && path.Dir(e.Value) != secrets || e.From != nil {
			t.Errorf("%s does not come from a file in %s", e.Name, secrets)
		}
		if !secret && e.Name != "GOMEMLIMIT" && checkVariable(e.Name) != "" {
			t.Error(checkVariable(e.Name))
		}
	}
}

// Every file of a kustomization is there, and every file is in one. Where
// kubectl is installed, it builds them.
func TestKustomizations(t *testing.T) {
	files := deployed(t)
	used := map[string]bool{}
	for name, text := range files {
		if path.Base(name) != "kustomization.yaml" {
			continue
		}
		used[name] = true
		var k struct {
			Resources []string
			Config    []struct{ Files []string } `yaml:"configMapGenerator"`
		}
		if err := yaml.Unmarshal([]byte(text), &k); err != nil {
			t.Fatal(err)
		}
		for _, c := range k.Config {
			k.Resources = append(k.Resources, c.Files...)
		}
		for _, r := range k.Resources {
			at := path.Join(path.Dir(name), r)
			if _, folder := files[path.Join(at, "kustomization.yaml")]; files[at] == "" && !folder {
				t.Errorf("deploy/%s names %s, which is not there", name, r)
			}
			used[at] = true
		}
	}
	for name := range files {
		if strings.HasPrefix(name, "kubernetes/") && !used[name] {
			t.Errorf("deploy/%s is in no kustomization", name)
		}
	}
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		return
	}
	for _, k := range []string{"cluster", "embedded", "monitoring"} {
		if out, err := exec.Command(kubectl, "kustomize", filepath.Join(top, "deploy/kubernetes", k)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", k, err, out)
		}
	}
}

// composed is a compose file.
type composed struct {
	Services map[string]struct {
		Environment map[string]string
		Secrets     []string
		Grace       string   `yaml:"stop_grace_period"`
		ReadOnly    bool     `yaml:"read_only"`
		CapDrop     []string `yaml:"cap_drop"`
		Options     []string `yaml:"security_opt"`
		Volumes     []string
		Ports       []string
		Build       *struct{ Context, Dockerfile string }
	}
	Secrets  map[string]struct{ File string }
	Volumes  map[string]any
	Networks map[string]any
}

func TestCompose(t *testing.T) {
	files := deployed(t)
	example := files["compose/.env.example"]
	for _, name := range []string{"compose/compose.yaml", "compose/embedded.yaml"} {
		var c composed
		if err := yaml.Unmarshal([]byte(files[name]), &c); err != nil {
			t.Fatal(err)
		}
		used := map[string]bool{}
		for service, s := range c.Services {
			at := name + " " + service
			if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.Options, "no-new-privileges:true") {
				t.Errorf("%s is not locked down", at)
			}
			for _, v := range s.Volumes {
				from, _, _ := strings.Cut(v, ":")
				if _, err := filepath.Glob(from); strings.HasPrefix(from, ".") {
					if _, is := files[path.Join("compose", from, "snapflame.conf")]; err != nil || !is {
						t.Errorf("%s mounts %s", at, from)
					}
				} else if _, is := c.Volumes[from]; !is {
					t.Errorf("%s mounts the volume %s, which is not declared", at, from)
				}
			}
			if s.Build == nil {
				continue
			}
			if d, err := time.ParseDuration(s.Grace); err != nil || d <= grace(t) {
				t.Errorf("%s is killed after %s", at, s.Grace)
			}
			if s.Build.Context != "../.." || files["container/Dockerfile"] == "" || s.Build.Dockerfile != "deploy/container/Dockerfile" {
				t.Errorf("%s is built from %+v", at, s.Build)
			}
			for k, v := range s.Environment {
				if id, ok := strings.CutPrefix(v, "/run/secrets/"); ok {
					used[id] = true
					if !slices.Contains(s.Secrets, id) {
						t.Errorf("%s: %s reads the secret %s, which it is not given", at, k, id)
					}
				}
				for _, host := range regexp.MustCompile(`nats://([a-z0-9-]+):4222`).FindAllStringSubmatch(v, -1) {
					if _, is := c.Services[host[1]]; !is {
						t.Errorf("%s: %s is no service", at, host[1])
					}
				}
			}
			for _, id := range s.Secrets {
				if c.Secrets[id].File != "./secrets/"+id || !used[id] {
					t.Errorf("%s: the secret %s is not declared or not read", at, id)
				}
			}
		}
		for _, m := range regexp.MustCompile(`\$\{(\w+):\?\}`).FindAllStringSubmatch(files[name], -1) {
			if !strings.Contains(example, "\n"+m[1]+"=") {
				t.Errorf(".env.example does not name %s", m[1])
			}
		}
	}
}
