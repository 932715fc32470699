package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/capture/cloudflare"
	"github.com/snapflame/snapflame/capture/inspector"
	"github.com/snapflame/snapflame/cmd/internal/conf"
)

type captureFlags struct {
	object    string
	namespace string
	version   string
	kind      string
	duration  time.Duration
	inspector string
	out       string
}

func captureCommand(sh *shell) *cobra.Command {
	var f captureFlags
	cmd := &cobra.Command{
		Use:   "capture WORKER -o FILE [flags]",
		Short: "Take one profile, from Cloudflare or a local workerd",
		Long: "capture profiles one isolate of a deployed Worker or Durable Object and writes the pprof file.\n" +
			"Without --version it takes the deployed version with most traffic. With --inspector it profiles a\n" +
			"local wrangler dev or workerd, so that a fix is proven without load on production.",
		Example: "  snapflame capture room-api --type heap --duration 20s -o heap.pb.gz\n" +
			"  snapflame capture room-api --inspector http://127.0.0.1:9229 -o local.pb.gz",
		Args: atMost("WORKER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			worker := ""
			if len(args) > 0 {
				worker = args[0]
			} else if f.inspector == "" {
				return exactly("WORKER")(cmd, args)
			}
			if err := f.check(); err != nil {
				return err
			}
			return sh.capture(cmd.Context(), worker, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.object, "object", "", "`ID` of a Durable Object, 64 hexadecimal digits")
	fl.StringVar(&f.namespace, "namespace", "", "`ID` of the object's namespace; looked up when left out")
	fl.StringVar(&f.version, "version", "", "`VERSION` id; default the deployed one with most traffic")
	fl.StringVar(&f.kind, "type", "cpu", "`TYPE` of profile: cpu or heap")
	fl.DurationVar(&f.duration, "duration", 0, "length, 1s to 50s (default capture.duration, 10s)")
	fl.StringVar(&f.inspector, "inspector", "", "`URL` of a local inspector, such as http://127.0.0.1:9229")
	fl.StringVarP(&f.out, "output", "o", "", "`FILE` to write, - is standard output")
	return cmd
}

// check refuses what the API would refuse, before anything is asked.
func (f captureFlags) check() error {
	switch {
	case f.out == "":
		return usagef("-o is missing; name the file to write, or - for standard output")
	case f.kind != string(capture.CPU) && f.kind != string(capture.Heap):
		return usagef("--type %q is neither cpu nor heap", f.kind)
	case f.duration != 0 && (f.duration < capture.MinDuration || f.duration > capture.MaxDuration):
		return usagef("--duration is %s; it must be %s to %s", f.duration, capture.MinDuration, capture.MaxDuration)
	case f.object != "" && (len(f.object) != 64 || strings.Trim(strings.ToLower(f.object), "0123456789abcdef") != ""):
		return usagef("--object %q is not an object id; it has 64 hexadecimal digits", f.object)
	case f.namespace != "" && f.object == "":
		return usagef("--namespace needs --object: a namespace alone cannot be profiled")
	case strings.EqualFold(f.version, "latest"):
		return usagef("--version latest is the newest upload, which need not run anywhere; leave it out for the deployed version")
	}
	return nil
}

func (sh *shell) capture(ctx context.Context, worker string, f captureFlags) error {
	c, err := sh.load()
	if err != nil {
		return err
	}
	r := capture.Request{Type: capture.Type(f.kind), Duration: f.duration, Target: capture.Target{
		Kind: capture.Worker, Script: worker, VersionID: f.version, ObjectID: strings.ToLower(f.object), NamespaceID: f.namespace,
	}}
	if r.Duration == 0 {
		r.Duration = c.Capture.Duration
	}
	if f.object != "" {
		r.Target.Kind = capture.DurableObject
	}
	var data []byte
	if f.inspector != "" {
		data, err = sh.fromInspector(ctx, f.inspector, r)
	} else {
		data, err = sh.fromCloudflare(ctx, c, r)
	}
	if err != nil {
		return err
	}
	if err := sh.writeFile(f.out, data); err != nil {
		return err
	}
	if f.out != "-" {
		fmt.Fprintf(sh.stderr, "wrote %s (%s); look at it: snapflame report %s\n", f.out, size(int64(len(data))), f.out)
	}
	return nil
}

// fromInspector profiles what runs on this machine: an isolate, whatever object
// or version was named. Its failures are sentences of their own.
func (sh *shell) fromInspector(ctx context.Context, address string, r capture.Request) ([]byte, error) {
	in, err := inspector.New(inspector.Options{URL: address})
	if err != nil {
		return nil, usagef("--inspector: %v", err)
	}
	if r.Target.ObjectID != "" || r.Target.VersionID != "" {
		fmt.Fprintln(sh.stderr, "note: a local isolate has no versions, and its objects share it: --object and --version are not used")
	}
	fmt.Fprintf(sh.stderr, "capturing %s at %s for %s; send it requests meanwhile\n", r.Type, printable(address), r.Duration)
	data, err := in.Profile(ctx, r)
	if f, ok := errors.AsType[*capture.Failure](err); ok && f.Message != "" {
		return nil, fmt.Errorf("capture: %s: %s", f.Kind, strings.TrimSuffix(f.Message, "."))
	}
	return data, err
}

func (sh *shell) fromCloudflare(ctx context.Context, c *conf.Config, r capture.Request) ([]byte, error) {
	for _, p := range c.Missing() {
		if strings.HasPrefix(p.Key, "cloudflare.") {
			return nil, conf.Problems{p}
		}
	}
	cf, err := cloudflare.New(cloudflareOptions(c))
	if err != nil {
		return nil, err
	}
	found, err := cf.Resolve(ctx, r.Target)
	if err != nil {
		return nil, failureText(err)
	}
	if found, err = capture.OnlyVersion(found, r.Target.VersionID); err != nil {
		return nil, failureText(err)
	}
	// The candidates are in order of likelihood. Only "there is no such thing"
	// moves on to the next: any other answer may have started the profiler.
	for _, next := range found {
		r.Target = next.Target
		for _, n := range next.Notes {
			fmt.Fprintf(sh.stderr, "note: %s\n", printable(n))
		}
		fmt.Fprintf(sh.stderr, "capturing %s of %s, version %s, for %s\n", r.Type, printable(targetText(r.Target)), printable(r.Target.VersionID), r.Duration)
		var data []byte
		data, err = cf.Profile(ctx, r)
		if f, ok := errors.AsType[*capture.Failure](err); !ok || f.Kind != capture.FailNotFound {
			return data, failureText(err)
		}
	}
	return nil, failureText(err)
}

// cloudflareOptions is how every command speaks to the account.
func cloudflareOptions(c *conf.Config) cloudflare.Options {
	return cloudflare.Options{
		AccountID: c.Cloudflare.AccountID, Token: c.Cloudflare.APIToken.Reveal(), BaseURL: c.Cloudflare.BaseURL,
		UserAgent: "snapflame/" + versionText(),
	}
}

func targetText(t capture.Target) string {
	if t.Kind == capture.DurableObject {
		return fmt.Sprintf("object %.8s of %s", t.ObjectID, t.Script)
	}
	return t.Script
}

// failureText is a capture's failure with what Cloudflare said and what to do.
func failureText(err error) error {
	f, ok := errors.AsType[*capture.Failure](err)
	if !ok {
		return err
	}
	text := strings.TrimSuffix(f.Explain(), ".")
	if f.Message != "" && !strings.Contains(text, f.Message) {
		text += fmt.Sprintf(" (answer: %s)", f.Message)
	}
	if f.RetryAfter > 0 {
		text += fmt.Sprintf(" (try again in %s)", f.RetryAfter)
	}
	return fmt.Errorf("capture: %s: %s", f.Kind, text)
}
