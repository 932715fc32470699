package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// How long things live.
const (
	// LinkLife is how long a link from Slack opens: a post-mortem is written within days.
	LinkLife = 14 * 24 * time.Hour
	// SessionLife is how long an opened link reads on.
	SessionLife = 12 * time.Hour

	cookieName = "snapflame_session"
)

// Grant is what a request may do.
type Grant int

// The grants, each including the ones before it.
const (
	None Grant = iota
	Read
	Act // start captures, download raw profiles without an audit name
)

// Options of a Gate.
type Options struct {
	// Key signs links and sessions; 32 random bytes that all replicas share. Empty:
	// SetKey brings it later, and until then no link is made and none opens.
	Key []byte
	// Token is api.token; empty: no bearer access at all.
	Token string
	// PublicURL is how people reach the service; empty: links are relative.
	PublicURL string
	// Life is how long a link opens; 0: LinkLife.
	Life time.Duration
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Gate signs links and checks requests.
type Gate struct {
	key    atomic.Pointer[[]byte]
	token  [sha256.Size]byte
	closed bool
	base   string
	life   time.Duration
	secure bool
	now    func() time.Time
}

// New returns a Gate.
func New(o Options) *Gate {
	g := &Gate{
		token: sha256.Sum256([]byte(o.Token)), closed: o.Token == "",
		base: strings.TrimRight(o.PublicURL, "/"), secure: strings.HasPrefix(o.PublicURL, "https://"), life: o.Life, now: o.Now,
	}
	if len(o.Key) > 0 {
		g.SetKey(o.Key)
	}
	if g.life <= 0 {
		g.life = LinkLife
	}
	if g.now == nil {
		g.now = time.Now
	}
	return g
}

// SetKey brings the key that is not known at the start: it stands in a store
// that may not answer yet.
func (g *Gate) SetKey(key []byte) { g.key.Store(&key) }

// URL returns the signed link of a path such as /incidents/x; empty without a
// public URL or a key, because a link that nobody can open is worse than none.
func (g *Gate) URL(path string) string {
	if g.base == "" || g.key.Load() == nil {
		return ""
	}
	return g.base + g.Path(path)
}

// Path is URL without the public part, for pages that are served locally.
func (g *Gate) Path(path string) string {
	exp := strconv.FormatInt(g.now().Add(g.life).Unix(), 10)
	return (&url.URL{Path: path}).EscapedPath() + "?exp=" + exp + "&sig=" + g.sign("link", path, exp)
}

func (g *Gate) sign(kind, what, exp string) string {
	var key []byte
	if k := g.key.Load(); k != nil {
		key = *k
	}
	m := hmac.New(sha256.New, key)
	for _, s := range []string{kind, what, exp} {
		m.Write([]byte(strconv.Itoa(len(s)) + ":" + s))
	}
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:20])
}

func (g *Gate) valid(kind, what, exp, sig string) bool {
	at, err := strconv.ParseInt(exp, 10, 64)
	if err != nil || g.now().Unix() >= at || g.key.Load() == nil {
		return false
	}
	return subtle.ConstantTimeCompare([]byte(sig), []byte(g.sign(kind, what, exp))) == 1
}

// Of tells what a request may do.
func (g *Gate) Of(r *http.Request) Grant {
	if h := r.Header.Get("Authorization"); h != "" {
		if g.bearer(h) {
			return Act
		}
		return None // a wrong token is refused even when a cookie would do
	}
	q := r.URL.Query()
	if sig := q.Get("sig"); sig != "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) && g.valid("link", r.URL.Path, q.Get("exp"), sig) {
		return Read
	}
	if c, err := r.Cookie(cookieName); err == nil {
		if parts := strings.SplitN(c.Value, ".", 3); len(parts) == 3 && g.valid("session", parts[0], parts[1], parts[2]) {
			if parts[0] == "act" {
				return Act
			}
			return Read
		}
	}
	return None
}

func (g *Gate) bearer(header string) bool {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	return g.matches(strings.TrimSpace(token))
}

func (g *Gate) matches(token string) bool {
	got := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(got[:], g.token[:]) == 1 && !g.closed
}

// setSession writes the session cookie. SameSite=Lax keeps other sites from
// posting with it and still lets a link from Slack arrive with it.
func (g *Gate) setSession(w http.ResponseWriter, grant string) {
	end := g.now().Add(SessionLife)
	exp := strconv.FormatInt(end.Unix(), 10)
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure follows public_url: browsers drop a Secure cookie that comes over plain http
		Name: cookieName, Value: grant + "." + exp + "." + g.sign("session", grant, exp), Path: "/",
		Expires: end, HttpOnly: true, Secure: g.secure, SameSite: http.SameSiteLaxMode,
	})
}
