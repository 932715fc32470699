package jet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	watchEvery = time.Second
	probeEvery = 5 * time.Second
	leaveEvery = 4 * time.Second
	leaveMiss  = 3 // probes without an answer before another server of a cluster is tried
	probeMiss  = 3 // probes without an answer before the embedded server is started anew
	// restartEvery spaces restarts of the embedded server on a disk that fails.
	restartEvery = 15 * time.Second
	probeKey     = "probe"
)

// totalBytes is what our streams may hold together when they are made.
func (j *Jet) totalBytes() int64 {
	total := j.opts.MaxBytes
	if total == 0 {
		total = defaultMaxBytes
		if j.host != nil {
			if free, err := diskFree(j.opts.StoreDir); err == nil {
				total = min(total, free/10*8)
			}
		}
	}
	return max(total, minMaxBytes)
}

// watchServer looks after the embedded server: free space, and a store that no
// longer answers. A full disk leaves publishes unanswered even after space is
// free again, until the server is started anew.
func (j *Jet) watchServer(ctx context.Context) {
	if j.host == nil {
		j.leaveSilent(ctx)
		return
	}
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	missed, next := 0, time.Now().Add(probeEvery)
	var restarted time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		j.checkDisk()
		why := j.host.unwritten()
		if why == "" && time.Now().After(next) {
			next = time.Now().Add(probeEvery)
			err := j.probe(ctx)
			if err == nil || ctx.Err() != nil || errors.Is(err, ErrFull) {
				missed = 0
				j.health.clear(condStore)
				continue
			}
			missed++
			j.health.set(condStore, fmt.Sprintf("the embedded server does not store: %v", err))
			if missed >= probeMiss {
				why = err.Error()
			}
		}
		if why == "" {
			continue
		}
		j.health.set(condStore, "the embedded server does not store: "+why)
		if j.health.has(condDisk) || time.Since(restarted) < restartEvery {
			continue
		}
		missed, restarted, next = 0, time.Now(), time.Now()
		j.startAnew(why)
	}
}

func (j *Jet) startAnew(why string) {
	j.log.Error().Str("error", why).Msg("the embedded NATS server does not store; starting it anew")
	if err := j.host.restart(); err != nil {
		j.health.set(condStore, "the embedded server does not start: "+err.Error())
		j.log.Error().Err(err).Msg("start the embedded NATS server anew")
	}
}

// leaveSilent goes to another server of the cluster when the one we are
// connected to takes no writes for longer than an election lasts: cut off from
// the others, it keeps its clients and cannot serve them.
func (j *Jet) leaveSilent(ctx context.Context) {
	t := time.NewTicker(leaveEvery)
	defer t.Stop()
	missed := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if !j.nc.IsConnected() {
			missed = 0 // the client looks for another by itself
			continue
		}
		err := j.probe(ctx)
		if !errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
			missed = 0
			j.health.clear(condStore)
			continue
		}
		if missed++; missed < leaveMiss {
			continue // an election
		}
		j.health.set(condStore, fmt.Sprintf("the server %s takes no writes: %v", j.nc.ConnectedServerName(), err))
		if len(j.nc.Servers()) < 2 {
			continue
		}
		missed = 0
		j.log.Warn().Err(err).Str("server", j.nc.ConnectedServerName()).Msg("the NATS server takes no writes; trying another")
		if err := j.nc.ForceReconnect(); err != nil {
			j.log.Warn().Err(err).Msg("leave a silent NATS server")
		}
	}
}

// probe writes a key, by the way every write goes, once there is one.
func (j *Jet) probe(ctx context.Context) error {
	if !j.settled() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := j.js.PublishMsg(ctx, &nats.Msg{Subject: j.streams.state.prefix + probeKey, Data: []byte("1")}, jetstream.WithRetryAttempts(0))
	return typed(err)
}

func (j *Jet) checkDisk() {
	free, err := diskFree(j.opts.StoreDir)
	if err != nil {
		return
	}
	if free < j.opts.MinFree {
		if !j.health.has(condDisk) {
			j.log.Error().Int64("free", free).Str("dir", j.opts.StoreDir).Msg("the disk is nearly full; events are refused")
		}
		j.health.set(condDisk, fmt.Sprintf("%d MiB are free on the disk of %s, fewer than %d: events are refused until there is room", free>>20, j.opts.StoreDir, j.opts.MinFree>>20))
		return
	}
	j.health.clear(condDisk)
}
