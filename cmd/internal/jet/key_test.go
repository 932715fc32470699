package jet_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/snapflame/snapflame/cmd/internal/jet"
)

func FuzzKey(f *testing.F) {
	for _, s := range []string{"a", "inc.root", ".", "..", "a..b", "a.", ".a", "=", "=41", "ü*> \x00", "A=4"} {
		f.Add(s)
	}
	valid := regexp.MustCompile(`^[-=_a-zA-Z0-9]+(\.[-=_a-zA-Z0-9]+)*$`)
	f.Fuzz(func(t *testing.T, s string) {
		k, err := jet.EncodeKey(s)
		if err != nil {
			if s != "" && len(s) < 100 {
				t.Errorf("%q: %v", s, err)
			}
			return
		}
		if !valid.MatchString(k) {
			t.Errorf("%q became %q, not a key", s, k)
		}
		if back := jet.DecodeKey(k); back != s {
			t.Errorf("%q came back as %q", s, back)
		}
	})
}

func TestReadMeta(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]bool{
		"$JS.ACK.S.C.2.7.9.1700000000000000000.3":             true,
		"$JS.ACK.dom.hash.S.C.2.7.9.1700000000000000000.3":    true,
		"$JS.ACK.dom.hash.S.C.2.7.9.1700000000000000000.3.xy": true,
		"$JS.ACK.S.C.2":                  false,
		"_INBOX.x":                       false,
		"":                               false,
		"$JS.ACK.S.C.x.y.z.1.3":          false,
		strings.Repeat("$JS.ACK.", 1000): false,
	} {
		stream, consumer, delivered, seq, ok := jet.ReadMeta(reply)
		if ok != want || (ok && (stream != "S" || consumer != "C" || delivered != 2 || seq != 7)) {
			t.Errorf("%.60s: got %s %s %d %d %v, want %v", reply, stream, consumer, delivered, seq, ok, want)
		}
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"a.>", "a.b", true},
		{"a.>", "a.b.>", true},
		{"a.>", "a.*", true},
		{"a.>", "a", false},
		{"a.*", "a.b", true},
		{"a.*", "a.>", false},
		{"a.b", "a.*", false},
		{">", "x.y", true},
		{"a.b", "a.b", true},
		{"a.b.c", "a.b", false},
	} {
		if got := jet.Covers(c.pattern, c.s); got != c.want {
			t.Errorf("%s covers %s: got %v, want %v", c.pattern, c.s, got, c.want)
		}
	}
}

func TestAddressesAreShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"nats://u:secret@h:4222", "u:secret@h:4222", "tls://secret@h:4222, nats://u:secret@h:4222", "wss://u:secret@h/path?x=secret"} {
		got := jet.Redact(s)
		if strings.Contains(got, "secret") || !strings.Contains(got, "h") {
			t.Errorf("%s is shown as %s", s, got)
		}
	}
}
