package blocks

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const ellipsis = "…"

// empty stands where Slack refuses an empty string.
const empty = "–"

// size is the length Slack may count by: UTF-16 units, never fewer than the
// code points other parts of Slack count.
func size(s string) int {
	n := 0
	for _, r := range s {
		n += runeSize(r)
	}
	return n
}

func runeSize(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// clean makes text safe to show: valid UTF-8, no control characters but, when
// lines is set, the line feed; no characters that turn the direction of the
// text around what follows, which can make a name read as another.
func clean(s string, lines bool) string {
	if plain(s) {
		return strings.TrimSpace(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range strings.ToValidUTF8(s, "�") {
		switch {
		case r == '\n' && lines:
			b.WriteRune(r)
		case r == '\u2028' || r == '\u2029' || unicode.IsControl(r):
			b.WriteByte(' ')
		case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', r == '\u200e', r == '\u200f', r == '\ufeff', r == '\u2060', r == '\u200b':
		default:
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(b.String())
}

// plain is the fast way out for the common case: printable ASCII.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// clip cuts text to limit characters, the ellipsis included.
func clip(s string, limit int) string {
	if len(s) <= limit || size(s) <= limit {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeSize(r); n > limit-1 {
			return strings.TrimRight(s[:i], " ") + ellipsis
		}
	}
	return s
}

// one is text on one line, never empty, at most limit characters.
func one(s string, limit int) string {
	if s = clip(clean(s, false), limit); s == "" {
		return empty
	}
	return s
}

// many is text on several lines, never empty, at most limit characters.
func many(s string, limit int) string {
	if s = clip(clean(s, true), limit); s == "" {
		return empty
	}
	return s
}

// Escape makes text inert in Slack's markup. Slack knows exactly three special
// characters: https://docs.slack.dev/messaging/formatting-message-text#escaping.
func Escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// escaped is Escape of s cut so that the result has at most limit characters.
func escaped(s string, limit int) string {
	n, cut := 0, 0 // cut: how much of s leaves room for the ellipsis
	for i, r := range s {
		if n <= limit-1 {
			cut = i
		}
		switch r {
		case '&':
			n += len("&amp;")
		case '<', '>':
			n += len("&lt;")
		default:
			n += runeSize(r)
		}
		if n > limit {
			return Escape(strings.TrimRight(s[:cut], " ")) + ellipsis
		}
	}
	return Escape(s)
}

// code is a name in a code span. A backtick would end the span.
func code(s string, limit int) string {
	s = strings.ReplaceAll(clean(s, false), "`", "'")
	if s == "" {
		s = empty
	}
	return "`" + escaped(s, limit-2) + "`"
}

// fence is preformatted text in markup.
func fence(s string, limit int) string {
	s = strings.ReplaceAll(clean(s, true), "`", "'")
	return "```\n" + escaped(s, limit-8) + "\n```"
}

// value is a field's value in markup: in a code span when it could format.
func value(s string, asCode bool, limit int) string {
	s = clean(s, false)
	if asCode || strings.ContainsAny(s, "*_~`") {
		return code(s, limit)
	}
	if s == "" {
		return empty
	}
	return escaped(s, limit)
}

// link is a live address with its label, or only the label when the address is
// none that a person should follow.
func link(address, label string, limit int) string {
	u, ok := Address(address)
	if !ok {
		return value(label, false, limit)
	}
	text := strings.NewReplacer("|", "/", "*", "", "_", " ", "~", "-", "`", "'").Replace(one(label, goodField))
	head := "<" + strings.NewReplacer("&", "&amp;", "|", "%7C").Replace(u) + "|"
	if size(head) > limit-20 {
		return value(label, false, limit)
	}
	return head + escaped(text, limit-size(head)-1) + ">"
}

// Address tells whether s is an http(s) address that Slack takes as one, and
// returns it as Slack should see it.
func Address(s string) (string, bool) {
	if s == "" || len(s) > maxURL || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r == '<' || r == '>' || r == '"' || r == '`' || r == 0x7f || unicode.IsSpace(r) || unicode.IsControl(r)
	}) {
		return "", false
	}
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return "", false
	}
	return s, true
}

// icon is an emoji name that may stand between colons.
func icon(s string) string {
	if len(s) == 0 || len(s) > 40 || strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '+'
	}) {
		return ""
	}
	return ":" + s + ":"
}

var (
	userID    = regexp.MustCompile(`^[UW][A-Z0-9]{5,20}$`)
	groupID   = regexp.MustCompile(`^S[A-Z0-9]{5,20}$`)
	channelID = regexp.MustCompile(`^[CG][A-Z0-9]{5,20}$`)
)

// maxRefs is how many people, groups and channels one field names.
const maxRefs = 20

// references are ids in Slack's markup; false unless each is one.
func references(ids []string) (string, bool) {
	var out []string
	for _, id := range ids[:min(len(ids), maxRefs)] {
		switch {
		case userID.MatchString(id):
			out = append(out, Mention{user: id}.String())
		case groupID.MatchString(id):
			out = append(out, Mention{group: id}.String())
		case channelID.MatchString(id):
			out = append(out, "<#"+id+">")
		default:
			return "", false
		}
	}
	return strings.Join(out, " "), len(out) > 0
}

// Mention is who a card calls: read from configuration, never from an event.
type Mention struct{ user, group, broadcast string }

// ParseMention reads a mention as people write it: here, channel, everyone, a
// user id (U… or W…), a user group id (S…), with or without Slack's brackets.
func ParseMention(s string) (Mention, bool) {
	s = strings.Trim(strings.TrimSpace(s), "<>")
	s = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(s, "!subteam^"), "!"), "@")
	switch {
	case s == "here" || s == "channel" || s == "everyone":
		return Mention{broadcast: s}, true
	case userID.MatchString(s):
		return Mention{user: s}, true
	case groupID.MatchString(s):
		return Mention{group: s}, true
	}
	return Mention{}, false
}

// String is the mention in Slack's markup.
func (m Mention) String() string {
	switch {
	case m.user != "":
		return "<@" + m.user + ">"
	case m.group != "":
		return "<!subteam^" + m.group + ">"
	case m.broadcast != "":
		return "<!" + m.broadcast + ">"
	}
	return ""
}
