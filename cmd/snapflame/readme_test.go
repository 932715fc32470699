package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/snapflame/snapflame/cmd/internal/conf"
)

const top = "../.."

// prose are the documents for people whose commands and links are held here.
func prose(t *testing.T) map[string]string {
	t.Helper()
	names := []string{filepath.Join(top, "README.md")}
	more, err := filepath.Glob(filepath.Join(top, "deploy", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	nested, err := filepath.Glob(filepath.Join(top, "deploy", "*", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string]string{}
	for _, name := range slices.Concat(names, more, nested) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		docs[name] = string(text)
	}
	return docs
}

func TestReadmeIsShort(t *testing.T) {
	text := prose(t)[filepath.Join(top, "README.md")]
	if n := strings.Count(text, "\n"); n > 150 {
		t.Errorf("README.md has %d lines, at most 150", n)
	}
	if !strings.Contains(text, "```sh\ngo run ./cmd/snapflame demo\ngo test ./...\n```") {
		t.Error("the two commands do not stand together in README.md")
	}
	if i, j := strings.Index(text, "```sh"), strings.Index(text, "go run ./cmd/snapflame demo"); j > i+10 {
		t.Error("the first command of README.md is not the demo")
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Links to the repository must lead somewhere.
func TestLinks(t *testing.T) {
	for name, text := range prose(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := filepath.Join(filepath.Dir(name), target)
			if target == "" {
				path = name
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s, which is not there", name, m[1])
				continue
			}
			if anchor != "" && !hasAnchor(t, path, anchor) {
				t.Errorf("%s links to %s, and there is no such heading", name, m[1])
			}
		}
	}
}

func hasAnchor(t *testing.T, path, anchor string) bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		head, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
				return r
			}
			return -1
		}, strings.ToLower(strings.TrimSpace(head)))
		if slug == anchor {
			return true
		}
	}
	return false
}

// Every command of the program stands in the table, and no other.
func TestReadmeListsEveryCommand(t *testing.T) {
	text := prose(t)[filepath.Join(top, "README.md")]
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `snapflame (\\w+)` \\|").FindAllStringSubmatch(text, -1) {
		listed[m[1]] = true
	}
	for _, c := range testRoot().Commands() {
		if c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		if !listed[c.Name()] {
			t.Errorf("README.md does not list %s", c.Name())
		}
		delete(listed, c.Name())
		if c.Short == "" {
			t.Errorf("%s has no short help", c.Name())
		}
	}
	for name := range listed {
		t.Errorf("README.md lists %s, which is no command", name)
	}
}

func testRoot() *cobra.Command {
	return rootCommand(&shell{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, getenv: func(string) string { return "" }})
}

// Every line of a shell block is a command that parses, an export of a variable
// that is read, or one of a few others.
func TestCommandsInProse(t *testing.T) {
	seen := 0
	for name, text := range prose(t) {
		for _, line := range shellLines(text) {
			seen++
			if err := checkLine(line); err != "" {
				t.Errorf("%s: %s: %s", name, line, err)
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d lines of shell found", seen)
	}
}

func shellLines(text string) []string {
	var out []string
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			in = line == "```sh"
		case in && line != "" && !strings.HasPrefix(line, "#"):
			out = append(out, line)
		}
	}
	return out
}

func checkLine(line string) string {
	words := strings.Fields(line)
	switch {
	case words[0] == "export":
		return checkVariable(words[1])
	case words[0] == "snapflame":
		return checkCommand(words[1:])
	case strings.HasPrefix(line, "go run ./cmd/snapflame "):
		return checkCommand(words[3:])
	case words[0] == "go" && len(words) > 2:
		return checkGo(words)
	}
	// Foreign tools (docker, kubectl, npx…) are checked where they are used.
	return ""
}

func checkGo(words []string) string {
	arg := words[2]
	if module, _, _ := strings.Cut(arg, "/snapflame/"); strings.Contains(module, "@") {
		return "" // a tool of others, at its version
	}
	if pkg, ok := strings.CutPrefix(strings.Split(arg, "@")[0], "github.com/snapflame/snapflame/"); ok {
		arg = "./" + pkg
	}
	arg = strings.TrimSuffix(arg, "...")
	if _, err := os.Stat(filepath.Join(top, arg)); err != nil {
		return arg + " is not there"
	}
	return ""
}

func checkVariable(assignment string) string {
	name, _, _ := strings.Cut(assignment, "=")
	for _, f := range conf.Fields() {
		for _, env := range f.Env {
			if name == env || f.File && name == env+"_FILE" {
				return ""
			}
		}
	}
	return name + " is not read by anything"
}

// checkCommand finds the command, parses its flags and checks the number of
// arguments, as the program would, without running it.
func checkCommand(args []string) string {
	for i, a := range args {
		if strings.HasPrefix(a, "#") || a == "|" || a == "&&" || a == ">" {
			args = args[:i]
			break
		}
	}
	cmd, rest, err := testRoot().Find(args)
	switch {
	case err != nil:
		return err.Error()
	case !cmd.HasParent():
		return "no such command"
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err.Error()
	}
	if cmd.Args == nil {
		return ""
	}
	if err := cmd.Args(cmd, cmd.Flags().Args()); err != nil {
		return err.Error()
	}
	return ""
}
