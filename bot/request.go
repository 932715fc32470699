package bot

import "time"

// RequestKind is how a person addressed the bot.
type RequestKind string

// The kinds.
const (
	RequestCommand  RequestKind = "command"  // /profile …
	RequestMention  RequestKind = "mention"  // @bot … , in threads too
	RequestClick    RequestKind = "click"    // a button or select
	RequestShortcut RequestKind = "shortcut" // message or global shortcut
	RequestSubmit   RequestKind = "submit"   // a modal was submitted
	RequestSuggest  RequestKind = "suggest"  // options for an external select
	RequestHome     RequestKind = "home"     // App Home opened
)

// Request is one thing a person asked in Slack, whichever transport brought it.
type Request struct {
	Kind        RequestKind
	ID          string // deduplication: event id, trigger id or envelope id
	At          time.Time
	TeamID      string
	UserID      string
	UserName    string
	ChannelID   string
	ThreadTS    string // thread it was said in; empty outside threads
	MessageTS   string // message that was clicked, used by a shortcut, or held the mention
	Text        string // the words after the command or mention
	ActionID    string
	Value       string            // of the button or option, without its version; of a submitted form, its State
	Values      map[string]string // of a submitted form, by input id
	Query       string            // what was typed into an external select
	TriggerID   string
	ResponseURL string
}

// Reply is the immediate answer. Only the person sees it unless Public.
type Reply struct {
	Card    *Card
	Form    *Form             // opens a modal
	Options []Option          // for RequestSuggest
	Errors  map[string]string // for RequestSubmit: input id → what is wrong
	Home    *Home             // for RequestHome
	Public  bool              // posted into the channel or thread for all
	Replace bool              // replaces the clicked message's ephemeral card
}

// Form is the capture form.
type Form struct {
	Title  string
	Submit string
	State  string // opaque, at most 3000 characters (Slack's private_metadata)
	Inputs []Input
}

// Input is one question of a form.
type Input struct {
	ID       string
	Label    string
	Hint     string
	Kind     string // text, select, suggest
	Options  []Option
	Initial  string
	Optional bool
}

// Home is what the App Home tab shows.
type Home struct {
	Cards []Card
}
