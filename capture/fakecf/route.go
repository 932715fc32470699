package fakecf

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Request is one request as it came in.
type Request struct {
	At     time.Time
	Method string
	Path   string // without /client/v4, escaped
	Query  string
	Body   string
	Status int // 0 while it runs, or when it was reset
}

// Profile reports whether the request asks for a capture.
func (r Request) Profile() bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.Path, "/profile")
}

// Requests returns every request so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// ServeHTTP answers as https://api.cloudflare.com does, with or without /client/v4.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		fail(w, http.StatusBadRequest, 6003, "Invalid request body")
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/client/v4")
	req := Request{At: s.now(), Method: r.Method, Path: path, Query: r.URL.RawQuery, Body: string(body)}
	n := s.note(req)
	sw := &statusWriter{ResponseWriter: w}
	defer func() {
		s.mu.Lock()
		s.requests[n].Status = sw.status
		s.mu.Unlock()
	}()
	// The server notices a client that went away only once the body is read.
	fault := s.fault(req)
	if fault != nil && s.play(sw, r, fault) {
		return
	}
	if !s.admit(sw, r, req.At) {
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), playKey{}, playing{fault: fault, asked: req.At}))
	s.route(sw, r, path)
}

func (s *Server) note(r Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	return len(s.requests) - 1
}

// admit checks the account-wide limit, then the token.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, now time.Time) bool {
	if until, ok := s.overGlobalLimit(now); ok {
		s.retryAfter(w, until.Sub(now))
		fail(w, http.StatusTooManyRequests, 971, "Please wait and consider throttling your request speed. More than 1200 requests per 300 seconds reached.")
		return false
	}
	auth := r.Header.Get("Authorization")
	token, ok := strings.CutPrefix(auth, "Bearer ")
	if !ok || token == "" {
		fail(w, http.StatusBadRequest, 9106, "Missing X-Auth-Key, X-Auth-Email or Authorization headers")
		return false
	}
	if s.Token != "" && token != s.Token {
		fail(w, http.StatusUnauthorized, 1000, "Invalid API Token")
		return false
	}
	return true
}

func (s *Server) overGlobalLimit(now time.Time) (time.Time, bool) {
	limit := s.GlobalLimit
	if limit == 0 {
		limit = globalLimit
	}
	if limit < 0 {
		return time.Time{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.blocked) {
		return s.blocked, true
	}
	for len(s.calls) > 0 && now.Sub(s.calls[0]) >= globalWindow {
		s.calls = s.calls[1:]
	}
	if len(s.calls) >= limit {
		s.blocked, s.calls = now.Add(globalWindow), nil
		return s.blocked, true
	}
	s.calls = append(s.calls, now)
	return time.Time{}, false
}

func (s *Server) route(w http.ResponseWriter, r *http.Request, path string) {
	mux := http.NewServeMux()
	account := func(f http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if s.AccountID != "" && r.PathValue("account") != s.AccountID {
				fail(w, http.StatusForbidden, 10000, "Authentication error")
				return
			}
			f(w, r)
		}
	}
	const a = "/accounts/{account}/workers"
	mux.HandleFunc("GET /user/tokens/verify", s.verifyToken)
	mux.HandleFunc("GET /accounts/{account}/tokens/verify", account(s.verifyToken))
	mux.HandleFunc("GET "+a+"/workers", account(s.listWorkers))
	mux.HandleFunc("GET "+a+"/workers/{worker}", account(s.getWorker))
	mux.HandleFunc("GET "+a+"/workers/{worker}/versions", account(s.listVersions))
	mux.HandleFunc("GET "+a+"/workers/{worker}/versions/{version}", account(s.getVersion))
	mux.HandleFunc("POST "+a+"/workers/{worker}/versions/{version}/profile", account(s.profile))
	mux.HandleFunc("GET "+a+"/scripts/{script}/deployments", account(s.listDeployments))
	mux.HandleFunc("GET "+a+"/durable_objects/namespaces", account(s.listNamespaces))
	mux.HandleFunc("GET "+a+"/durable_objects/namespaces/{ns}/objects", account(s.listObjects))
	mux.HandleFunc("POST "+a+"/observability/telemetry/query", account(s.queryLogs))
	mux.HandleFunc("GET "+a+"/dispatch/namespaces/{dispatch}/scripts/{script}", account(s.getDispatched))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fail(w, http.StatusNotFound, 7003, "Could not route to "+path+", perhaps your object identifier is invalid?")
	})
	r2 := r.Clone(r.Context())
	r2.URL.Path = strings.TrimPrefix(r.URL.Path, "/client/v4")
	r2.URL.RawPath = strings.TrimPrefix(r.URL.RawPath, "/client/v4")
	mux.ServeHTTP(w, r2)
}

// retryAfter says when to come back, rounded up to whole seconds as the API does.
func (s *Server) retryAfter(w http.ResponseWriter, d time.Duration) {
	secs := int((d + time.Second - 1) / time.Second)
	switch s.RetryAfter {
	case "seconds":
		w.Header().Set("Retry-After", strconv.Itoa(secs))
	case "date":
		w.Header().Set("Retry-After", s.now().Add(time.Duration(secs)*time.Second).UTC().Format(http.TimeFormat))
	}
}

type message struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type envelope struct {
	Success  bool      `json:"success"`
	Errors   []message `json:"errors"`
	Messages []message `json:"messages"`
	Result   any       `json:"result"`
	Info     any       `json:"result_info,omitempty"`
}

func fail(w http.ResponseWriter, status, code int, text string) {
	writeJSON(w, status, envelope{Errors: []message{{code, text}}, Messages: []message{}})
}

func succeed(w http.ResponseWriter, result, info any) {
	writeJSON(w, http.StatusOK, envelope{Success: true, Errors: []message{}, Messages: []message{}, Result: result, Info: info})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has gone: nobody to tell
}

// statusWriter remembers what was answered.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(code int) {
	w.status = code
	w.ResponseWriter.WriteHeader(code)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
