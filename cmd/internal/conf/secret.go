package conf

import (
	"fmt"
	"io"
	"net/url"
	"strings"
)

const redacted = "[redacted]"

// Secret is a token or password. Only Reveal gives it away; fmt (every verb),
// JSON, YAML and zerolog show [redacted], or nothing when it is not set.
//
// The text is behind a pointer: fmt cannot call methods on a Secret in an
// unexported field, and then prints the address.
type Secret struct {
	text *string
}

// NewSecret hides text; an empty text is a secret that is not set.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Reveal returns the text, for the one place that needs it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsSet reports whether there is one.
func (s Secret) IsSet() bool { return s.text != nil }

// String is [redacted], or empty when the secret is not set.
func (s Secret) String() string {
	if s.text == nil {
		return ""
	}
	return redacted
}

// Format makes every verb of fmt print String.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// GoString is String.
func (s Secret) GoString() string { return s.String() }

// MarshalText serves JSON, YAML and zerolog.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Addresses are one or more comma-separated server URLs that may carry a user
// and password; printed, the user information reads [redacted].
type Addresses struct {
	urls *string
}

// NewAddresses takes the URLs as they are given to a client.
func NewAddresses(urls string) Addresses {
	if urls == "" {
		return Addresses{}
	}
	return Addresses{urls: &urls}
}

// Reveal returns the URLs with their user information.
func (a Addresses) Reveal() string {
	if a.urls == nil {
		return ""
	}
	return *a.urls
}

// IsSet reports whether there is any.
func (a Addresses) IsSet() bool { return a.urls != nil }

// String hides the user information of each address.
func (a Addresses) String() string {
	list := strings.Split(a.Reveal(), ",")
	for i, s := range list {
		list[i] = hideUser(strings.TrimSpace(s))
	}
	return strings.Join(list, ",")
}

// hideUser works on the text as well as on a parsed URL, since a URL that does
// not parse may hold a password too.
func hideUser(s string) string {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return s
	}
	scheme, _, found := strings.Cut(s[:at], "://")
	if !found {
		return redacted + s[at:]
	}
	return scheme + "://" + redacted + s[at:]
}

// Format makes every verb of fmt print String.
func (a Addresses) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, a.String()) }

// GoString is String.
func (a Addresses) GoString() string { return a.String() }

// MarshalText serves JSON, YAML and zerolog.
func (a Addresses) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// check reports the first address that is no URL of one of the schemes.
func (a Addresses) check(schemes ...string) error {
	if !a.IsSet() {
		return nil
	}
	for s := range strings.SplitSeq(a.Reveal(), ",") {
		s = strings.TrimSpace(s)
		if !strings.Contains(s, "://") {
			s = schemes[0] + "://" + s
		}
		u, err := url.Parse(s)
		if err != nil || u.Host == "" {
			return fmt.Errorf("%q is not an address", hideUser(s))
		}
		known := false
		for _, scheme := range schemes {
			known = known || u.Scheme == scheme
		}
		if !known {
			return fmt.Errorf("%q has an unknown scheme", hideUser(s))
		}
	}
	return nil
}
