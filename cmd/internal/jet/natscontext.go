package jet

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// natsContext is the part of a NATS context file that a connection needs, as
// the nats tool writes it (~/.config/nats/context/<name>.json).
type natsContext struct {
	URL      string `json:"url"`
	Token    string `json:"token"`
	User     string `json:"user"`
	Password string `json:"password"`
	Creds    string `json:"creds"`
	NKey     string `json:"nkey"`
	Cert     string `json:"cert"`
	Key      string `json:"key"`
	CA       string `json:"ca"`
	NSC      string `json:"nsc"`
}

func readContext(name string) (natsContext, error) {
	var c natsContext
	path := name
	if !strings.ContainsAny(name, `/\`) {
		dir := os.Getenv("XDG_CONFIG_HOME")
		if dir == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return c, fmt.Errorf("NATS context %s: %w", name, err)
			}
			dir = filepath.Join(home, ".config")
		}
		path = filepath.Join(dir, "nats", "context", name+".json")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("NATS context %s: %w: `nats context ls` shows those that exist", name, err)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		// The decoder's text may quote the file, which holds secrets.
		return c, fmt.Errorf("NATS context %s: %s is not a context file of the nats tool", name, path)
	}
	if c.NSC != "" {
		return c, errors.New("NATS context " + name + " takes its credentials from nsc: export them with `nsc generate creds` and set NATS_CREDS")
	}
	return c, nil
}

// over fills what o leaves open from the context.
func (c natsContext) over(o *Options) {
	def := func(s *string, v string) {
		if *s == "" {
			*s = expand(v)
		}
	}
	def(&o.URL, c.URL)
	if o.Creds == "" && o.NKey == "" && o.Token == "" {
		o.Creds, o.NKey, o.Token = expand(c.Creds), expand(c.NKey), c.Token
	}
	if o.Cert == "" && o.Key == "" {
		o.Cert, o.Key = expand(c.Cert), expand(c.Key)
	}
	def(&o.CA, c.CA)
}

func expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}
