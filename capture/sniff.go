package capture

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
)

// MaxProfile is the most a profile may take on the wire, and MaxUnpacked the
// most it may take unpacked. A 50 s capture with a sample each millisecond is
// 0.1 MB packed and 1 MB unpacked; 261 kB of gzip can hold 256 MiB of zeros.
const (
	MaxProfile  = 64 << 20
	MaxUnpacked = 256 << 20
)

// Sniff looks whether the bytes are a pprof file as a whole, gzip or raw, at the
// cost of unpacking them once into nothing. It does not read samples. nil is yes.
func Sniff(data []byte) *Failure {
	switch {
	case len(data) == 0:
		return &Failure{Kind: FailEmpty}
	case len(data) > MaxProfile:
		return &Failure{Kind: FailTooLarge}
	case data[0] == 0x1f:
		return sniffGzip(data)
	}
	if what := notProfile(data); what != "" {
		return &Failure{Kind: FailNotProfile, Message: what}
	}
	var w walker
	if _, err := w.Write(data); err != nil {
		return &Failure{Kind: FailNotProfile, Message: "neither gzip nor protobuf"}
	}
	return w.verdict()
}

func sniffGzip(data []byte) *Failure {
	if len(data) < 18 {
		return &Failure{Kind: FailTruncated}
	}
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return &Failure{Kind: FailNotProfile, Message: "a damaged gzip header"}
	}
	var w walker
	n, err := io.Copy(&w, io.LimitReader(zr, MaxUnpacked+1))
	switch {
	case n > MaxUnpacked:
		return &Failure{Kind: FailTooLarge}
	case w.first == 0x1f:
		return &Failure{Kind: FailNotProfile, Message: "gzip within gzip"}
	case w.bad:
		return &Failure{Kind: FailNotProfile, Message: "gzip of something that is not a profile"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Failure{Kind: FailTruncated}
	case err != nil:
		return &Failure{Kind: FailNotProfile, Message: "damaged gzip data"}
	}
	return w.verdict()
}

// notProfile names the usual things that arrive in a profile's place.
func notProfile(data []byte) string {
	head := strings.ToLower(string(bytes.TrimLeft(data[:min(len(data), 256)], " \t\r\n\xef\xbb\xbf")))
	switch {
	case strings.HasPrefix(head, "<"):
		return "an HTML or XML page"
	case strings.HasPrefix(head, "{"), strings.HasPrefix(head, "["):
		if bytes.Contains(data[:min(len(data), 4096)], []byte(`"callFrame"`)) {
			return "a V8 .cpuprofile, which is JSON and not pprof"
		}
		return "JSON"
	}
	return ""
}

var errNotProto = errors.New("not the message of a profile")

// walker checks the outermost level of a pprof message as it streams by: each
// field is a number or a block of a stated length, and the message must end
// where a field ends.
type walker struct {
	first   byte
	started bool
	bad     bool
	skip    uint64 // bytes left of the present block
	varint  uint64
	shift   uint
	state   walkState
	fields  uint64 // bit set of field numbers seen
}

type walkState int

const (
	inTag walkState = iota
	inNumber
	inLength
)

// Write never keeps the bytes.
func (w *walker) Write(p []byte) (int, error) {
	if len(p) > 0 && !w.started {
		w.started, w.first = true, p[0]
	}
	if w.bad {
		return 0, errNotProto
	}
	for i := 0; i < len(p); {
		if w.skip > 0 {
			n := len(p) - i
			if w.skip < uint64(n) {
				n = int(w.skip) //nolint:gosec // less than an int
			}
			w.skip -= uint64(n)
			i += n
			continue
		}
		if !w.step(p[i]) {
			w.bad = true
			return i, errNotProto
		}
		i++
	}
	return len(p), nil
}

// step takes one byte of a tag, a number or a length.
func (w *walker) step(b byte) bool {
	if w.shift > 63 {
		return false
	}
	w.varint |= uint64(b&0x7f) << w.shift
	w.shift += 7
	if b&0x80 != 0 {
		return true
	}
	v := w.varint
	w.varint, w.shift = 0, 0
	switch w.state {
	case inNumber:
		w.state = inTag
	case inLength:
		w.state, w.skip = inTag, v
		return v <= MaxUnpacked
	default:
		return w.tag(v)
	}
	return true
}

func (w *walker) tag(v uint64) bool {
	field, wire := v>>3, v&7
	// Profile has the fields 1 to 15 (google/pprof, profile.proto); a newer
	// writer may add some, but not hundreds.
	if field == 0 || field > 100 {
		return false
	}
	if field < 64 {
		w.fields |= 1 << field
	}
	switch wire {
	case 0:
		w.state = inNumber
	case 1:
		w.skip = 8
	case 2:
		w.state = inLength
	case 5:
		w.skip = 4
	default:
		return false
	}
	return true
}

func (w *walker) verdict() *Failure {
	switch {
	case !w.started:
		return &Failure{Kind: FailEmpty}
	case w.skip > 0 || w.shift > 0 || w.state != inTag:
		return &Failure{Kind: FailTruncated}
	case w.fields&(1<<1|1<<6) == 1<<1: // sample_type came, string_table did not
		return &Failure{Kind: FailTruncated}
	case w.fields&(1<<1|1<<6) != 1<<1|1<<6:
		return &Failure{Kind: FailNotProfile, Message: "a protobuf message without sample types"}
	}
	return nil
}
