package jet

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrFull says that the stream, bucket or disk has no room: the sender is told
// (HTTP 503) and tries again later.
var ErrFull = errors.New("no room left")

// ErrTooLarge says that one message is larger than the server takes (HTTP 413).
var ErrTooLarge = errors.New("larger than one message may be")

// ErrUnavailable says that JetStream does not answer now; it is tried again.
var ErrUnavailable = errors.New("JetStream does not answer")

// ErrUnusable says that something on the server stands in the way and a person
// has to change it: a stream with another configuration, a missing permission.
var ErrUnusable = errors.New("cannot be used")

// ErrLocked says that another process has the store folder open.
var ErrLocked = errors.New("the data folder is in use")

// ErrClosed says that Close was called.
var ErrClosed = errors.New("closed")

// errPerSubject is the refusal of a second message on one subject.
var errPerSubject = errors.New("the subject is occupied")

// errWrongLast is a lost compare-and-set.
var errWrongLast = errors.New("wrong last sequence")

// Codes of nats-server that the client library has no names for
// (server/errors.json of nats-server v2.15).
const (
	codeInsufficient   jetstream.ErrorCode = 10023 // quota of the account or server
	codeMemExceeded    jetstream.ErrorCode = 10028
	codeStoreExceeded  jetstream.ErrorCode = 10047
	codeStoreFailed    jetstream.ErrorCode = 10077 // several causes, told apart by description
	codeNotAvailable   jetstream.ErrorCode = 10008
	codeSubjectOverlap jetstream.ErrorCode = 10065
	codeNoSequence     jetstream.ErrorCode = 10043 // already deleted
)

// typed gives the library's and server's errors our names. The description has
// to be read for 10077: it means "maximum messages per subject" as well as
// "maximum bytes".
func typed(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, nats.ErrMaxPayload) {
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		switch api.ErrorCode {
		case codeStoreFailed:
			switch {
			case strings.Contains(api.Description, "per subject"):
				return fmt.Errorf("%w: %w", errPerSubject, err)
			case strings.Contains(api.Description, "maximum "):
				return fmt.Errorf("%w: %w", ErrFull, err)
			}
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		case codeInsufficient, codeMemExceeded, codeStoreExceeded:
			return fmt.Errorf("%w: %w", ErrFull, err)
		case jetstream.JSErrCodeStreamMessageExceedsMaximum:
			return fmt.Errorf("%w: %w", ErrTooLarge, err)
		case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
			return fmt.Errorf("%w: %w", errWrongLast, err)
		case codeNotAvailable:
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		default:
			// A full disk passes, as an outage does: what cannot be made now can be later.
			if api.Code == 503 || strings.Contains(api.Description, "no space left on device") {
				return fmt.Errorf("%w: %w", ErrUnavailable, err)
			}
			return err
		}
	}
	for _, e := range []error{
		nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrReconnectBufExceeded,
		jetstream.ErrNoStreamResponse, nats.ErrConnectionReconnecting, context.DeadlineExceeded, nats.ErrStaleConnection,
	} {
		if errors.Is(err, e) {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	return err
}
