package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rs/zerolog"

	"github.com/snapflame/snapflame/bot/fakeslack"
	"github.com/snapflame/snapflame/capture/fakecf"
	"github.com/snapflame/snapflame/cmd/internal/jet"
)

func TestMain(m *testing.M) {
	// The tests wait for processes far more than they compute, so more of them
	// than processors run side by side; -parallel on the command line still wins.
	testing.Init()
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"snapflame": main, "nats-server": natsServer})
}

// The scripts in testdata/script are the manual of the commands. They run the
// real program, in a process of its own, and these commands beside it:
//
//	exits N COMMAND…   the command ends with exit code N
//	cloudflare         starts a simulated account and points the environment at it
//	captures N         the account was asked for N captures
//	slack              starts a simulated workspace
//	nats               starts a server with the events stream
//	queued N           N messages are in the stream
//	oneline FILE       the file holds exactly one line
func TestScript(t *testing.T) {
	profiles, err := filepath.Abs("../../report/testdata/profiles")
	if err != nil {
		t.Fatal(err)
	}
	events, err := filepath.Abs("../../triggers/testdata")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := filepath.Abs("../../report/sourcemap/testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PROFILES", profiles)
			env.Setenv("EVENTS", events)
			env.Setenv("MAPS", maps)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "cloudflare": cloudflareCmd, "captures": captures, "nats": natsCmd, "slack": slackCmd, "queued": queued, "oneline": oneline,
		},
	})
}

// exits runs a command and holds it to its exit code, which exec cannot.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N COMMAND…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		text := err.Error()
		n, convErr := strconv.Atoi(strings.TrimPrefix(text, "exit status "))
		if convErr != nil {
			ts.Fatalf("%v", err)
		}
		got = n
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("%s ended with exit code %d, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

func oneline(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(args[0])
	if one := strings.Count(text, "\n") == 1 && strings.HasSuffix(text, "\n"); one == neg {
		ts.Fatalf("%s has %d lines:\n%s", args[0], strings.Count(text, "\n"), text)
	}
}

const (
	testVersion = "41ab9259-0637-4c82-826c-a65266b28984"
	testObject  = "3fa1c07d5be2498a1d6e0b7c94f2538e6a1b2c3d4e5f60718293a4b5c6d7e8f9"
)

// running holds what a script started.
var running sync.Map

type started struct {
	ts   *testscript.TestScript
	what string
}

func cloudflareCmd(ts *testscript.TestScript, _ bool, _ []string) {
	s := &fakecf.Server{AccountID: "acc", Token: "cf-secret-token", Speed: 1000}
	s.AddWorker(fakecf.Worker{Name: "room-api", Versions: []fakecf.Version{{ID: testVersion, Percent: 100}}})
	s.AddWorker(fakecf.Worker{Name: "quiet", Versions: []fakecf.Version{{ID: "51ab9259-0637-4c82-826c-a65266b28984", Percent: 100, Quiet: true}}})
	s.AddNamespace(fakecf.Namespace{ID: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", Class: "Room", Script: "room-api"})
	s.AddObject(fakecf.Object{ID: testObject, Namespace: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", Version: testVersion})
	profile, err := os.ReadFile("../../report/testdata/profiles/do-meter.cpu.pb.gz")
	ts.Check(err)
	s.SetProfile("", "cpu", profile)
	base, stop, err := s.Start(context.Background())
	ts.Check(err)
	ts.Defer(stop)
	running.Store(started{ts, "cloudflare"}, s)
	ts.Setenv("CLOUDFLARE_API_BASE_URL", base)
	ts.Setenv("CLOUDFLARE_ACCOUNT_ID", "acc")
	ts.Setenv("CLOUDFLARE_API_TOKEN", "cf-secret-token")
}

func captures(ts *testscript.TestScript, _ bool, args []string) {
	s, _ := running.Load(started{ts, "cloudflare"})
	got := s.(*fakecf.Server).Captures()
	if strconv.Itoa(len(got)) != args[0] {
		ts.Fatalf("the account was asked for %d captures, want %s: %+v", len(got), args[0], got)
	}
}

func slackCmd(ts *testscript.TestScript, _ bool, _ []string) {
	w := &fakeslack.Workspace{}
	base, err := w.Start(context.Background(), "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { ts.Check(w.Close()) })
	ts.Setenv("SLACK_API_URL", base)
	ts.Setenv("SLACK_BOT_TOKEN", fakeslack.BotToken)
	ts.Setenv("SLACK_APP_TOKEN", fakeslack.AppToken)
	ts.Setenv("SNAPFLAME_SLACK_CHANNEL", fakeslack.Incidents)
}

func natsCmd(ts *testscript.TestScript, _ bool, _ []string) {
	ctx := context.Background()
	j, err := jet.Open(ctx, jet.Options{Listen: "127.0.0.1:0", StoreDir: ts.MkAbs("nats"), Logger: zerolog.Nop()})
	ts.Check(err)
	ts.Defer(func() { ts.Check(j.Close(ctx)) })
	running.Store(started{ts, "nats"}, j)
	ts.Setenv("SNAPFLAME_NATS_LISTEN", strings.TrimPrefix(j.URL(), "nats://"))
}

// queued pulls what is in the stream; it waits as long as messages come.
func queued(ts *testscript.TestScript, _ bool, args []string) {
	v, _ := running.Load(started{ts, "nats"})
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	var subjects []string
	for wait := 5 * time.Second; ; wait = 50 * time.Millisecond {
		got, err := v.(*jet.Jet).Source().Fetch(context.Background(), 100, wait)
		ts.Check(err)
		if len(got) == 0 {
			break
		}
		for _, d := range got {
			if len(bytes.TrimSpace(d.Data())) == 0 {
				ts.Fatalf("an empty message on %s", d.Subject())
			}
			subjects = append(subjects, d.Subject())
			ts.Check(d.Ack())
		}
		if len(subjects) > n {
			break
		}
	}
	slices.Sort(subjects)
	if len(subjects) != n {
		ts.Fatalf("%d messages in the stream, want %d: %q", len(subjects), n, subjects)
	}
	ts.Check(os.WriteFile(ts.MkAbs("subjects.txt"), []byte(strings.Join(subjects, "\n")+"\n"), 0o600))
}
