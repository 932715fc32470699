package conf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// DefaultFile is read when no file is named, if it is there.
const DefaultFile = "./snapflame.yaml"

// maxFile bounds the configuration file and every secret file, in bytes.
const maxFile = 1 << 20

// Source is where the configuration comes from.
type Source struct {
	// File is the file that --config names; empty: DefaultFile when present.
	File string
	// Getenv gives a variable, or "" when it is not set. An empty variable
	// counts as not set, as compose files write optional ones. nil: none.
	Getenv func(string) string
	// Environ lists the environment as os.Environ does, to warn of misspelled
	// SNAPFLAME_ variables; may be nil.
	Environ []string
}

// Load merges defaults, file and environment and checks the result. The error
// is Problems, or nil; the Config is filled as far as it could be read.
func Load(src Source) (*Config, error) {
	c := Defaults()
	var bad Problems
	data, name, err := readFile(src.File)
	if err != nil {
		return c, Problems{{Where: name, What: err.Error()}}
	}
	if data != nil {
		c.path = name
		bad = append(bad, readYAML(c, name, data, c.sources)...)
	}
	if src.Getenv != nil {
		bad = append(bad, c.readEnv(src.Getenv)...)
	}
	c.Warnings = append(c.Warnings, misspelled(src.Environ)...)
	c.complete()
	bad = append(bad, c.check(failedKeys(bad))...)
	if len(bad) > 0 {
		return c, bad.inOrder()
	}
	return c, nil
}

// Defaults is the configuration of an empty file and environment.
func Defaults() *Config {
	c := &Config{sources: map[string]string{}}
	for _, f := range fieldsOf(c) {
		if f.Default != "" {
			if err := setText(f.value, f.Default); err != nil {
				// The defaults are constants; a test reads each of them.
				c.Warnings = append(c.Warnings, f.Key+": "+err.Error())
			}
		}
	}
	c.complete()
	return c
}

// File is the file that was read, or empty.
func (c *Config) File() string { return c.path }

// readFile returns nil data when the default file is absent.
func readFile(named string) (data []byte, name string, err error) {
	name = named
	if name == "" {
		name = DefaultFile
	}
	data, err = readBounded(name)
	switch {
	case err == nil && len(bytes.TrimSpace(data)) == 0:
		return nil, name, nil
	case err == nil:
		return data, name, nil
	case errors.Is(err, fs.ErrNotExist) && named == "":
		return nil, name, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, name, errors.New("no such file; give --config an existing one or leave it out")
	}
	return nil, name, err
}

func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, plainPathError(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, plainPathError(err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("larger than %s; is it the right file?", formatBytes(maxFile))
	}
	return data, nil
}

// plainPathError drops the path, which the message names already.
func plainPathError(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("cannot be read: %w", pe.Err)
	}
	return err
}

// readEnv sets what the environment names. Our own names win over the
// ecosystem's.
func (c *Config) readEnv(getenv func(string) string) Problems {
	var bad Problems
	for _, f := range fieldsOf(c) {
		for _, name := range f.Env {
			v, err := variable(getenv, name, f)
			if err != nil {
				bad = append(bad, err...)
				break
			}
			if v.text == "" {
				continue
			}
			c.sources[f.Key] = v.from
			if f.List {
				bad = append(bad, readList(f.value, f.Key, name, v.text)...)
			} else if err := setText(f.value, v.text); err != nil {
				bad = append(bad, Problem{Where: name, Key: f.Key, What: err.Error()})
			}
			break
		}
	}
	return bad
}

type envValue struct{ text, from string }

// variable reads one variable, or for what may be secret the file that name_FILE names.
func variable(getenv func(string) string, name string, f Field) (envValue, Problems) {
	v := envValue{getenv(name), name}
	if !f.File {
		return v, nil
	}
	file := getenv(name + "_FILE")
	if file == "" {
		return v, nil
	}
	if v.text != "" {
		return v, Problems{{Where: name, Key: f.Key, What: "is set both here and by " + name + "_FILE; unset one"}}
	}
	data, err := readBounded(file)
	if err == nil && len(bytes.TrimSpace(data)) == 0 {
		err = errEmptyFile
	}
	if err != nil {
		return v, Problems{{Where: name + "_FILE", Key: f.Key, What: fmt.Sprintf("%s: %v", file, err)}}
	}
	return envValue{string(data), name + "_FILE"}, nil
}

// misspelled warns of SNAPFLAME_ variables that are close to a key's. Others
// are left alone: Kubernetes sets SNAPFLAME_PORT and the like for a service of
// that name.
func misspelled(environ []string) []string {
	var known []string
	for _, f := range Fields() {
		known = append(known, f.Env[0])
		if f.File {
			known = append(known, f.Env[0]+"_FILE")
		}
	}
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "SNAPFLAME_") || slices.Contains(known, name) {
			continue
		}
		best := nearest(name, known)
		if best == "" || strings.HasPrefix(best, name) {
			continue
		}
		out = append(out, fmt.Sprintf("%s is not read; did you mean %s?", name, best))
	}
	return out
}

// complete fills what follows from other values.
func (c *Config) complete() {
	c.PublicURL = strings.TrimRight(c.PublicURL, "/")
	c.Cloudflare.BaseURL = strings.TrimRight(c.Cloudflare.BaseURL, "/")
	if c.Slack.APIURL != "" && !strings.HasSuffix(c.Slack.APIURL, "/") {
		c.Slack.APIURL += "/" // slack-go appends method names to it
	}
}

// SlackMode is slack.mode, or what follows from the app token.
func (c *Config) SlackMode() string {
	switch {
	case c.Slack.Mode != "":
		return c.Slack.Mode
	case c.Slack.AppToken.IsSet():
		return "socket"
	default:
		return "http"
	}
}

func failedKeys(bad Problems) map[string]bool {
	keys := map[string]bool{}
	for _, p := range bad {
		keys[p.Key] = true
	}
	return keys
}
