package fakecf

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Capture is one accepted or refused request for a profile.
type Capture struct {
	N         int
	Asked     time.Time // when the request arrived; a Fault's delay follows
	At, End   time.Time
	Worker    string // as asked: id or name
	Script    string // the name of the Worker; empty when there is none
	Version   string // as asked: may be "latest" or a prefix
	VersionID string // what it meant
	Type      string
	Namespace string
	Actor     string
	Duration  time.Duration
	// Outcome: "profile" (bytes were sent), "refused" (no isolate was touched),
	// "lost" (it was taken, and its answer was not delivered whole).
	Outcome string
	Status  int
	Message string
	Bytes   int
}

// Target is what two captures must not share too closely.
func (c Capture) Target() string {
	if c.Actor != "" {
		return c.Actor
	}
	return c.Script
}

// Captures returns every request for a profile so far, oldest first.
func (s *Server) Captures() []Capture {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Capture(nil), s.captures...)
}

// The documented texts ("Profiling in production", Limits).
const (
	textNoExecutions  = "No recent executions were found for this Worker."
	textNoIsolate     = "The Worker has no loaded isolate in its recent execution locations."
	textUnavailable   = "Worker profiling is unavailable in this environment."
	textUnsupported   = "This Worker does not support runtime profiling."
	textCouldNotStart = "The Worker runtime could not start profiling. Please try again."
)

type profileBody struct {
	DurationMS  *int64  `json:"duration_ms"`
	ProfileType string  `json:"profile_type"`
	NamespaceID *string `json:"namespace_id"`
	ActorID     *string `json:"actor_id"`
}

type refusal struct {
	status, code int
	text         string
}

func (s *Server) profile(w http.ResponseWriter, r *http.Request) {
	play, _ := r.Context().Value(playKey{}).(playing)
	c := Capture{Asked: play.asked, At: s.now(), Worker: r.PathValue("worker"), Version: r.PathValue("version")}
	var b profileBody
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	err := dec.Decode(&b)
	ref := s.check(&c, b, err)
	if ref != nil {
		c.Outcome, c.Status, c.Message, c.End = "refused", ref.status, ref.text, c.At
		s.keep(c)
		if ref.status == http.StatusTooManyRequests {
			s.retryAfter(w, s.CaptureWindow)
		}
		fail(w, ref.status, ref.code, ref.text)
		return
	}
	c.Outcome = "lost" // until the last byte is out
	c.N = s.keep(c)
	if s.OnCapture != nil {
		s.OnCapture(c)
	}
	delivered := s.wait(r, c.Duration)
	data := s.encode(s.bytes(c))
	c.End, c.Status, c.Bytes = s.now(), http.StatusOK, len(data)
	if !delivered {
		s.update(c)
		return
	}
	if play.fault != nil && s.spoil(w, play.fault, data) {
		s.update(c)
		return
	}
	c.Outcome = "profile"
	s.update(c) // before the bytes: a client that has them may look at once
	w.Header().Set("Content-Type", "application/vnd.google.protobuf")
	_, _ = w.Write(data)
}

