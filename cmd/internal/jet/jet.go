package jet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// Jet is an open engine. Its parts (Source, Cases, Jobs and so on) may be used
// from any goroutine; they wait for an external server that is not there yet as
// long as their context lets them.
type Jet struct {
	opts  Options
	log   zerolog.Logger
	where string // for people: the address without secrets
	host  *host  // nil with an external server
	nc    *nats.Conn
	js    jetstream.JetStream

	health  conditions
	hooks   hooks
	streams streams
	ready   chan struct{} // closed when streams is filled

	done   chan struct{} // closed by Close
	once   sync.Once
	cancel context.CancelFunc
	wg     sync.WaitGroup

	ledgerMu sync.Mutex
	jobs     *Jobs
	outbox   *Outbox
	source   *Source

	incidents, captures *index
}

// Open starts the embedded server, or connects to an external one, and sees
// that all streams and buckets exist. It fails on what only a person can put
// right here: bad options, a locked or unreadable folder, an occupied port. An
// external server that is down, or refuses, is not an error: Open returns after
// Options.Settle and goes on in the background, and Health says what is wrong.
func Open(ctx context.Context, o Options) (*Jet, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	j := &Jet{opts: o, log: o.Logger, ready: make(chan struct{}), done: make(chan struct{})}
	if o.embedded() {
		h, err := startHost(o)
		if err != nil {
			return nil, err
		}
		j.host = h
	}
	fail := func(err error) (*Jet, error) {
		return nil, errors.Join(err, j.Close(context.WithoutCancel(ctx)))
	}
	if err := j.connect(); err != nil {
		return fail(err)
	}
	js, err := jetstream.New(j.nc, jetstream.WithDefaultTimeout(stepTimeout))
	if err != nil {
		return fail(fmt.Errorf("JetStream client: %w", err))
	}
	j.js = js
	j.parts()
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	j.cancel = cancel
	if err := j.settle(ctx, run); err != nil {
		return fail(err)
	}
	return j, nil
}

// settle makes the layout, once in the foreground and then in the background. A
// full disk is waited for as a server that is away is.
func (j *Jet) settle(ctx, run context.Context) error {
	j.wg.Go(func() { j.watchServer(run) })
	if j.host != nil {
		err := j.layout(ctx)
		if err == nil {
			j.serve(run)
			return nil
		}
		if !errors.Is(err, ErrUnavailable) {
			return err
		}
	}
	first := make(chan struct{})
	j.wg.Go(func() {
		for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
			err := j.layout(run)
			if err == nil {
				j.health.clear(condLayout)
				j.health.clear(condConnection) // may have been set while it came up
				j.serve(run)
				close(first)
				return
			}
			j.health.set(condLayout, err.Error())
			if !j.nc.IsConnected() {
				j.health.set(condConnection, "NATS at "+j.where+": not connected"+because(j.nc.LastError()))
			}
			if wait > time.Second {
				j.log.Warn().Err(err).Str("nats", j.where).Msg("JetStream is not ready, trying again")
			}
			select {
			case <-run.Done():
				return
			case <-time.After(wait):
			}
		}
	})
	select {
	case <-first:
	case <-time.After(j.opts.Settle):
		j.log.Warn().Str("nats", j.where).Str("problem", j.health.String()).Msg("going on without JetStream until it answers")
	case <-ctx.Done():
		return fmt.Errorf("open JetStream at %s: %w", j.where, ctx.Err())
	}
	return nil
}

// serve declares the layout usable and starts what runs as long as we do.
func (j *Jet) serve(run context.Context) {
	close(j.ready)
	j.wg.Go(func() { j.source.run(run) })
	j.wg.Go(func() { j.trim(run) })
	j.wg.Go(func() { j.sweep(run) })
	j.wg.Go(func() { j.hearAdvisories(run) })
	j.wg.Go(func() { j.incidents.run(run, j.streams.incidents) })
	j.wg.Go(func() { j.captures.run(run, j.streams.records) })
	j.overhear(jobsSubject+">", j.jobs.hint)
	j.overhear(outboxSubject+">", j.outbox.hint)
}

func (j *Jet) parts() {
	j.source = newSource(j)
	j.jobs = &Jobs{j: j, hint: newHint(), ask: newAsker(j), turn: make(chan struct{}, 1)}
	j.outbox = &Outbox{j: j, hint: newHint(), ask: newAsker(j), turn: make(chan struct{}, 1), flight: map[string]*Post{}}
	j.incidents = newIndex(closedPrefix, "closed_at")
	j.captures = newIndex(recordPrefix, "queued_at")
}

func (j *Jet) closing() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

func (j *Jet) settled() bool {
	select {
	case <-j.ready:
		return true
	default:
		return false
	}
}

// await waits until the layout stands.
func (j *Jet) await(ctx context.Context) error {
	select {
	case <-j.ready:
		if j.closing() {
			return ErrClosed
		}
		return nil
	default:
	}
	select {
	case <-j.ready:
		return nil
	case <-j.done:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("%w: %s: %w", ErrUnavailable, j.health.String(), ctx.Err())
	}
}

// URL is where other processes reach the server: the embedded one's real
// address, or the external address without its secrets. Empty when the embedded
// server listens nowhere.
func (j *Jet) URL() string {
	if j.host == nil {
		return j.where
	}
	j.host.mu.Lock()
	defer j.host.mu.Unlock()
	if j.host.addr == "" {
		return ""
	}
	return "nats://" + j.host.addr
}

// Embedded reports whether the server runs in this process.
func (j *Jet) Embedded() bool { return j.host != nil }

// Close gives back what was pulled and not handled, sends what is in the
// buffers, and stops the embedded server. It takes at most ten seconds, less
// when ctx ends earlier.
func (j *Jet) Close(ctx context.Context) error {
	var err error
	j.once.Do(func() {
		close(j.done)
		ctx, cancel := context.WithTimeout(ctx, closeBudget)
		defer cancel()
		if j.cancel != nil {
			j.cancel()
		}
		j.wg.Wait()
		if j.nc != nil {
			if j.nc.IsConnected() {
				if e := j.nc.FlushWithContext(ctx); e != nil {
					err = fmt.Errorf("flush acknowledgements: %w", e)
				}
			}
			j.nc.Close()
		}
		if j.host != nil {
			err = errors.Join(err, j.host.close())
		}
	})
	return err
}
