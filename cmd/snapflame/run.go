package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snapflame/snapflame/cmd/internal/conf"
)

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// shell is what a command has of its surroundings. Tests give their own.
type shell struct {
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	getenv  func(string) string
	environ []string // names of variables, to spot misspelled ones
	config  string   // --config
}

// usageError is a mistake on the command line: exit code 2.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return usageError{fmt.Sprintf(format, args...)}
}

// run is the whole program: main and the tests call it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	sh := &shell{stdin: stdin, stdout: stdout, stderr: stderr, getenv: getenv, environ: os.Environ()}
	root := rootCommand(sh) //nolint:contextcheck // cobra hands ctx to the command that runs
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	fmt.Fprintf(stderr, "snapflame: %s\n", oneLine(err.Error()))
	return exitCode(err)
}

func exitCode(err error) int {
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[conf.Problems](err); ok {
		return exitUsage
	}
	return exitFailed
}

func rootCommand(sh *shell) *cobra.Command {
	root := &cobra.Command{
		Use:   "snapflame",
		Short: "Profile Cloudflare Workers the moment they are in trouble",
		Long: "snapflame turns the error events of Cloudflare Workers and Durable Objects into a\n" +
			"profile of the very isolate, and the profile into a Slack thread with a flamegraph.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			if err := cmd.Help(); err != nil {
				return err
			}
			return usagef("name a command; snapflame demo shows the whole thing")
		},
	}
	root.SetIn(sh.stdin)
	root.SetOut(sh.stdout)
	root.SetErr(sh.stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SuggestionsMinimumDistance = 2
	root.PersistentFlags().StringVar(&sh.config, "config", "", "configuration `FILE` (default ./snapflame.yaml when present)")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%s; see %s --help", flagMistake(err), cmd.CommandPath())
	})
	root.AddCommand(commands(sh)...)
	return root
}

// unknownCommand names the nearest command, if any.
func unknownCommand(cmd *cobra.Command, name string) error {
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		return usagef("no command %q; did you mean %s %s?", name, cmd.CommandPath(), near[0])
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return usagef("no command %q; there are %s", name, strings.Join(names, ", "))
}

var wrongValue = regexp.MustCompile(`^invalid argument (".*") for "(?:-., )?(--\S+)" flag: (?:time: |strconv\.\w+: parsing ".*": )?(.*)$`)

// flagMistake words pflag's errors as the rest of the program does.
func flagMistake(err error) string {
	text := oneLine(err.Error())
	if m := wrongValue.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("%s %s: %s", m[2], m[1], m[3])
	}
	return strings.Replace(text, "unknown shorthand flag", "unknown flag", 1)
}

// exactly checks the number of arguments; names are for the message.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usagef("%s is missing; usage: %s", names[len(args)], cmd.UseLine())
		}
		return atMost(names...)(cmd, args)
	}
}

func atMost(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > len(names) {
			return usagef("%q is one argument too many; usage: %s", args[len(names)], cmd.UseLine())
		}
		return nil
	}
}

// load reads the configuration. Its warnings are for config check and for the
// log of serve: a failing command prints one line.
func (sh *shell) load() (*conf.Config, error) {
	return conf.Load(conf.Source{File: sh.config, Getenv: sh.getenv, Environ: sh.environ})
}

// readInput reads a file, or standard input for "-", up to limit bytes.
func (sh *shell) readInput(name string, limit int64) ([]byte, error) {
	in, err := sh.open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, fileError(name, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: larger than %d MiB; is it the right file?", inputName(name), limit>>20)
	}
	return data, nil
}

// open opens a file, or standard input for "-".
func (sh *shell) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(sh.stdin), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fileError(name, err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close()
		return nil, fmt.Errorf("%s: is a directory; name a file in it", name)
	}
	return f, nil
}

func inputName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// fileError names the file once and says what to do about the usual causes.
func fileError(name string, err error) error {
	pe, ok := errors.AsType[*os.PathError](err)
	if !ok {
		return fmt.Errorf("%s: %w", inputName(name), err)
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s: no such file; check the path", name)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%s: not allowed; check its permissions", name)
	default:
		return fmt.Errorf("%s: %w", name, pe.Err)
	}
}

// writeFile writes a result to a file, or to standard output for "-".
func (sh *shell) writeFile(name string, data []byte) error {
	if name == "-" {
		_, err := sh.stdout.Write(data)
		return err
	}
	if err := os.WriteFile(name, data, 0o644); err != nil { //nolint:gosec // a result the user asked for, not a secret
		return fileError(name, err)
	}
	return nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(printable(s)), " ") }
