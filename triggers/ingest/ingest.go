package ingest

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Bounds of one request. A Tail Worker sends at most a few hundred records of
// 256 KB each in practice; Logpush is told by max_upload_bytes (5 MB at least).
const (
	// MaxBody bounds a body as sent, in bytes.
	MaxBody = 16 << 20
	// MaxUnpacked bounds a body after gzip, in bytes.
	MaxUnpacked = 64 << 20
	// chunkBytes is how much of an array or NDJSON body goes into one message:
	// few enough bytes that a redelivery repeats little, enough that a burst is
	// not a publish per event.
	chunkBytes = 128 << 10
)

// The errors a Publisher reports; each is an answer of its own.
var (
	// ErrFull says that the stream takes no more; the sender should retry later.
	ErrFull = errors.New("the event queue is full")
	// ErrTooLarge says that one message is over the queue's payload limit.
	ErrTooLarge = errors.New("over the event queue's message size limit")
)

// Publisher puts one message into the events stream and returns once it is
// acknowledged. id makes a repeated publish idempotent; empty: no deduplication.
type Publisher interface {
	PublishEvent(ctx context.Context, script string, data []byte, id string) error
	// MaxPayload is the largest message the queue takes, in bytes.
	MaxPayload() int
}

// Options of a Handler.
type Options struct {
	// Token is the bearer token and the cf-webhook-auth secret. Empty refuses all.
	Token string
	// Observe is called with the path, status and messages published of each request; may be nil.
	Observe func(path string, status, messages int)
	// Dropped is called with the number of events that a Tail Worker says it had
	// to drop before a batch that was accepted (HeaderDropped); may be nil.
	Dropped func(n int)
}

// HeaderDropped is how a Tail Worker says how many events it has dropped since
// its last batch that arrived. The number is about right: a try whose answer
// got lost says it again.
const HeaderDropped = "X-Snapflame-Dropped"

// maxDropped bounds what one request can say: a counter must not be moved by a
// slip of a sender to where it tells nothing any more.
const maxDropped = 1_000_000

// New returns the handler of POST /ingest/events, /ingest/issues, /v1/logs and
// /v1/traces.
func New(pub Publisher, o Options) http.Handler {
	h := &handler{pub: pub, token: sha256.Sum256([]byte(o.Token)), closed: o.Token == "", observe: o.Observe, dropped: o.Dropped}
	if h.observe == nil {
		h.observe = func(string, int, int) {}
	}
	if h.dropped == nil {
		h.dropped = func(int) {}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /ingest/events", h.serve(bearer, accepted))
	mux.HandleFunc("POST /ingest/issues", h.serve(webhook, accepted))
	mux.HandleFunc("POST /v1/logs", h.serve(bearer, otlpOK))
	mux.HandleFunc("POST /v1/traces", h.serve(bearer, otlpOK))
	return mux
}

type handler struct {
	pub     Publisher
	token   [sha256.Size]byte
	closed  bool
	observe func(path string, status, messages int)
	dropped func(n int)
}

// answer is what a request gets: a status and a sentence.
type answer struct {
	status   int
	text     string
	messages int
	retry    string // Retry-After, seconds
}

type credential func(*http.Request) string

func bearer(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// webhook takes the header that Cloudflare Notifications sends, and the bearer
// token as well, for people who try the endpoint by hand.
func webhook(r *http.Request) string {
	if v := r.Header.Get("cf-webhook-auth"); v != "" {
		return v
	}
	return bearer(r)
}

// The success answers differ: OTLP exporters want 200 and a JSON object.
func accepted(a answer) answer { a.status = http.StatusAccepted; return a }

func otlpOK(a answer) answer {
	a.status, a.text = http.StatusOK, `{"partialSuccess":{}}`
	return a
}

func (h *handler) serve(cred credential, success func(answer) answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a := h.handle(r, cred)
		if a.status == 0 {
			a = success(a)
		}
		h.observe(r.URL.Path, a.status, a.messages)
		if a.retry != "" {
			w.Header().Set("Retry-After", a.retry)
		}
		if strings.HasPrefix(a.text, "{") {
			w.Header().Set("Content-Type", "application/json")
		} else {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		}
		if a.status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="snapflame ingest"`)
		}
		w.WriteHeader(a.status)
		fmt.Fprintln(w, a.text)
	}
}

func (h *handler) handle(r *http.Request, cred credential) answer {
	if h.closed {
		return answer{status: http.StatusUnauthorized, text: "ingest is closed: set ingest.token (SNAPFLAME_INGEST_TOKEN) and send it as a bearer token"}
	}
	got := sha256.Sum256([]byte(cred(r)))
	if subtle.ConstantTimeCompare(got[:], h.token[:]) != 1 {
		return answer{status: http.StatusUnauthorized, text: "missing or wrong token: send the value of ingest.token as Authorization: Bearer …, or as cf-webhook-auth"}
	}
	body, bad := readBody(r)
	if bad != nil {
		return *bad
	}
	if isProbe(body) {
		return answer{status: http.StatusOK, text: "ok"}
	}
	chunks, bad := split(body, h.pub.MaxPayload())
	if bad != nil {
		return *bad
	}
	return h.publish(r, chunks)
}

func (h *handler) publish(r *http.Request, chunks []chunk) answer {
	key := r.Header.Get("Idempotency-Key")
	if len(key) > 128 {
		return answer{status: http.StatusBadRequest, text: "Idempotency-Key is over 128 characters"}
	}
	for i, c := range chunks {
		id := ""
		if key != "" {
			id = fmt.Sprintf("%s.%d", key, i)
		}
		switch err := h.pub.PublishEvent(r.Context(), c.script, c.data, id); {
		case err == nil:
		case errors.Is(err, ErrTooLarge):
			return answer{status: http.StatusRequestEntityTooLarge, messages: i, text: "one event is over the queue's message size limit; trim its logs"}
		case errors.Is(err, ErrFull):
			return answer{status: http.StatusServiceUnavailable, messages: i, retry: "30", text: "the event queue is full; send the same body again later"}
		default:
			return answer{status: http.StatusServiceUnavailable, messages: i, retry: "5", text: "the event queue does not answer; send the same body again later"}
		}
	}
	if n, err := strconv.Atoi(r.Header.Get(HeaderDropped)); err == nil && n > 0 {
		h.dropped(min(n, maxDropped))
	}
	return answer{messages: len(chunks), text: fmt.Sprintf("accepted in %d messages", len(chunks))}
}
