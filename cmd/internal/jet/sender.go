package jet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Sender publishes events and does nothing else: it makes no stream, pulls
// nothing and holds no lease. It is what `replay` and `doctor` connect with
// beside a running service.
type Sender struct{ j *Jet }

// Dial connects to the servers of o; with an embedded server, to the one that a
// running service has at o.Listen. It fails when nothing answers within
// o.Settle, or when the events stream is not there.
func Dial(ctx context.Context, o Options) (*Sender, error) {
	if o.embedded() {
		if o.Listen == "" {
			return nil, errors.New("nats.listen is empty: the service's embedded server cannot be reached from another process")
		}
		o.URL = "nats://" + o.Listen
	}
	if err := o.fill(); err != nil {
		return nil, err
	}
	j := &Jet{opts: o, log: o.Logger, ready: make(chan struct{}), done: make(chan struct{})}
	close(j.ready)
	if err := j.connect(); err != nil {
		return nil, err
	}
	s := &Sender{j: j}
	if err := s.settle(ctx); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

func (s *Sender) settle(ctx context.Context) error {
	j := s.j
	ctx, cancel := context.WithTimeout(ctx, j.opts.Settle)
	defer cancel()
	for !j.nc.IsConnected() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: NATS at %s: not connected%s%s", ErrUnavailable, j.where, because(j.nc.LastError()), cure(j.nc.LastError()))
		case <-time.After(20 * time.Millisecond):
		}
	}
	js, err := jetstream.New(j.nc, jetstream.WithDefaultTimeout(stepTimeout))
	if err != nil {
		return fmt.Errorf("JetStream client: %w", err)
	}
	j.js = js
	if _, err := js.Stream(ctx, j.opts.Stream); err != nil {
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("%w: there is no stream %s at %s: start snapflame serve, which makes it, or set nats.stream", ErrUnusable, j.opts.Stream, j.where)
		}
		return j.layErr(j.opts.Stream, err)
	}
	return nil
}

// Publish is Jet.Publish.
func (s *Sender) Publish(ctx context.Context, subject string, data []byte, msgID string) error {
	return s.j.Publish(ctx, subject, data, msgID)
}

// Server is the name and version of the server that answered.
func (s *Sender) Server() string {
	return s.j.nc.ConnectedServerName() + " " + s.j.nc.ConnectedServerVersion()
}

// Close ends the connection; what Publish returned for is stored.
func (s *Sender) Close(ctx context.Context) error { return s.j.Close(ctx) }

// EventSubject is the subject of one script's events under the first of
// subjects that ends in a wildcard; "_" stands for a script that is not known.
// A name cannot leave its place: what a subject gives a meaning becomes "_".
func EventSubject(subjects []string, script string) string {
	word := strings.Map(func(r rune) rune {
		if r <= ' ' || r == '.' || r == '*' || r == '>' || r == 0x7f {
			return '_'
		}
		return r
	}, script)
	if word == "" || len(word) > keyMaxBytes/2 {
		word = "_"
	}
	for _, s := range subjects {
		if base, ok := strings.CutSuffix(s, ".>"); ok {
			return base + "." + word
		}
		if base, ok := strings.CutSuffix(s, ".*"); ok {
			return base + "." + word
		}
	}
	if len(subjects) > 0 {
		return subjects[0]
	}
	return "workers.events." + word
}
