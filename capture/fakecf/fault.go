package fakecf

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Fault is something that goes wrong with one request. Several fields combine:
// a delay, then a status.
type Fault struct {
	Delay time.Duration // before anything else
	// Hang answers nothing until the client gives up.
	Hang bool
	// ResetBefore cuts the connection before the request has any effect.
	ResetBefore bool
	// Status, with Code and Message, answers a JSON error at once.
	Status  int
	Code    int
	Message string
	// RetryAfter is the header's value, sent as it stands.
	RetryAfter string
	// Body is sent at once, as ContentType, with Status (200 when 0).
	Body        []byte
	ContentType string

	// The rest happens after the capture has been taken.
	ResetAfter bool
	Empty      bool // 200 and nothing
	// Truncate sends only the first part of the profile, as if that were all.
	Truncate bool
	// Cut announces the whole length and stops in the middle.
	Cut bool
	// Replace is sent in place of the profile.
	Replace []byte

	// Any plays it on every kind of request; else on captures only.
	Any bool
}

// playing is what a handler must know of its request: the fault that is still
// to come, and when it arrived.
type playing struct {
	fault *Fault
	asked time.Time
}

type playKey struct{}

// NextFaults queues faults: each is played once, in order, on the next request
// it applies to.
func (s *Server) NextFaults(f ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f...)
}

func (s *Server) fault(r Request) *Fault {
	s.mu.Lock()
	for i, f := range s.faults {
		if f.Any || r.Profile() {
			s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
			s.mu.Unlock()
			return &f
		}
	}
	s.mu.Unlock()
	if s.Fault != nil {
		return s.Fault(r)
	}
	return nil
}

// play does what happens before the request has any effect; true when that was all.
func (s *Server) play(w http.ResponseWriter, r *http.Request, f *Fault) bool {
	if f.Delay > 0 {
		t := time.NewTimer(f.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
			return true
		}
	}
	switch {
	case f.Hang:
		<-r.Context().Done()
		return true
	case f.ResetBefore:
		reset(w)
		return true
	case f.Body != nil:
		head(w, f)
		_, _ = w.Write(f.Body)
		return true
	case f.Status != 0:
		if f.RetryAfter != "" {
			w.Header().Set("Retry-After", f.RetryAfter)
		}
		fail(w, f.Status, f.Code, f.Message)
		return true
	}
	return false
}

func head(w http.ResponseWriter, f *Fault) {
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	if f.ContentType != "" {
		w.Header().Set("Content-Type", f.ContentType)
	}
	if f.Status != 0 {
		w.WriteHeader(f.Status)
	}
}

// spoil damages the answer of a capture that was taken; true when it did.
func (s *Server) spoil(w http.ResponseWriter, f *Fault, data []byte) bool {
	w.Header().Set("Content-Type", "application/vnd.google.protobuf")
	switch {
	case f.ResetAfter:
		reset(w)
	case f.Empty:
		w.WriteHeader(http.StatusOK)
	case f.Truncate:
		_, _ = w.Write(data[:len(data)/2])
	case f.Cut:
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data[:len(data)/2])
		_ = http.NewResponseController(w).Flush()
		reset(w)
	case f.Replace != nil:
		_, _ = w.Write(f.Replace)
	default:
		return false
	}
	return true
}

// reset drops the connection as a dying peer would, without an answer.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// Transport is the server without sockets: an http.RoundTripper that calls it
// directly, so that tests run under testing/synctest.
func (s *Server) Transport() http.RoundTripper { return transport{s} }

type transport struct{ s *Server }

var errReset = errors.New("connection reset by peer")

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	in := r.Clone(ctx)
	if in.Body == nil {
		in.Body = http.NoBody
	}
	rec := &recorder{header: http.Header{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.s.ServeHTTP(rec, in)
	}()
	<-done // the handler ends when the request's context does
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if rec.reset && rec.body.Len() == 0 {
		return nil, errReset
	}
	return rec.response(r), nil
}

// recorder collects an answer.
type recorder struct {
	header http.Header
	body   bytes.Buffer
	status int
	reset  bool
}

func (w *recorder) Header() http.Header         { return w.header }
func (w *recorder) Write(b []byte) (int, error) { return w.body.Write(b) }
func (w *recorder) WriteHeader(code int)        { w.status = code }

// Hijack is only called to drop the connection.
func (w *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.reset = true
	return nil, nil, errReset
}

func (w *recorder) response(r *http.Request) *http.Response {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	res := &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Request: r, ContentLength: int64(w.body.Len()),
		Body: io.NopCloser(&w.body),
	}
	if w.reset {
		res.ContentLength = -1
		res.Body = io.NopCloser(io.MultiReader(&w.body, brokenReader{}))
	}
	return res
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
