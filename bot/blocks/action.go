package blocks

import (
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/snapflame/snapflame/bot"
)

// version stands before every value, so that a button in an old thread is
// never read as something newer.
const version = "v1:"

// Value is what a button or an option of a message carries: ids only.
func Value(ids string) string { return version + ids }

// ParseValue reads a Value back; ok is false for any other version.
func ParseValue(s string) (ids string, ok bool) { return strings.CutPrefix(s, version) }

// ActionID makes an action unique in its message, as Slack demands of buttons
// that do the same with another value; ParseActionID takes that off again.
func ActionID(action string, n int) string {
	if n == 0 {
		return action
	}
	return action + "#" + strconv.Itoa(n)
}

// ParseActionID is the action of an ActionID.
func ParseActionID(id string) string {
	action, _, _ := strings.Cut(id, "#")
	return action
}

// actions lays buttons out. A button that could not do what it says (no
// action, an id or address too long for Slack) is left out.
func actions(bs []bot.Button) []slack.Block {
	seen := map[string]int{}
	els := make([]slack.BlockElement, 0, len(bs))
	for _, b := range bs {
		if e := element(b, seen); e != nil {
			els = append(els, e)
		}
	}
	var out []slack.Block
	for len(els) > 0 {
		n := min(len(els), maxElements)
		out = append(out, slack.NewActionBlock("", els[:n]...))
		els = els[n:]
	}
	return out
}

func element(b bot.Button, seen map[string]int) slack.BlockElement {
	action := clean(b.Action, false)
	if action == "" || strings.Contains(action, "#") || size(action) > maxID-8 {
		return nil
	}
	if len(b.Options) > 0 {
		opts := messageOptions(b.Options)
		if len(opts) == 0 {
			return nil
		}
		s := slack.NewOptionsSelectBlockElement(slack.OptTypeStatic, plainText(one(b.Label, maxSelectHint), maxSelectHint), "", opts...)
		s.ActionID = number(action, seen)
		return s
	}
	v := Value(b.Value)
	if size(v) > maxValue || clean(v, false) != v {
		return nil
	}
	e := slack.NewButtonBlockElement("", v, plainText(one(b.Label, maxButtonText), maxButtonText))
	if b.URL != "" {
		u, ok := Address(b.URL)
		if !ok {
			return nil
		}
		e.URL = u
	}
	switch {
	case b.Danger:
		e.Style = slack.StyleDanger
	case b.Primary:
		e.Style = slack.StylePrimary
	}
	e.ActionID = number(action, seen)
	return e
}

func number(action string, seen map[string]int) string {
	n := seen[action]
	seen[action]++
	return ActionID(action, n)
}

// messageOptions are the options of a select in a message: values as Value.
func messageOptions(os []bot.Option) []*slack.OptionBlockObject {
	tagged := make([]bot.Option, len(os))
	for i, o := range os {
		tagged[i] = bot.Option{Label: o.Label, Value: Value(o.Value)}
	}
	return options(tagged)
}

// options cuts labels and leaves out values that are too long or repeated.
func options(os []bot.Option) []*slack.OptionBlockObject {
	out := make([]*slack.OptionBlockObject, 0, min(len(os), maxOptions))
	seen := map[string]bool{}
	for _, o := range os {
		if len(out) == maxOptions {
			break
		}
		if o.Value == "" || size(o.Value) > maxOptionID || clean(o.Value, false) != o.Value || seen[o.Value] {
			continue
		}
		seen[o.Value] = true
		out = append(out, slack.NewOptionBlockObject(o.Value, plainText(one(o.Label, maxOptionText), maxOptionText), nil))
	}
	return out
}

// Options answers an external select.
func Options(os []bot.Option) slack.OptionsResponse {
	return slack.OptionsResponse{Options: options(os)}
}

func plural(n int, what string) string {
	s := strconv.Itoa(n) + " " + what
	if n != 1 {
		s += "s"
	}
	return s
}
