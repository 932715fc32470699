package bot_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot"
)

func TestParseCommand(t *testing.T) {
	v := "9f1c2b7e-6d0a-4a55-8e43-0a5f4f0c1d22"
	tests := map[string]bot.Command{
		"":                         {},
		"   ":                      {},
		"cpu checkout":             {Verb: bot.VerbCPU, Worker: "checkout"},
		"CPU checkout 30s":         {Verb: bot.VerbCPU, Worker: "checkout", Duration: 30 * time.Second},
		"cpu checkout 30":          {Verb: bot.VerbCPU, Worker: "checkout", Duration: 30 * time.Second},
		"cpu 10s 20s":              {Verb: bot.VerbCPU, Worker: "10s", Duration: 20 * time.Second},
		"heap room-api/RoomObject": {Verb: bot.VerbHeap, Worker: "room-api", Class: "RoomObject"},
		"cpu a/b/c":                {Verb: bot.VerbCPU, Worker: "a", Class: "b/c"},
		"cpu 50s":                  {Verb: bot.VerbCPU, Worker: "50s"},
		"cpu `checkout` 1s":        {Verb: bot.VerbCPU, Worker: "checkout", Duration: time.Second},
		"cpu object=" + objectID + " room-api/RoomObject 5s": {Verb: bot.VerbCPU, Worker: "room-api", Class: "RoomObject", Object: objectID, Duration: 5 * time.Second},
		"cpu 5s":                                 {Verb: bot.VerbCPU, Worker: "5s"},
		"cpu version=" + v + " checkout":         {Verb: bot.VerbCPU, Worker: "checkout", Version: v},
		"cpu checkout env:production":            {Verb: bot.VerbCPU, Worker: "checkout", Environment: "production"},
		"cpu checkout ENV=production":            {Verb: bot.VerbCPU, Worker: "checkout", Environment: "production"},
		"cpu checkout anyway":                    {Verb: bot.VerbCPU, Worker: "checkout", Anyway: true},
		"cpu <http://checkout.dev|checkout.dev>": {Verb: bot.VerbCPU, Worker: "checkout.dev"},
		"cpu “checkout two”":                     {Verb: bot.VerbCPU, Worker: "checkout two"},
		"objects room-api":                       {Verb: bot.VerbObjects, Worker: "room-api"},
		"list":                                   {Verb: bot.VerbList},
		"list checkout":                          {Verb: bot.VerbList, Worker: "checkout"},
		"show K7F3Q9-1":                          {Verb: bot.VerbShow, Captures: []string{"k7f3q9-1"}},
		"compare a-1 b-2":                        {Verb: bot.VerbCompare, Captures: []string{"a-1", "b-2"}},
		"compare a-1 baseline":                   {Verb: bot.VerbCompare, Captures: []string{"a-1", "baseline"}},
		"compare a-1":                            {Verb: bot.VerbCompare, Captures: []string{"a-1"}},
		"top a-1":                                {Verb: bot.VerbTop, Captures: []string{"a-1"}},
		"peek a-1 get size":                      {Verb: bot.VerbPeek, Captures: []string{"a-1"}, Function: "get size"},
		"peek a-1 10s":                           {Verb: bot.VerbPeek, Captures: []string{"a-1"}, Function: "10s"},
		"peek a-1 (anonymous)":                   {Verb: bot.VerbPeek, Captures: []string{"a-1"}, Function: "(anonymous)"},
		"diff a-1 object=x":                      {Verb: bot.VerbDiff, Captures: []string{"a-1"}, Function: "object=x"},
		"why":                                    {Verb: bot.VerbWhy},
		"why K7F3Q9":                             {Verb: bot.VerbWhy, Incident: "K7F3Q9"},
		"silence checkout":                       {Verb: bot.VerbSilence, Worker: "checkout"},
		"silence checkout 1d":                    {Verb: bot.VerbSilence, Worker: "checkout", Duration: 24 * time.Hour},
		"silence checkout 30m":                   {Verb: bot.VerbSilence, Worker: "checkout", Duration: 30 * time.Minute},
		"unsilence checkout":                     {Verb: bot.VerbUnsilence, Worker: "checkout"},
		"status":                                 {Verb: bot.VerbStatus},
		"pause":                                  {Verb: bot.VerbPause},
		"pause 2h":                               {Verb: bot.VerbPause, Duration: 2 * time.Hour},
		"resume":                                 {Verb: bot.VerbResume},
		"help":                                   {Verb: bot.VerbHelp},
		"help cpu":                               {Verb: bot.VerbHelp, Topic: "cpu"},
		"?":                                      {Verb: bot.VerbHelp},
	}
	for text, want := range tests {
		got, err := bot.ParseCommand(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\ngot  %+v\nwant %+v", text, got, want)
		}
		again, err := bot.ParseCommand(got.String())
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%q is written %q, which reads %+v (%v)", text, got.String(), again, err)
		}
	}
}

