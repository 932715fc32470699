package bot

import (
	"strings"
	"time"
)

// Writer says what each message of a case says. It is a pure function of the
// case, the time and the configuration: a message can be written again at any
// moment, which is what makes every send repeatable.
type Writer struct {
	Links     Links // nil: no page is reachable
	Command   string
	Templates *Templates // nil: the built-in words
	// Offer is how long the silence select offers; empty: 30m, 1h, 4h, 1d.
	Offer []time.Duration
}

// Post writes the post of the key from the case as it is now. ok is false when
// there is nothing to say under that key.
func (w Writer) Post(c Case, key string, now time.Time) (p Post, ok bool) {
	rest, ours := strings.CutPrefix(key, c.ID+".")
	if !ours {
		return Post{}, false
	}
	p = Post{Key: key, Channel: c.Channel, Kind: PostMessage, At: now, IncidentID: c.ID}
	if c.ThreadTS != "" {
		p.ThreadTS = c.ThreadTS
	} else if rest != "root" {
		p.Thread = c.rootKey()
	}
	kind, id, _ := strings.Cut(rest, ".")
	if id != "" {
		p.CaptureID = id
	}
	switch kind {
	case "root":
		p.Card = w.Root(c, now)
	case "evidence":
		p.Card, p.Once = w.Evidence(c), true
	case "closed":
		p.Card, p.Once = w.Closed(c), true
	case "report":
		return w.outcome(c, id, p)
	case "png":
		i := c.view(id)
		if i < 0 || c.Captures[i].PNG == nil {
			return Post{}, false
		}
		p.Kind, p.File, p.Once = PostFile, c.Captures[i].PNG, true
		p.Card = Card{Text: orText(p.File.Alt, p.File.Title)}
	default:
		return Post{}, false
	}
	return p, true
}

// outcome is the one reply of a capture, or of a series of merged ones: the
// report, or why there is none.
func (w Writer) outcome(c Case, id string, p Post) (Post, bool) {
	told := false
	for _, v := range c.Captures {
		if c.head(v) != id || !v.told() {
			continue
		}
		switch {
		case v.Summary != nil:
			p.Card, p.CaptureID, told = w.Report(c, v), v.Record.ID, true
		case !told:
			p.Card, told = w.Failure(c, v), true
		default:
			// The series has figures already; a later capture that failed is one
			// more line of context, not the news.
			p.Card.Context = append(p.Card.Context, "Capture "+v.Record.ID+" of this series failed: "+failureWords(v.Record.Failure).Title+".")
		}
	}
	return p, told
}

func (w Writer) command() string { return orText(w.Command, "/profile") }

func (w Writer) incidentURL(id string) string {
	if w.Links == nil || id == "" {
		return ""
	}
	return w.Links.Incident(id)
}

func (w Writer) captureURL(id string) string {
	if w.Links == nil || id == "" {
		return ""
	}
	return w.Links.Capture(id)
}

// silence is the select that silences a case's Worker.
func (w Writer) silence(c Case) Button {
	offer := w.Offer
	if len(offer) == 0 {
		offer = []time.Duration{30 * time.Minute, time.Hour, 4 * time.Hour, 24 * time.Hour}
	}
	b := Button{Action: "pf.silence", Label: "Silence"}
	for _, d := range offer {
		b.Options = append(b.Options, Option{Label: "for " + span(d), Value: c.ID + ":" + d.String()})
	}
	return b
}

func link(b []Button, label, url string, primary bool) []Button {
	if url == "" {
		return b
	}
	return append(b, Button{Action: "pf.open", Label: label, URL: url, Primary: primary})
}
