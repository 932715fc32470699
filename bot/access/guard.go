package access

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"net/http"
	"net/url"
	"strings"
)

// Pages lets readers of pages through. A signed link starts a session and is
// redirected to the bare path, so that the signature does not stay in the
// address bar, in Referer headers or in what people copy.
func (g *Gate) Pages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Frame-Options", "DENY")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "private, no-store")
		if r.Method == http.MethodPost && r.URL.Path == "/session" {
			g.login(w, r)
			return
		}
		grant := g.Of(r)
		if grant == None {
			refuse(w, r)
			return
		}
		if r.URL.Query().Has("sig") && r.Header.Get("Authorization") == "" {
			if c, err := r.Cookie(cookieName); err != nil || !strings.HasPrefix(c.Value, "act.") {
				g.setSession(w, "read")
			}
			q := r.URL.Query()
			q.Del("sig")
			q.Del("exp")
			http.Redirect(w, r, local(r.URL, q), http.StatusFound) //nolint:gosec // local keeps it on this host, whatever was asked for
			return
		}
		if unsafeMethod(r.Method) && !g.mayWrite(w, r, grant) {
			return
		}
		next.ServeHTTP(w, r)
	})
}

// API lets the bearer token through, and a session for reading. Answers are
// RFC 9457 problems.
func (g *Gate) API(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "private, no-cache")
		grant := g.Of(r)
		if grant == None {
			w.Header().Set("WWW-Authenticate", `Bearer realm="snapflame"`)
			problem(w, http.StatusUnauthorized, "missing or wrong token", "send the value of api.token as Authorization: Bearer …")
			return
		}
		if unsafeMethod(r.Method) && !g.mayWrite(w, r, grant) {
			return
		}
		next.ServeHTTP(w, r)
	})
}

// mayWrite demands the token for what changes something; a cookie alone also
// needs a request from our own pages, whatever SameSite the browser honours.
func (g *Gate) mayWrite(w http.ResponseWriter, r *http.Request, grant Grant) bool {
	if grant < Act {
		problem(w, http.StatusForbidden, "this needs the token", "a link from Slack reads; use the buttons in Slack, or sign in with api.token, to start a capture")
		return false
	}
	if r.Header.Get("Authorization") == "" && !sameOrigin(r) {
		problem(w, http.StatusForbidden, "request from another site", "open the page itself and try again")
		return false
	}
	return true
}

func unsafeMethod(m string) bool {
	return m != http.MethodGet && m != http.MethodHead && m != http.MethodOptions
}

func sameOrigin(r *http.Request) bool {
	if s := r.Header.Get("Sec-Fetch-Site"); s != "" {
		return s == "same-origin"
	}
	u, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && u.Host != "" && u.Host == r.Host
}

func (g *Gate) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	if !sameOrigin(r) || !g.matches(r.PostFormValue("token")) {
		refuse(w, r)
		return
	}
	g.setSession(w, "act")
	to := &url.URL{Path: "/incidents"}
	if p := r.PostFormValue("to"); strings.HasPrefix(p, "/") {
		to = &url.URL{Path: p}
	}
	http.Redirect(w, r, local(to, nil), http.StatusSeeOther)
}

// local is a reference to a page of this host: one slash, then an escaped path.
// Browsers read "//x", "/\x" and, because they drop tabs, "/\t/x" as host x.
func local(u *url.URL, q url.Values) string {
	to := "/" + strings.TrimLeft(u.EscapedPath(), `/\`)
	if len(q) > 0 {
		to += "?" + q.Encode()
	}
	return to
}

// refuseStyle is inline with its own hash in the policy: the page of a person
// without access must not need a second request.
const refuseStyle = `body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:12vh auto;padding:0 1rem;color:#1d1c1d;background:#fff}
input,button{font:inherit;padding:.5rem .7rem;border:1px solid #868686;border-radius:6px}button{background:#7a2e0e;color:#fff;border-color:#7a2e0e}
@media(prefers-color-scheme:dark){body{color:#e8e8e8;background:#1a1d21}input{background:#222529;color:inherit}}`

func refuse(w http.ResponseWriter, r *http.Request) {
	sum := sha256.Sum256([]byte(refuseStyle))
	w.Header().Set("WWW-Authenticate", `Bearer realm="snapflame"`)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	w.WriteHeader(http.StatusUnauthorized)
	if r.Method == http.MethodHead {
		return
	}
	to := html.EscapeString(r.URL.Path)
	_, _ = w.Write([]byte(`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>snapflame: no access</title><style>` + refuseStyle + `</style>
<h1>This page needs a key</h1><p>Open it from the Slack thread of the incident: the link there is signed, and it expires. Or sign in with the token that the operator set as <code>api.token</code>.</p>
<form method="post" action="/session"><input type="hidden" name="to" value="` + to + `"><label>Token <input type="password" name="token" autocomplete="current-password" required></label> <button>Sign in</button></form></html>`))
}
