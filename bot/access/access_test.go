package access_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/snapflame/snapflame/bot/access"
)

func gate(now *time.Time) *access.Gate {
	return access.New(access.Options{
		Key: []byte("0123456789abcdef0123456789abcdef"), Token: "api-token", PublicURL: "https://flame.example.com/",
		Now: func() time.Time { return *now },
	})
}

var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "inside") })

func do(h http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestNothingIsReadableWithoutAKey(t *testing.T) {
	now := time.Unix(1_796_020_000, 0)
	g := gate(&now)
	other := access.New(access.Options{Key: []byte("ffffffffffffffffffffffffffffffff"), Token: "x", PublicURL: "https://flame.example.com"})
	foreign := strings.TrimPrefix(other.URL("/incidents/a"), "https://flame.example.com")
	mine := strings.TrimPrefix(g.URL("/incidents/a"), "https://flame.example.com")
	for name, target := range map[string]string{
		"bare":               "/incidents/a",
		"another path":       strings.Replace(mine, "/incidents/a", "/incidents/b", 1),
		"another key":        foreign,
		"later expiry":       strings.Replace(mine, "exp=1", "exp=2", 1),
		"token in the query": "/incidents/a?token=api-token",
		"no signature":       strings.Split(mine, "&sig")[0],
		"traversal":          strings.Replace(mine, "/incidents/a", "/incidents/x/../a", 1),
	} {
		for face, h := range map[string]http.Handler{"pages": g.Pages(ok), "api": g.API(ok)} {
			if w := do(h, http.MethodGet, target); w.Code != 401 || strings.Contains(w.Body.String(), "inside") {
				t.Errorf("%s, %s: got %d, want 401", name, face, w.Code)
			}
		}
	}
	for _, auth := range []string{"Bearer nope", "Bearer ", "Basic api-token", "api-token", "Bearer api-token2"} {
		if w := do(g.Pages(ok), http.MethodGet, "/incidents/a", "Authorization", auth); w.Code != 401 {
			t.Errorf("Authorization %q: got %d, want 401", auth, w.Code)
		}
	}
	if w := do(g.Pages(ok), http.MethodGet, "/incidents/a", "Authorization", "Bearer api-token"); w.Code != 200 {
		t.Errorf("the token: got %d, want 200", w.Code)
	}
}

func TestALinkStartsASession(t *testing.T) {
	now := time.Unix(1_796_020_000, 0)
	g := gate(&now)
	link := strings.TrimPrefix(g.URL("/incidents/a"), "https://flame.example.com")
	w := do(g.Pages(ok), http.MethodGet, link)
	if w.Code != http.StatusFound || w.Header().Get("Location") != "/incidents/a" {
		t.Fatalf("got %d to %q, want 302 to the bare path", w.Code, w.Header().Get("Location"))
	}
	cookie := w.Result().Cookies()[0]
	if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteLaxMode {
		t.Errorf("cookie %v is not closed enough", cookie)
	}
	pair := cookie.Name + "=" + cookie.Value
	if w := do(g.Pages(ok), http.MethodGet, "/captures/b", "Cookie", pair); w.Code != 200 {
		t.Errorf("session: got %d, want 200", w.Code)
	}
	if w := do(g.API(ok), http.MethodPost, "/api/v1/captures", "Cookie", pair, "Sec-Fetch-Site", "same-origin"); w.Code != 403 {
		t.Errorf("a reader may not start captures: got %d, want 403", w.Code)
	}
	act := cookie.Name + "=" + strings.Replace(cookie.Value, "read.", "act.", 1)
	if w := do(g.Pages(ok), http.MethodGet, "/captures/b", "Cookie", act); w.Code != 401 {
		t.Errorf("a forged session: got %d, want 401", w.Code)
	}
	now = now.Add(access.SessionLife + time.Second)
	if w := do(g.Pages(ok), http.MethodGet, "/captures/b", "Cookie", pair); w.Code != 401 {
		t.Errorf("an old session: got %d, want 401", w.Code)
	}
	now = now.Add(access.LinkLife)
	if w := do(g.Pages(ok), http.MethodGet, link); w.Code != 401 {
		t.Errorf("an old link: got %d, want 401", w.Code)
	}
}

func signIn(g *access.Gate, token, to, site string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/session", strings.NewReader(url.Values{"token": {token}, "to": {to}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", site)
	w := httptest.NewRecorder()
	g.Pages(ok).ServeHTTP(w, r)
	return w
}

