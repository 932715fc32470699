package bot

// Card is what one message says, apart from how Slack wants it written. Every
// string in it is plain text: names of Workers, functions and objects are
// untrusted, and whoever renders a card escapes them.
type Card struct {
	// Text is the whole message in one line: notifications and screen readers
	// get it, and so does a workspace that refuses the blocks.
	Text     string    `json:"text"`
	Title    string    `json:"title,omitempty"`
	Icon     string    `json:"icon,omitempty"` // emoji name without colons
	Verdict  string    `json:"verdict,omitempty"`
	Quote    string    `json:"quote,omitempty"` // Cloudflare's text, verbatim
	Fields   []Field   `json:"fields,omitempty"`
	Table    *Table    `json:"table,omitempty"`
	Sections []Section `json:"sections,omitempty"`
	Context  []string  `json:"context,omitempty"`
	Buttons  []Button  `json:"buttons,omitempty"`
	// Mention is a Slack user, group or "here", set by configuration only. It
	// and Field.Refs are all that is rendered as a real mention.
	Mention string `json:"mention,omitempty"`
}

// Person is a field with somebody in it: a live mention where id is a Slack
// user's, else the name, or what there is of one.
func Person(label, id, name string) Field {
	return Field{Label: label, Value: orText(name, id), Refs: []string{id}}
}

// Field is a short label and its value.
type Field struct {
	Label string `json:"label"`
	Value string `json:"value"`
	Code  bool   `json:"code,omitempty"` // shown in a fixed-width font
	URL   string `json:"url,omitempty"`
	// Refs are ids of people, user groups and channels as Slack or the
	// configuration gave them, never read from text. They become live when all
	// of them are such ids; else Value is shown.
	Refs []string `json:"refs,omitempty"`
}

// Section is a paragraph with an optional heading; Lines become a list.
type Section struct {
	Heading string   `json:"heading,omitempty"`
	Text    string   `json:"text,omitempty"`
	Lines   []string `json:"lines,omitempty"`
	Code    bool     `json:"code,omitempty"` // preformatted
}

// Table has a header row and cells of plain text; Right marks number columns.
type Table struct {
	Header []string   `json:"header"`
	Right  []bool     `json:"right"`
	Rows   [][]string `json:"rows"`
}

// Button is one action or link. Value holds ids only.
type Button struct {
	Action  string   `json:"action"` // pf.again, pf.heap, pf.compare, pf.silence, pf.why, pf.pick, pf.run…
	Label   string   `json:"label"`
	Value   string   `json:"value,omitempty"`
	URL     string   `json:"url,omitempty"`
	Primary bool     `json:"primary,omitempty"`
	Danger  bool     `json:"danger,omitempty"`
	Options []Option `json:"options,omitempty"` // makes it a select
}

// Option is one choice of a select.
type Option struct {
	Label string `json:"label"`
	Value string `json:"value"`
}