// wait lets the capture's time pass; false when the client has gone.
func (s *Server) wait(r *http.Request, d time.Duration) bool {
	if s.Speed > 0 {
		d = time.Duration(float64(d) / s.Speed)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

var actorID = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)

// check applies the rules of the endpoint, in an order that names the
// request's own mistakes before the account's.
func (s *Server) check(c *Capture, b profileBody, err error) *refusal {
	bad := func(text string) *refusal { return &refusal{http.StatusBadRequest, 10001, text} }
	if err != nil {
		return bad("Could not parse the request body: " + err.Error())
	}
	if b.DurationMS == nil || *b.DurationMS < minDuration || *b.DurationMS > maxDuration {
		return bad("duration_ms is required and must be between 1000 and 50000.")
	}
	c.Duration = time.Duration(*b.DurationMS) * time.Millisecond
	c.Type = b.ProfileType
	if c.Type == "" {
		c.Type = "cpu"
	}
	if c.Type != "cpu" && c.Type != "heap" {
		return bad("profile_type must be one of: cpu, heap.")
	}
	if (b.NamespaceID == nil) != (b.ActorID == nil) {
		return bad("namespace_id and actor_id must be given together.")
	}
	if b.ActorID != nil {
		c.Namespace, c.Actor = *b.NamespaceID, strings.ToLower(*b.ActorID)
		if !actorID.MatchString(*b.ActorID) {
			return bad("actor_id must be a 64-character hexadecimal string.")
		}
	}
	if s.NoProfiling {
		return &refusal{http.StatusForbidden, 10000, "Authentication error"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ref := s.limited(c.At); ref != nil {
		return ref
	}
	return s.find(c)
}

// limited applies the capture rate limit, which counts accepted requests.
func (s *Server) limited(now time.Time) *refusal {
	if s.CaptureLimit <= 0 {
		return nil
	}
	for len(s.accepted) > 0 && now.Sub(s.accepted[0]) >= s.CaptureWindow {
		s.accepted = s.accepted[1:]
	}
	if len(s.accepted) >= s.CaptureLimit {
		return &refusal{http.StatusTooManyRequests, 10429, "Too many profile captures. Please try again later."}
	}
	s.accepted = append(s.accepted, now)
	return nil
}

// find looks for an isolate to profile. The caller holds mu.
func (s *Server) find(c *Capture) *refusal {
	none := func(text string, code int) *refusal { return &refusal{http.StatusNotFound, code, text} }
	w := s.worker(c.Worker)
	if w == nil {
		return none("This Worker does not exist on your account.", 10007)
	}
	c.Script = w.Name
	v := w.resolve(c.Version)
	if v == nil {
		return none("The requested version was not found.", 10222)
	}
	c.VersionID = v.ID
	switch {
	case w.Unavailable:
		return &refusal{http.StatusForbidden, 10394, textUnavailable}
	case w.Unsupported:
		return &refusal{http.StatusBadRequest, 10395, textUnsupported}
	case c.Actor != "":
		if ref := s.findObject(c, w, v); ref != nil {
			return ref
		}
	case v.Quiet:
		return none(textNoExecutions, 10393)
	}
	if v.Unloaded {
		return &refusal{http.StatusServiceUnavailable, 10396, textNoIsolate}
	}
	if v.CannotStart > 0 {
		v.CannotStart--
		return &refusal{http.StatusInternalServerError, 10397, textCouldNotStart}
	}
	return nil
}

// findObject wants the namespace to be implemented by the Worker, and the
// object to be live on the requested version: it keeps the one it started on.
func (s *Server) findObject(c *Capture, w *Worker, v *Version) *refusal {
	owned := slices.ContainsFunc(s.namespaces, func(n Namespace) bool { return n.ID == c.Namespace && n.Script == w.Name })
	if !owned {
		return &refusal{http.StatusNotFound, 10066, "The Durable Object namespace was not found for this Worker."}
	}
	o := s.objects[c.Actor]
	switch {
	case o == nil || o.Namespace != c.Namespace || o.Inactive || o.Version != "" && o.Version != v.ID:
		return &refusal{http.StatusNotFound, 10393, textNoExecutions}
	case c.At.Before(o.LoadedFrom):
		return &refusal{http.StatusServiceUnavailable, 10396, textNoIsolate}
	}
	return nil
}

// resolve reads "latest" (the newest upload, deployed or not), a full id, or a
// prefix of eight characters or more.
func (w *Worker) resolve(version string) *Version {
	if version == "latest" {
		if len(w.Versions) == 0 {
			return nil
		}
		return &w.Versions[len(w.Versions)-1]
	}
	for i := range w.Versions {
		id := w.Versions[i].ID
		if id == version || len(version) >= minPrefix && strings.HasPrefix(id, version) {
			return &w.Versions[i]
		}
	}
	return nil
}

func (s *Server) keep(c Capture) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.N = len(s.captures)
	s.captures = append(s.captures, c)
	return c.N
}

func (s *Server) update(c Capture) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.captures[c.N] = c
}