// TestALinkStaysOnThisHost: a path with two slashes is a host to a browser.
func TestALinkStaysOnThisHost(t *testing.T) {
	now := time.Unix(1_796_020_000, 0)
	g := gate(&now)
	link, err := url.Parse(g.Path("//evil.example/a"))
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.URL = &url.URL{Path: "//evil.example/a", RawQuery: link.RawQuery + "&at=2"}
	w := httptest.NewRecorder()
	g.Pages(ok).ServeHTTP(w, r)
	if to := w.Header().Get("Location"); w.Code != 302 || to != "/evil.example/a?at=2" {
		t.Errorf("got %d to %q", w.Code, to)
	}
}

func TestSignInWithTheToken(t *testing.T) {
	now := time.Unix(1_796_020_000, 0)
	g := gate(&now)
	if w := signIn(g, "wrong", "/", "same-origin"); w.Code != 401 {
		t.Errorf("wrong token: got %d", w.Code)
	}
	if w := signIn(g, "api-token", "/", "cross-site"); w.Code != 401 {
		t.Errorf("from another site: got %d", w.Code)
	}
	for to, want := range map[string]string{
		"/captures/x": "/captures/x", "": "/incidents", "https://evil.example": "/incidents",
		"//evil.example": "/evil.example", `/\evil.example`: "/%5Cevil.example", `/\/evil.example`: "/%5C/evil.example", "/\t/evil.example": "/%09/evil.example", "/\r\n/evil.example": "/%0D%0A/evil.example",
	} {
		w := signIn(g, "api-token", to, "same-origin")
		if w.Code != 303 || w.Header().Get("Location") != want {
			t.Errorf("to %q: got %d %q, want %q", to, w.Code, w.Header().Get("Location"), want)
		}
	}
	c := signIn(g, "api-token", "/", "same-origin").Result().Cookies()[0]
	pair := c.Name + "=" + c.Value
	if w := do(g.API(ok), http.MethodPost, "/api/v1/captures", "Cookie", pair, "Sec-Fetch-Site", "same-origin"); w.Code != 200 {
		t.Errorf("signed in: got %d, want 200", w.Code)
	}
	for _, site := range []string{"cross-site", "same-site", "none"} {
		if w := do(g.API(ok), http.MethodPost, "/api/v1/captures", "Cookie", pair, "Sec-Fetch-Site", site); w.Code != 403 {
			t.Errorf("Sec-Fetch-Site %s: got %d, want 403", site, w.Code)
		}
	}
	if w := do(g.API(ok), http.MethodPost, "/api/v1/captures", "Cookie", pair); w.Code != 403 {
		t.Errorf("without an origin: got %d, want 403", w.Code)
	}
}

func TestTheRefusalIsInert(t *testing.T) {
	now := time.Unix(1_796_020_000, 0)
	w := do(gate(&now).Pages(ok), http.MethodGet, "/%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
	if strings.Contains(w.Body.String(), "<script>") {
		t.Errorf("the path is not escaped: %s", w.Body)
	}
	if w.Header().Get("X-Frame-Options") != "DENY" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Errorf("the page can be framed: %v", w.Header())
	}
}

func TestNoTokenMeansNoBearerAccess(t *testing.T) {
	g := access.New(access.Options{Key: []byte("k")})
	if w := do(g.API(ok), http.MethodGet, "/api/v1/incidents", "Authorization", "Bearer "); w.Code != 401 {
		t.Errorf("got %d, want 401", w.Code)
	}
	if g.URL("/incidents/a") != "" {
		t.Errorf("a link without a public URL cannot be opened: %q", g.URL("/incidents/a"))
	}
}

// TestWithoutAKeyNothingOpens: the key is in a store that may answer late.
func TestWithoutAKeyNothingOpens(t *testing.T) {
	g := access.New(access.Options{PublicURL: "https://flame.example.com"})
	if u := g.URL("/incidents/a"); u != "" {
		t.Errorf("got %q, want no link that an empty key has signed", u)
	}
	if got := g.Of(httptest.NewRequest(http.MethodGet, g.Path("/incidents/a"), nil)); got != access.None {
		t.Errorf("an empty key opened it: %v", got)
	}
	g.SetKey([]byte("0123456789abcdef0123456789abcdef"))
	if got := g.Of(httptest.NewRequest(http.MethodGet, g.Path("/incidents/a"), nil)); got != access.Read || g.URL("/incidents/a") == "" {
		t.Errorf("got %v with a key, want Read", got)
	}
}
