package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
)

// part is something that runs as long as the service does.
type part struct {
	name string
	run  func(ctx context.Context) error
}

// layers are parts by the order in which they stop: the first layer's context
// ends first, and the next layer goes on until the first has returned. What
// takes work in stops before what does it, and that before what tells of it.
type layers struct {
	log    zerolog.Logger
	layers [][]part
}

func (l *layers) add(layer int, name string, run func(ctx context.Context) error) {
	for len(l.layers) <= layer {
		l.layers = append(l.layers, nil)
	}
	l.layers[layer] = append(l.layers[layer], part{name, run})
}

// errStopped says that a part returned while the service still ran.
var errStopped = errors.New("stopped by itself")

// run starts all layers and returns when ctx ends or a part fails, after every
// part has returned.
func (l *layers) run(ctx context.Context) error {
	failed, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	// Later layers outlive ctx: they end when the layer before them is done.
	groups := make([]*errgroup.Group, len(l.layers))
	cancels := make([]context.CancelFunc, len(l.layers))
	for i, parts := range l.layers {
		layerCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancels[i] = cancel
		groups[i] = &errgroup.Group{}
		for _, p := range parts {
			groups[i].Go(func() error {
				err := p.run(layerCtx)
				if layerCtx.Err() == nil {
					err = fmt.Errorf("%s: %w", p.name, errors.Join(errStopped, err))
					fail(err)
				}
				return err
			})
		}
	}
	<-failed.Done()
	l.log.Info().Msg("stopping")
	var errs []error
	for i := range l.layers {
		cancels[i]()
		began := time.Now()
		if err := groups[i].Wait(); err != nil && !errors.Is(err, context.Canceled) {
			errs = append(errs, err)
		}
		l.log.Debug().Int("layer", i).Dur("took", time.Since(began)).Msg("layer stopped")
	}
	return errors.Join(errs...)
}