func TestParseMistakes(t *testing.T) {
	tests := []struct{ text, why, try string }{
		{"cpu checkout 90s", "1 s to 50 s", "cpu checkout 50s"},
		{"cpu checkout 90", "1 s to 50 s", "cpu checkout 50s"},
		{"cpu checkout 500ms", "1 s to 50 s", "cpu checkout 1s"},
		{"cpu checkout 0s", "1 s to 50 s", "cpu checkout 1s"},
		{"cpu checkout -5", "1 s to 50 s", "cpu checkout 1s"},
		{"cpu checkout 99999999999", "1 s to 50 s", "cpu checkout 50s"},
		{"cpu 90s checkout", "what to do with", `cpu "90s"`},
		{"cpu checkout 90s env:prod object=" + objectID, "1 s to 50 s", "cpu checkout object=" + objectID + " env=prod 50s"},
		{"cpu checkout 10s 20s", "two durations", ""},
		{"cpu checkout object=3fa1", "64 hexadecimal digits", ""},
		{"cpu checkout object=", "no value", ""},
		{"cpu checkout version=latest", "`latest` is never used", ""},
		{"cpu checkout other", "`other` after `cpu checkout`", "cpu checkout"},
		{"list object=" + objectID, "takes no `object=`", ""},
		{"status now", "`now` after `status`", "status"},
		{"cup checkout 5s", "don't know the word `cup`", "cpu checkout 5s"},
		{"hep checkout", "don't know the word", "heap checkout"},
		{"stat", "don't know the word", "status"},
		{"checkout", "don't know the word `checkout`", "cpu checkout"},
		{"checkout-eu 5s", "don't know the word", "cpu checkout-eu 5s"},
		{`"cpu" checkout`, "don't know the word", ""},
		{"silence checkout 0d", "not in the future", ""},
		{"cpu /Class", "name is missing", ""},
		{"cpu " + strings.Repeat("x", 2000), "longer than", ""},
	}
	for _, tt := range tests {
		_, err := bot.ParseCommand(tt.text)
		if err == nil {
			t.Errorf("%q was understood", tt.text)
			continue
		}
		if !strings.Contains(err.Why, tt.why) {
			t.Errorf("%q: %q does not say %q", tt.text, err.Why, tt.why)
		}
		found := tt.try == "" || slices.ContainsFunc(err.Try, func(s bot.Suggestion) bool { return s.Command == tt.try })
		if !found {
			t.Errorf("%q: offers %+v, want %q", tt.text, err.Try, tt.try)
		}
		for _, s := range err.Try {
			if _, err := bot.ParseCommand(s.Command); err != nil {
				t.Errorf("%q offers %q, which is no command: %v", tt.text, s.Command, err)
			}
		}
	}
}

func TestMissing(t *testing.T) {
	for _, v := range bot.Verbs() {
		cmd, perr := bot.ParseCommand(string(v))
		if perr != nil {
			t.Fatalf("%s: %v", v, perr)
		}
		err := cmd.Missing()
		switch v {
		case bot.VerbList, bot.VerbStatus, bot.VerbPause, bot.VerbResume, bot.VerbHelp:
			if err != nil {
				t.Errorf("%s alone: %v", v, err)
			}
		default:
			if err == nil || err.Example == "" {
				t.Errorf("%s alone lacks nothing: %v", v, err)
				continue
			}
			if e, perr := bot.ParseCommand(strings.Replace(err.Example, "<64 hex digits>", objectID, 1)); perr != nil || e.Missing() != nil {
				t.Errorf("%s: the example %q is wrong: %v", v, err.Example, perr)
			}
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"checkout", "checkout-eu", "room-api", "room-ap1", "edge-gateway", "a", "b"}
	tests := map[string][]string{
		"chekout":  {"checkout"},
		"checkuot": {"checkout"},
		"check":    {"checkout", "checkout-eu"},
		"room-api": {"room-api", "room-ap1"},
		"CHECKOUT": {"checkout", "checkout-eu"},
		"zzzzzz":   nil,
		"c":        nil,
		"":         nil,
	}
	for typed, want := range tests {
		got := bot.Nearest(typed, names, 3)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, want %v", typed, got, want)
		}
	}
}

func FuzzParseCommand(f *testing.F) {
	for _, s := range []string{"cpu checkout 10s", `peek a "get size"`, "cpu a/b object=" + objectID, "silence “x y” 1d", "cpu <http://x|x> env:p", "cpu ''", "list \"10s\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cmd, err := bot.ParseCommand(text)
		if err != nil {
			for _, s := range err.Try {
				if _, again := bot.ParseCommand(s.Command); again != nil && len(again.Try) > 0 && again.Try[0].Command == s.Command {
					t.Errorf("%q offers %q, which offers itself", text, s.Command)
				}
			}
			return
		}
		again, err := bot.ParseCommand(cmd.String())
		if err != nil && len(cmd.String()) <= 1000 {
			t.Fatalf("%q reads %+v, written %q, which fails: %v", text, cmd, cmd.String(), err)
		}
		if err == nil && !reflect.DeepEqual(again, cmd) {
			t.Errorf("%q reads %+v, written %q, which reads %+v", text, cmd, cmd.String(), again)
		}
	})
}
