package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// readBody bounds, unpacks and sniffs: senders forget Content-Encoding, so gzip
// is known by its first bytes as well.
func readBody(r *http.Request) ([]byte, *answer) {
	if bad := checkType(r.Header); bad != nil {
		return nil, bad
	}
	if r.ContentLength > MaxBody {
		return nil, &answer{status: http.StatusRequestEntityTooLarge, text: "the body is over 16 MiB; send smaller batches"}
	}
	raw, err := readBounded(r.Body, MaxBody)
	if errors.Is(err, errTooLong) {
		return nil, &answer{status: http.StatusRequestEntityTooLarge, text: "the body is over 16 MiB; send smaller batches"}
	}
	if err != nil {
		return nil, &answer{status: http.StatusBadRequest, text: "the body ended early; send it again"}
	}
	if !bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) {
		return raw, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err == nil {
		raw, err = readBounded(z, MaxUnpacked)
	}
	if errors.Is(err, errTooLong) {
		return nil, &answer{status: http.StatusRequestEntityTooLarge, text: "the body unpacks to over 64 MiB; send smaller batches"}
	}
	if err != nil {
		return nil, &answer{status: http.StatusBadRequest, text: "the body is not a whole gzip file; send it again"}
	}
	return raw, nil
}

// checkType refuses what is surely not JSON; an absent or unknown text type is
// read anyway, because Logpush and curl send what they like.
func checkType(h http.Header) *answer {
	switch enc := strings.ToLower(h.Get("Content-Encoding")); enc {
	case "", "gzip", "identity":
	default:
		return &answer{status: http.StatusUnsupportedMediaType, text: "Content-Encoding must be gzip or absent"}
	}
	ct := h.Get("Content-Type")
	if ct == "" {
		return nil
	}
	t, _, err := mime.ParseMediaType(ct)
	if err != nil {
		return &answer{status: http.StatusUnsupportedMediaType, text: "Content-Type cannot be read; send application/json or application/x-ndjson"}
	}
	if t == "application/x-protobuf" || t == "application/protobuf" {
		return &answer{status: http.StatusUnsupportedMediaType, text: "protobuf is not accepted; Cloudflare exports OTLP as JSON: set the exporter to http/json"}
	}
	if strings.HasPrefix(t, "multipart/") || strings.HasPrefix(t, "image/") || strings.HasPrefix(t, "video/") || strings.HasPrefix(t, "audio/") {
		return &answer{status: http.StatusUnsupportedMediaType, text: "Content-Type must be application/json or application/x-ndjson"}
	}
	return nil
}

var errTooLong = errors.New("too long")

func readBounded(r io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if int64(len(b)) > limit {
		return nil, errTooLong
	}
	return b, err
}

// isProbe knows the requests that carry no event: an empty OTLP preflight,
// Logpush's upload of {"content":"tests"}, and the test message of a
// Notifications webhook.
func isProbe(body []byte) bool {
	b := bytes.TrimSpace(body)
	switch string(b) {
	case "", "{}", "[]", `{"resourceLogs":[]}`, `{"resourceSpans":[]}`:
		return true
	}
	if len(b) > 1024 || b[0] != '{' {
		return false
	}
	var probe struct {
		Content string `json:"content"`
		Text    string `json:"text"`
		Data    any    `json:"data"`
	}
	if json.Unmarshal(b, &probe) != nil {
		return false
	}
	return probe.Content == "tests" || probe.Data == nil && strings.HasPrefix(probe.Text, "Hello World! This is a test message sent from https://cloudflare.com")
}

// chunk is one message to publish.
type chunk struct {
	script string // of its events, when they all have the same; else empty
	data   []byte
}
