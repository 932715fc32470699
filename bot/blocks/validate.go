package blocks

import (
	"errors"
	"fmt"

	"github.com/slack-go/slack"
)

// Surface is where blocks stand.
type Surface int

// The surfaces.
const (
	InMessage Surface = iota
	InModal
	InHome
)

// Validate holds blocks to Slack's limits. It knows the kinds this package
// writes and refuses all others, so that a new kind comes with its limits.
func Validate(bs []slack.Block, on Surface) error {
	var errs []error
	limit := maxViewBlocks
	if on == InMessage {
		limit = maxBlocks
		if w := weight(bs); w > maxTotal+1000 {
			errs = append(errs, fmt.Errorf("all blocks: %d characters, Slack takes about 13,200", w))
		}
	}
	if len(bs) > limit {
		errs = append(errs, fmt.Errorf("%d blocks, Slack takes %d", len(bs), limit))
	}
	v := validator{ids: map[string]bool{}}
	for i, b := range bs {
		v.at = fmt.Sprintf("block %d (%s)", i, b.BlockType())
		v.block(b, on)
	}
	if v.tables > 1 {
		v.fail("%d tables in one message", v.tables)
	}
	if v.cells > maxTableChars {
		v.fail("%d characters in table cells, Slack takes %d", v.cells, maxTableChars)
	}
	return errors.Join(append(errs, v.errs...)...)
}

type validator struct {
	at            string
	errs          []error
	ids           map[string]bool
	tables, cells int
}

func (v *validator) fail(format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("%s: %w", v.at, fmt.Errorf(format, args...)))
}

func (v *validator) length(what, s string, low, high int) {
	if n := size(s); n < low || n > high {
		v.fail("%s has %d characters, Slack takes %d to %d", what, n, low, high)
	}
}

func (v *validator) count(what string, n, low, high int) {
	if n < low || n > high {
		v.fail("%d %s, Slack takes %d to %d", n, what, low, high)
	}
}

func (v *validator) text(what string, o *slack.TextBlockObject, high int, onlyPlain bool) {
	if o == nil {
		v.fail("%s is missing", what)
		return
	}
	if onlyPlain && o.Type != slack.PlainTextType {
		v.fail("%s must be plain_text", what)
	}
	if o.Type == slack.MarkdownType && !o.Verbatim {
		v.fail("%s would turn bare addresses into links", what)
	}
	v.length(what, o.Text, 1, high)
}

func (v *validator) block(b slack.Block, on Surface) {
	v.length("block_id", b.ID(), 0, maxID)
	switch b := b.(type) {
	case *slack.HeaderBlock:
		v.text("text", b.Text, maxHeader, true)
	case *slack.DividerBlock:
	case *slack.SectionBlock:
		if b.Text == nil && len(b.Fields) == 0 {
			v.fail("neither text nor fields")
		}
		if b.Text != nil {
			v.text("text", b.Text, maxSection, false)
		}
		v.count("fields", len(b.Fields), 0, maxFields)
		for _, f := range b.Fields {
			v.text("field", f, maxField, false)
		}
	case *slack.ContextBlock:
		v.count("elements", len(b.ContextElements.Elements), 1, maxContext)
		for _, e := range b.ContextElements.Elements {
			if t, ok := e.(*slack.TextBlockObject); ok {
				v.text("element", t, maxSection, false)
			} else {
				v.fail("element of type %T", e)
			}
		}
	case *slack.ActionBlock:
		v.count("elements", len(b.Elements.ElementSet), 1, maxElements)
		for _, e := range b.Elements.ElementSet {
			v.element(e)
		}
	case *slack.InputBlock:
		if on == InMessage {
			v.fail("inputs stand in modals and the Home tab only")
		}
		v.text("label", b.Label, maxLabel, true)
		if b.Hint != nil {
			v.text("hint", b.Hint, maxLabel, true)
		}
		v.element(b.Element)
	case *slack.TableBlock:
		if on != InMessage {
			v.fail("tables stand in messages only")
		}
		v.table(b)
	case *slack.RichTextBlock:
		v.count("elements", len(b.Elements), 1, 1000)
		for _, e := range b.Elements {
			v.rich(e)
		}
	default:
		v.fail("no limits known for this kind")
	}
}

func (v *validator) element(e slack.BlockElement) {
	id := ""
	switch e := e.(type) {
	case *slack.ButtonBlockElement:
		id = e.ActionID
		v.text("button text", e.Text, maxButtonText, true)
		v.length("button value", e.Value, 0, maxValue)
		v.length("button url", e.URL, 0, maxURL)
	case *slack.SelectBlockElement:
		id = e.ActionID
		v.text("placeholder", e.Placeholder, maxSelectHint, true)
		if e.Type == slack.OptTypeStatic {
			v.count("options", len(e.Options), 1, maxOptions)
		}
		for _, o := range e.Options {
			v.text("option text", o.Text, maxOptionText, true)
			v.length("option value", o.Value, 1, maxOptionID)
		}
	case *slack.PlainTextInputBlockElement:
		id = e.ActionID
		v.length("initial value", e.InitialValue, 0, maxSection)
	default:
		v.fail("no limits known for element %T", e)
	}
	v.length("action_id", id, 1, maxID)
	if v.ids[id] {
		v.fail("action_id %q twice", id)
	}
	v.ids[id] = true
}

func (v *validator) table(b *slack.TableBlock) {
	v.tables++
	v.count("rows", len(b.Rows), 1, maxTableRows)
	for _, r := range b.Rows {
		v.count("columns", len(r), 1, maxTableCols)
		if len(r) != len(b.Rows[0]) {
			v.fail("rows of %d and %d cells", len(b.Rows[0]), len(r))
		}
		for _, c := range r {
			t, ok := c.(*slack.TableRawTextCell)
			if !ok {
				v.fail("cell of type %T", c)
				continue
			}
			v.length("cell", t.Text, 1, maxTableChars)
			v.cells += size(t.Text)
		}
	}
	for _, s := range b.ColumnSettings {
		if s.Align == "" {
			v.fail("column settings without an alignment")
		}
	}
}

func (v *validator) rich(e slack.RichTextElement) {
	var runs []slack.RichTextSectionElement
	switch e := e.(type) {
	case *slack.RichTextSection:
		runs = e.Elements
	case *slack.RichTextQuote:
		runs = e.Elements
	case *slack.RichTextPreformatted:
		runs = e.Elements
	case *slack.RichTextList:
		v.count("list items", len(e.Elements), 1, 1000)
		for _, item := range e.Elements {
			v.rich(item)
		}
		return
	default:
		v.fail("no limits known for rich text %T", e)
		return
	}
	v.count("runs", len(runs), 1, 1000)
	for _, r := range runs {
		if t, ok := r.(*slack.RichTextSectionTextElement); ok {
			v.length("run", t.Text, 1, maxSection)
		}
	}
}
