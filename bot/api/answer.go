package api

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/snapflame/snapflame/capture"
)

//go:embed openapi.yaml
var spec []byte

func openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(spec)
}

// Problem answers with an error in the form of RFC 9457.
func Problem(w http.ResponseWriter, status int, title, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "about:blank", "title": title, "status": status, "detail": detail})
}

// fail answers an error of the store. What is inside stays inside: the answer
// says only whether the thing is missing or the store.
func fail(w http.ResponseWriter, err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, capture.ErrNotFound):
		Problem(w, http.StatusNotFound, "not found", "there is no such thing, or its retention has passed")
	default:
		w.Header().Set("Retry-After", "5")
		Problem(w, http.StatusServiceUnavailable, "the store does not answer", "try again; /readyz says what is wrong")
	}
	return true
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// cached answers with an ETag of the content, so that a poller pays for changes only.
func cached(w http.ResponseWriter, r *http.Request, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		Problem(w, http.StatusInternalServerError, "the answer cannot be written", "this is a fault of snapflame; please report the incident id")
		return
	}
	sum := sha256.Sum256(b)
	etag := `"` + hex.EncodeToString(sum[:12]) + `"`
	w.Header().Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, '\n'))
}
