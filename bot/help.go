package bot

import (
	"fmt"
	"slices"
	"strings"
)

// usage is how a verb is written, and what it does, in a line.
func usage(v Verb) (how, what string) {
	switch v {
	case VerbCPU:
		return "cpu <worker>[/<class>] [object=<64 hex>] [version=<id>] [10s]", "where time goes: one capture of 1 to 50 seconds"
	case VerbHeap:
		return "heap <worker>[/<class>] [object=<64 hex>] [version=<id>] [10s]", "what is allocated in the window (not what is retained)"
	case VerbObjects:
		return "objects <worker>", "its busiest Durable Objects, one click to capture"
	case VerbList:
		return "list [worker]", "the last 10 captures"
	case VerbShow:
		return "show <capture>", "post a capture's report here"
	case VerbCompare:
		return "compare <capture> [<capture>|baseline]", "what changed, by share, with its interval"
	case VerbTop:
		return "top <capture> [function]", "the functions with the largest share"
	case VerbPeek:
		return "peek <capture> <function>", "who calls a function and what it calls"
	case VerbDiff:
		return "diff <capture> [function]", "one function against the quiet time"
	case VerbWhy:
		return "why <incident|worker>", "what was decided and from which evidence"
	case VerbSilence:
		return "silence <worker> [30m|1h|4h|1d]", "its events open no incidents for a while"
	case VerbUnsilence:
		return "unsilence <worker>", "end a silence"
	case VerbStatus:
		return "status", "what runs, what waits and for what, health"
	case VerbPause:
		return "pause [1h]", "no capture starts, anywhere"
	case VerbResume:
		return "resume", "captures start again"
	case VerbHelp:
		return "help [word]", "this, or more about one word"
	default:
		return "", "a form"
	}
}

// help lists the words, or tells one in full. It fits one Slack section.
func (m *Commander) help(cmd Command) Reply {
	name := m.o.Writer.command()
	topic := Verb(cmd.Topic)
	if topic != "" && slices.Contains(Verbs(), topic) {
		how, what := usage(topic)
		card := Card{
			Title: name + " " + string(topic), Icon: "books", Verdict: upperFirst(what) + ".",
			Sections: []Section{{Text: name + " " + how, Code: true}, {Heading: "For example", Text: name + " " + example(topic), Code: true}},
			Context:  helpMore(topic),
			Text:     name + " " + how + ": " + what,
		}
		return Reply{Card: &card}
	}
	lines := []string{name + strings.Repeat(" ", 3) + "a form"}
	for _, v := range Verbs() {
		how, what := usage(v)
		lines = append(lines, how+"\n    "+what)
	}
	card := Card{
		Title: "Profiles of Workers, from here", Icon: "books",
		Verdict:  "In a thread, mention me with the same words; in the thread of an incident, its names can be left out.",
		Sections: []Section{{Text: strings.Join(lines, "\n"), Code: true}},
		Context:  []string{"A capture sees one isolate for a few seconds; others may look different. Figures always say their window."},
		Text:     name + " " + verbList(),
	}
	if topic != "" {
		card.Verdict = fmt.Sprintf("There is no word `%s`. These are all:", clip(string(topic), 40))
		for _, near := range Nearest(string(topic), strings.Split(verbList(), " | "), 3) {
			if near == string(VerbHelp) {
				continue // this is it
			}
			card.Buttons = append(card.Buttons, Button{Action: "pf.run", Label: "help " + near, Value: "help " + near})
		}
	}
	return Reply{Card: &card}
}

func verbList() string {
	var words []string
	for _, v := range Verbs() {
		words = append(words, string(v))
	}
	return strings.Join(words, " | ")
}

func helpMore(v Verb) []string {
	switch v {
	case VerbCPU, VerbHeap:
		return []string{
			"Flags stand in any order; env=production means the Worker name-production.",
			"Without version= the deployed version with most traffic is taken; `latest` never is, because the newest upload need not be deployed.",
			"One capture of a target at a time, and at least the spacing in between; the answer says when the next may start.",
		}
	case VerbCompare, VerbDiff:
		return []string{"CPU is only compared with CPU, heap with heap. A change is called only when its interval says so."}
	case VerbSilence:
		return []string{"Open incidents go on. A star stands for any letters: silence checkout-*"}
	case VerbWhy:
		return []string{"In the thread of an incident the id can be left out. With a Worker's name: its last decisions, ignored events included."}
	default:
		return nil
	}
}
