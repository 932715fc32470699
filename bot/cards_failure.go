package bot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snapflame/snapflame/capture"
)

// Remedy is what a failed capture means for someone half asleep; the cause in
// full is the failure's own Explain.
type Remedy struct {
	Title string
	Do    string
	Again bool // asking again may help
}

// failureWords has an entry for every FailureKind; a test holds it to that.
func failureWords(f *capture.Failure) Remedy {
	if f == nil {
		f = &capture.Failure{Kind: capture.FailUnknown}
	}
	switch f.Kind {
	case capture.FailRateLimited:
		return Remedy{"Cloudflare's rate limit", "Wait a few minutes, then capture again. If it comes often, lower capture.per_hour.", true}
	case capture.FailNoExecutions:
		return Remedy{"Nothing ran in this version lately", "It has probably stopped, or runs in another version. Check the deployment; capture again when it has traffic.", true}
	case capture.FailNoIsolate:
		return Remedy{"No isolate was loaded", "Capture again when requests arrive.", true}
	case capture.FailUnavailable:
		return Remedy{"Profiling is unavailable here", "Nothing to do tonight. Look at the incident's routes and versions instead.", false}
	case capture.FailUnsupported:
		return Remedy{"This Worker cannot be profiled", "Nothing to do tonight. Look at the incident's routes and versions instead.", false}
	case capture.FailCouldNotStart:
		return Remedy{"The profiler did not start", "Capture again in a minute.", true}
	case capture.FailUnauthorized:
		return Remedy{"The Cloudflare token was refused", "Whoever runs snapflame must renew CLOUDFLARE_API_TOKEN; `snapflame doctor` checks it. Then capture again.", true}
	case capture.FailForbidden:
		return Remedy{"The Cloudflare token may not profile", "Whoever runs snapflame must give the token that permission; `snapflame doctor` checks it. Then capture again.", true}
	case capture.FailNotFound:
		return Remedy{"Cloudflare does not know the target", "Check the name, and that the token belongs to this account.", true}
	case capture.FailBadRequest:
		return Remedy{"Cloudflare refused the request", "Report this to whoever runs snapflame, with the text below.", false}
	case capture.FailServer:
		return Remedy{"Cloudflare had an error", "Look at www.cloudflarestatus.com; capture again in a few minutes.", true}
	case capture.FailUnreachable:
		return Remedy{"Cloudflare could not be reached", "Check the network of the machine that runs snapflame. Then capture again.", true}
	case capture.FailTimeout:
		return Remedy{"No answer in time", "Capture again in a minute, shorter if the object is very busy.", true}
	case capture.FailEmpty:
		return Remedy{"The answer was empty", "Capture again.", true}
	case capture.FailNotProfile:
		return Remedy{"The answer was no profile", "Check CLOUDFLARE_API_BASE_URL and any proxy in between. Then capture again.", true}
	case capture.FailTruncated:
		return Remedy{"The profile was cut off", "Capture again.", true}
	case capture.FailTooLarge:
		return Remedy{"The profile was too large", "Capture again with a shorter duration.", true}
	case capture.FailNoNamespace:
		return Remedy{"No namespace has this object", "Check that the id is right and that the token sees the Worker that owns the class.", true}
	case capture.FailNoDeployment:
		return Remedy{"The Worker is not deployed", "Deploy it, or name a version with version=.", true}
	case capture.FailLostAnswer:
		return Remedy{"The answer was lost twice", "Capture again. If it happens again, look at why snapflame restarts.", true}
	case capture.FailBudget:
		return Remedy{"There was no budget left", "Capture again later, or raise capture.per_hour.", true}
	default:
		return Remedy{"The capture failed", "Capture again; report it with the text below if it stays.", true}
	}
}

// Failure is the reply of a capture that gave no profile.
func (w Writer) Failure(c Case, v CaptureView) Card {
	r := v.Record
	words := failureWords(r.Failure)
	card := Card{
		Title:   "No " + typeWords(r.Type) + " profile: " + targetWords(c.Target, c.Script),
		Icon:    "x",
		Verdict: words.Title + ".",
		Sections: []Section{
			{Heading: "What happened", Text: r.Explain(r.EndedAt)},
			{Heading: "What to do", Text: words.Do},
		},
		Text: fmt.Sprintf("No %s profile of %s: %s. %s", typeWords(r.Type), targetWords(c.Target, c.Script), words.Title, words.Do),
	}
	if r.Failure != nil {
		card.Quote = quoted(r.Failure)
		if r.Failure.RetryAfter > 0 {
			card.Sections[1].Text += " Cloudflare asks to wait " + span(r.Failure.RetryAfter) + "."
		}
	}
	if next, ok := c.followed(r.ID); ok {
		// Only what stays true: where that capture stands is on the root.
		card.Sections = append(card.Sections, Section{
			Heading: "Something else is tried",
			Text:    fmt.Sprintf("%s capture %s: %s.", typeWords(next.Record.Type), next.Record.ID, orText(next.Record.Note, "as planned")),
		})
	}
	card.Fields = failureFields(r)
	card.Sections = append(card.Sections, notesSection(r)...)
	card.Context = []string{captureContext(r)}
	if words.Again {
		card.Buttons = append(card.Buttons, Button{Action: "pf.again", Label: "Capture again", Value: r.ID, Primary: true})
	}
	card.Buttons = append(card.Buttons, Button{Action: "pf.why", Label: "Why", Value: c.ID})
	card.Buttons = link(card.Buttons, "Open incident", w.incidentURL(c.ID), false)
	return card
}

// quoted is what Cloudflare said. Other messages are our own, and stand in the
// explanation where they say something.
func quoted(f *capture.Failure) string {
	switch f.Kind {
	case capture.FailEmpty, capture.FailNotProfile, capture.FailTruncated, capture.FailTooLarge, capture.FailTimeout, capture.FailUnreachable,
		capture.FailNoNamespace, capture.FailNoDeployment, capture.FailLostAnswer, capture.FailBudget:
		return ""
	default:
		if f.Local || f.Unsent {
			return ""
		}
		return f.Message
	}
}

// followed is the capture that was planned because the one of the id ended.
func (c Case) followed(id string) (CaptureView, bool) {
	if i := c.view(id); i >= 0 && i+1 < len(c.Captures) && c.Captures[i+1].Record.Cause == capture.CauseFollowUp {
		return c.Captures[i+1], true
	}
	return CaptureView{}, false
}

func failureFields(r capture.Record) []Field {
	var f []Field
	if r.Failure != nil && (r.Failure.Status != 0 || r.Failure.Code != 0) {
		var parts []string
		if r.Failure.Status != 0 {
			parts = append(parts, fmt.Sprintf("HTTP %d", r.Failure.Status))
		}
		if r.Failure.Code != 0 {
			parts = append(parts, fmt.Sprintf("code %d", r.Failure.Code))
		}
		f = append(f, Field{Label: "Answer", Value: strings.Join(parts, ", ")})
	}
	if v := versionWords(r); v != "" {
		f = append(f, Field{Label: "Version", Value: v, Code: true})
	}
	return f
}

// notesSection is what a reader must know about how a capture came about.
func notesSection(r capture.Record) []Section {
	notes := r.Notes
	if r.AskedAgain {
		asked := "asked again after a restart: the first answer was lost with the process"
		known := false
		for _, n := range notes {
			known = known || strings.Contains(n, "asked again")
		}
		if !known {
			notes = append(slices.Clip(notes), asked)
		}
	}
	if len(notes) == 0 {
		return nil
	}
	return []Section{{Heading: "Know this", Lines: notes}}
}
