package blocks

import (
	"fmt"

	"github.com/slack-go/slack"

	"github.com/snapflame/snapflame/bot"
)

// FormCallback is the callback_id of every form.
const FormCallback = "pf.form"

// Modal writes a form as a modal view. Block and action ids are the inputs'
// ids. It fails when the form's state does not fit: cutting it would lose what
// the form was about.
func Modal(f bot.Form) (slack.ModalViewRequest, error) {
	if size(f.State) > maxMetadata {
		return slack.ModalViewRequest{}, fmt.Errorf("form %q: its state has %d characters, Slack takes %d", f.Title, size(f.State), maxMetadata)
	}
	v := slack.ModalViewRequest{
		Type:            slack.VTModal,
		Title:           plainText(one(f.Title, maxViewTitle), maxViewTitle),
		Close:           plainText("Cancel", maxViewTitle),
		PrivateMetadata: f.State,
		CallbackID:      FormCallback,
	}
	if f.Submit != "" {
		v.Submit = plainText(one(f.Submit, maxViewTitle), maxViewTitle)
	}
	for _, in := range f.Inputs {
		if len(v.Blocks.BlockSet) == maxViewBlocks {
			break
		}
		if in.ID == "" || size(in.ID) > maxID {
			return v, fmt.Errorf("form %q: input %q needs an id of 1 to %d characters", f.Title, in.Label, maxID)
		}
		var hint *slack.TextBlockObject
		if in.Hint != "" {
			hint = plainText(in.Hint, maxLabel)
		}
		b := slack.NewInputBlock(in.ID, plainText(one(in.Label, maxLabel), maxLabel), hint, control(in))
		b.Optional = in.Optional
		v.Blocks.BlockSet = append(v.Blocks.BlockSet, b)
	}
	if len(v.Blocks.BlockSet) == 0 {
		v.Submit = nil
		v.Blocks.BlockSet = []slack.Block{slack.NewSectionBlock(plainText("Nothing to fill in.", maxSection), nil, nil)}
	}
	return v, nil
}

func control(in bot.Input) slack.BlockElement {
	ask := plainText("Choose…", maxSelectHint)
	switch in.Kind {
	case "select":
		opts := options(in.Options)
		if len(opts) == 0 {
			break
		}
		s := slack.NewOptionsSelectBlockElement(slack.OptTypeStatic, ask, in.ID, opts...)
		for _, o := range opts {
			if o.Value == in.Initial {
				s.InitialOption = o
			}
		}
		return s
	case "suggest":
		s := slack.NewOptionsSelectBlockElement(slack.OptTypeExternal, ask, in.ID)
		zero := 0
		s.MinQueryLength = &zero
		if o := options([]bot.Option{{Label: in.Initial, Value: in.Initial}}); len(o) == 1 {
			s.InitialOption = o[0]
		}
		return s
	}
	t := slack.NewPlainTextInputBlockElement(nil, in.ID)
	t.InitialValue = clip(clean(in.Initial, false), maxSection)
	return t
}

// HomeView writes the App Home tab: the cards one under the other, tables as
// preformatted text because the Home tab takes no table block.
func HomeView(h bot.Home) slack.HomeTabViewRequest {
	v := slack.HomeTabViewRequest{Type: slack.VTHomeTab}
	seen := map[string]int{}
	for i, c := range h.Cards {
		c.Mention = ""
		part := render(c, Preformatted, goodRows, goodSection)
		unique(part, seen)
		if i > 0 {
			part = append([]slack.Block{slack.NewDividerBlock()}, part...)
		}
		if len(v.Blocks.BlockSet)+len(part) > maxViewBlocks-1 {
			v.Blocks.BlockSet = append(v.Blocks.BlockSet, slack.NewContextBlock("", plainText(plural(len(h.Cards)-i, "more item")+" not shown", goodContext)))
			break
		}
		v.Blocks.BlockSet = append(v.Blocks.BlockSet, part...)
	}
	if len(v.Blocks.BlockSet) == 0 {
		v.Blocks.BlockSet = []slack.Block{slack.NewSectionBlock(plainText("Nothing to show yet.", maxSection), nil, nil)}
	}
	return v
}

// unique numbers the actions of several cards in one view.
func unique(bs []slack.Block, seen map[string]int) {
	for _, b := range bs {
		a, ok := b.(*slack.ActionBlock)
		if !ok {
			continue
		}
		for _, e := range a.Elements.ElementSet {
			switch e := e.(type) {
			case *slack.ButtonBlockElement:
				e.ActionID = number(ParseActionID(e.ActionID), seen)
			case *slack.SelectBlockElement:
				e.ActionID = number(ParseActionID(e.ActionID), seen)
			}
		}
	}
}

// Caption is what stands with a picture: never a markdown block, which makes
// Slack's upload answer internal_error.
func Caption(c bot.Card) []slack.Block {
	if clean(c.Text, true) == "" {
		return nil
	}
	return []slack.Block{slack.NewSectionBlock(plainText(c.Text, maxSection), nil, nil)}
}
