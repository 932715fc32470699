package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/snapflame/snapflame/cmd/internal/jet"
	"github.com/snapflame/snapflame/triggers"
)

func replayCommand(sh *shell) *cobra.Command {
	var speed float64
	cmd := &cobra.Command{
		Use:   "replay FILE [flags]",
		Short: "Publish recorded events to the queue again, in their own time",
		Long: "replay reads events (JSON, JSON array or NDJSON, - is standard input) and publishes each to the\n" +
			"queue that the configuration names, as far apart as they once were. Ctrl-C ends it.",
		Example: "  snapflame replay storm.ndjson --speed 10\n  snapflame replay storm.ndjson --speed 0   # without waiting",
		Args:    exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if speed < 0 || speed > 1e6 {
				return usagef("--speed is %g; it must be 0 to 1000000: 1 is their own time, 0 does not wait", speed)
			}
			return sh.replay(cmd.Context(), args[0], speed)
		},
	}
	cmd.Flags().Float64Var(&speed, "speed", 1, "`N` times as fast as it was; 0 does not wait")
	return cmd
}

func (sh *shell) replay(ctx context.Context, file string, speed float64) error {
	c, err := sh.load()
	if err != nil {
		return err
	}
	in, err := sh.open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	to, err := jet.Dial(ctx, natsOptions(c, zerolog.Nop()))
	if errors.Is(err, jet.ErrUnavailable) {
		return fmt.Errorf("%w: start snapflame serve, or set NATS_URL to the queue that it reads", err)
	}
	if err != nil {
		return err
	}
	r := replayer{
		sh: sh, to: to, subjects: c.NATS.Subjects, clock: clock{speed: speed, now: time.Now},
		run: strconv.FormatInt(time.Now().UnixNano(), 36),
	}
	err = eachValue(in, func(raw []byte) error { return r.one(ctx, raw) })
	if e := to.Close(context.WithoutCancel(ctx)); err == nil {
		err = e
	}
	fmt.Fprintf(sh.stderr, "published %d messages, left out %d\n", r.sent, r.bad)
	if err != nil {
		return fmt.Errorf("replay %s: %w", inputName(file), err)
	}
	if r.sent == 0 {
		return fmt.Errorf("replay %s: no event in it", inputName(file))
	}
	return nil
}

type replayer struct {
	sh       *shell
	to       *jet.Sender
	subjects []string
	clock    clock
	run      string // makes message ids of this run, so that a retry is stored once
	n        int
	sent     int
	bad      int
}

func (r *replayer) one(ctx context.Context, raw []byte) error {
	r.n++
	events, err := triggers.Decode("", raw)
	if len(events) == 0 {
		if err != nil {
			r.bad++
			fmt.Fprintf(r.sh.stderr, "left out value %d: %s\n", r.n, faultText(err))
		}
		return nil
	}
	if err := wait(ctx, r.clock.delay(events[0].Time)); err != nil {
		return err
	}
	script := events[0].Script
	if err := r.to.Publish(ctx, jet.EventSubject(r.subjects, script), raw, r.run+"."+strconv.Itoa(r.n)); err != nil {
		return err
	}
	r.sent++
	return nil
}

// clock gives how long to wait before an event, relative to the first one.
type clock struct {
	speed        float64
	now          func() time.Time
	first, start time.Time
}

func (c *clock) delay(at time.Time) time.Duration {
	if c.speed == 0 || at.IsZero() {
		return 0
	}
	if c.first.IsZero() {
		c.first, c.start = at, c.now()
	}
	due := time.Duration(float64(at.Sub(c.first)) / c.speed)
	return max(0, due-c.now().Sub(c.start))
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// faultText is the first fault of a value in one line.
func faultText(err error) string {
	if faults, ok := errors.AsType[triggers.DecodeErrors](err); ok && len(faults) > 0 {
		return clip(oneLine(faults[0].Detail), 200)
	}
	return clip(oneLine(err.Error()), 200)
}
