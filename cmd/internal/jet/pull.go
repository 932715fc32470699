package jet

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Bounds of pulling ahead. A batch is what the consumer needs to run at full
// speed; the bytes bound a burst of large messages.
const (
	pullBatch     = 4096
	pullBytes     = 32 << 20
	pullExpiry    = 5 * time.Second
	pullHeartbeat = 500 * time.Millisecond
	pullTick      = 250 * time.Millisecond
	pullSilence   = 1100 * time.Millisecond // two heartbeats: the request is lost
)

// puller keeps pull requests open at a consumer and collects what comes. It is
// not safe to lose a request silently: every request is heart-beaten, and when
// nothing was heard for two beats the requests count as lost and new ones are
// made under a new inbox.
type puller struct {
	j        *Jet
	stream   string
	consumer string
	wake     chan struct{} // there is something in buf

	mu      sync.Mutex
	sub     *nats.Subscription
	inbox   string
	epoch   int // answers to requests of an earlier one are not counted
	request int
	open    int // messages asked for and not yet come
	heard   time.Time
	buf     []held
	bytes   int
	tick    uint32
	stalls  uint64
	stopped bool
	lost    string // why the server ended a request for good
}

// held is a message here, and the tick in which it came.
type held struct {
	m    *nats.Msg
	tick uint32
}

func newPuller(j *Jet, stream, consumer string) *puller {
	return &puller{j: j, stream: stream, consumer: consumer, wake: make(chan struct{}, 1)}
}

// run pulls until ctx ends, then gives back what nobody took.
func (p *puller) run(ctx context.Context) {
	remove := p.j.hooks.add(p.renew)
	defer remove()
	p.renew()
	t := time.NewTicker(pullTick)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			p.stop()
			return
		case <-t.C:
			p.check()
		}
	}
}

// renew gives up all open requests and starts again.
func (p *puller) renew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	if p.sub == nil || !p.sub.IsValid() {
		inbox := p.j.nc.NewInbox()
		sub, err := p.j.nc.Subscribe(inbox+".*.*", p.receive)
		if err != nil {
			p.j.log.Warn().Err(err).Str("stream", p.stream).Msg("subscribe for pulling")
			return
		}
		// The requests bound what can come; the client's own limit would drop.
		_ = sub.SetPendingLimits(-1, -1)
		p.sub, p.inbox = sub, inbox
	}
	p.epoch++
	p.open = 0
	p.heard = time.Now()
	p.ask()
}

// ask opens a request for what is missing. The caller holds mu.
func (p *puller) ask() {
	n := pullBatch - p.open - len(p.buf)
	if n < pullBatch/2 || p.bytes > pullBytes || p.stopped {
		return
	}
	body, err := json.Marshal(pullRequest{
		Batch: n, MaxBytes: int(max(pullBytes, 2*p.j.nc.MaxPayload())), Expires: pullExpiry, Heartbeat: pullHeartbeat,
	})
	if err != nil {
		return
	}
	p.request++
	reply := p.inbox + "." + strconv.Itoa(p.epoch) + "." + strconv.Itoa(p.request)
	if err := p.j.nc.PublishRequest(nextSubject(p.stream, p.consumer), reply, body); err != nil {
		return // not connected; check or the reconnection tries again
	}
	if p.open == 0 {
		p.heard = time.Now()
	}
	p.open += n
}

// receive takes messages and the server's remarks on requests.
func (p *puller) receive(m *nats.Msg) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Reply == "" || (len(m.Data) == 0 && m.Header.Get("Status") != "") {
		p.remark(m)
		return
	}
	p.heard = time.Time{} // set by the next check: time.Now for every message costs
	p.open = max(0, p.open-1)
	p.buf = append(p.buf, held{m, p.tick})
	p.bytes += len(m.Data)
	p.lost = ""
	if p.open < pullBatch/2 {
		p.ask()
	}
	p.signal()
}

func (p *puller) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// remark handles a status. The caller holds mu.
func (p *puller) remark(m *nats.Msg) {
	if !p.current(m.Subject) {
		return
	}
	p.heard = time.Time{}
	status := m.Header.Get("Status")
	if status == "100" { // heartbeat
		return
	}
	// 408 expired, 409 ended, 503 nobody there: that request is over.
	left, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
	if err != nil {
		left = p.open
	}
	p.open = max(0, p.open-left)
	p.lost = ""
	if status == "409" || status == "503" || status == "404" {
		p.lost = status + " " + m.Header.Get("Description")
		return // check asks again, not at once: the reason may last
	}
	p.ask()
}

// current reports whether a status belongs to a request of this epoch:
// <inbox>.<epoch>.<request>.
func (p *puller) current(subject string) bool {
	want := p.inbox + "." + strconv.Itoa(p.epoch) + "."
	return len(subject) > len(want) && subject[:len(want)] == want
}

// check runs every tick: requests that have gone silent are replaced, and room
// that has become free is asked for.
func (p *puller) check() {
	p.mu.Lock()
	p.tick++
	now := time.Now()
	if p.heard.IsZero() {
		p.heard = now
	}
	silent := p.open > 0 && now.Sub(p.heard) > pullSilence
	if silent {
		p.stalls++
	}
	lost := p.lost
	if !silent {
		p.ask()
	}
	p.mu.Unlock()
	if silent {
		p.j.health.set(condPull, fmt.Sprintf("stream %s: no answer to pull requests for %s; asking again", p.stream, pullSilence))
		p.renew()
		return
	}
	if lost == "" {
		p.j.health.clear(condPull)
		return
	}
	p.j.health.set(condPull, "stream "+p.stream+": the server ends pull requests: "+lost)
}

// take removes up to limit messages. The caller then owns them.
func (p *puller) take(limit int) []held {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(limit, len(p.buf))
	if n == 0 {
		return nil
	}
	out := make([]held, n)
	copy(out, p.buf)
	for _, h := range out {
		p.bytes -= len(h.m.Data)
	}
	rest := copy(p.buf, p.buf[n:])
	clear(p.buf[rest:])
	p.buf = p.buf[:rest]
	if p.open < pullBatch/2 {
		p.ask()
	}
	if rest > 0 {
		p.signal()
	}
	return out
}

// keep tells the server that messages waiting here for more than a second are
// still wanted.
func (p *puller) keep() {
	p.mu.Lock()
	var replies []string
	for _, h := range p.buf {
		if p.tick-h.tick >= uint32(time.Second/pullTick) {
			replies = append(replies, h.m.Reply)
		}
	}
	p.mu.Unlock()
	for _, r := range replies {
		_ = p.j.nc.Publish(r, []byte(ackProgress))
	}
}

// stop ends pulling and gives back what was not taken, so that another replica
// has it at once and not only after the acknowledgement wait.
func (p *puller) stop() {
	p.mu.Lock()
	p.stopped = true
	sub, buf := p.sub, p.buf
	p.buf = nil
	p.mu.Unlock()
	if sub != nil {
		_ = sub.Unsubscribe()
	}
	for _, h := range buf {
		_ = p.j.nc.Publish(h.m.Reply, nak(0))
	}
}

func (p *puller) counts() (buffered int, stalls uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.buf), p.stalls
}
