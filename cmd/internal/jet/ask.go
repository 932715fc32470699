package jet

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	askTimeout = 2 * time.Second
	askStale   = ackWait - time.Second // what came longer ago may be somebody else's by now
)

// asker takes single messages from consumers, one request at a time. It has an
// inbox of its own: the client's Request finds the asker by the subject of the
// answer, and a delivery comes under its stream subject, so that with two
// requests under way it is dropped. Here an answer that comes late is not lost
// either, the next look finds it.
type asker struct {
	j     *Jet
	inbox string
	came  chan arrival
	sub   *nats.Subscription
	n     int
}

type arrival struct {
	m  *nats.Msg
	at time.Time
}

func newAsker(j *Jet) *asker { return &asker{j: j, came: make(chan arrival, 64)} }

// one asks a consumer for a message that is there now; nil when there is none.
// Calls must not overlap.
func (a *asker) one(ctx context.Context, stream, consumer string) (*nats.Msg, error) {
	if a.sub == nil {
		inbox := a.j.nc.NewInbox()
		sub, err := a.j.nc.Subscribe(inbox+".*", func(m *nats.Msg) {
			select {
			case a.came <- arrival{m, time.Now()}:
			default: // nobody looks; the server hands it out again
			}
		})
		if err != nil {
			return nil, fmt.Errorf("pull from %s: %w", stream, typed(err))
		}
		a.sub, a.inbox = sub, inbox
	}
	if m := a.late(); m != nil {
		return m, nil
	}
	body, err := json.Marshal(pullRequest{Batch: 1, NoWait: true})
	if err != nil {
		return nil, fmt.Errorf("pull from %s: %w", stream, err)
	}
	a.n++
	reply := a.inbox + "." + strconv.Itoa(a.n)
	if err := a.j.nc.PublishRequest(nextSubject(stream, consumer), reply, body); err != nil {
		return nil, fmt.Errorf("pull from %s: %w", stream, typed(err))
	}
	t := time.NewTimer(askTimeout)
	defer t.Stop()
	for {
		select {
		case v := <-a.came:
			if status := v.m.Header.Get("Status"); status == "" {
				return v.m, nil
			} else if v.m.Subject != reply {
				continue // of a request that was given up
			} else if status == "503" {
				return nil, fmt.Errorf("%w: pull from %s: no consumer %s there", ErrUnavailable, stream, consumer)
			}
			return nil, nil // 404 no messages, 409 the leader changed
		case <-t.C:
			return nil, fmt.Errorf("%w: pull from %s: no answer in %s", ErrUnavailable, stream, askTimeout)
		case <-a.j.done:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err() //nolint:wrapcheck // the caller's own context
		}
	}
}

// late is a message that came after its request was given up.
func (a *asker) late() *nats.Msg {
	for {
		select {
		case v := <-a.came:
			if strings.HasPrefix(v.m.Reply, "$JS.ACK.") && time.Since(v.at) < askStale {
				return v.m
			}
		default:
			return nil
		}
	}
}
