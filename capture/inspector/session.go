package inspector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"github.com/snapflame/snapflame/capture"
)

// session is one DevTools connection. Requests go one at a time; a goroutine
// reads, so that what the Worker logs meanwhile does not fill the pipe.
type session struct {
	conn    *websocket.Conn
	answers chan answer
	ended   chan struct{}
	err     error // why reading ended, once ended is closed
	next    int
}

type answer struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

func dial(ctx context.Context, target string) (*session, error) {
	d := websocket.Dialer{HandshakeTimeout: 10 * time.Second, ReadBufferSize: 64 << 10}
	// wrangler dev's proxy refuses connections without a local Origin.
	conn, res, err := d.DialContext(ctx, target, http.Header{"Origin": {"http://localhost"}})
	if res != nil && res.Body != nil {
		defer res.Body.Close()
	}
	if err != nil {
		if res != nil {
			return nil, fmt.Errorf("%w (%s)", err, res.Status)
		}
		return nil, err
	}
	conn.SetReadLimit(maxMessage)
	s := &session{conn: conn, answers: make(chan answer, 4), ended: make(chan struct{})}
	go s.read()
	return s, nil
}

func (s *session) read() {
	defer close(s.ended)
	for {
		kind, data, err := s.conn.ReadMessage()
		if err != nil {
			s.err = err
			return
		}
		var a answer
		if kind != websocket.TextMessage || json.Unmarshal(data, &a) != nil || a.ID == 0 {
			continue // an event
		}
		select {
		case s.answers <- a:
		default: // nobody asked
		}
	}
}

// close ends the connection and with it whatever still profiles.
func (s *session) close() {
	_ = s.conn.Close()
	<-s.ended
}

// call makes one request; result may be nil.
func (s *session) call(ctx context.Context, method string, params, result any) error {
	s.next++
	id := s.next
	deadline, _ := ctx.Deadline()
	if err := s.conn.SetWriteDeadline(deadline); err != nil {
		return err
	}
	if err := s.conn.WriteJSON(map[string]any{"id": id, "method": method, "params": params}); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	for {
		select {
		case a := <-s.answers:
			switch {
			case a.ID != id:
				continue
			case a.Error != nil:
				return local(capture.FailCouldNotStart, "The inspector refuses %s: %.200s", method, a.Error.Message)
			case result == nil:
				return nil
			}
			if err := json.Unmarshal(a.Result, result); err != nil {
				return local(capture.FailNotProfile, "The inspector's answer to %s is not as expected: %v", method, err)
			}
			return nil
		case <-s.ended:
			return fmt.Errorf("%s: %w", method, errors.Join(s.err))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sleep lets the capture's time pass; it ends early when the isolate goes.
func (s *session) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.ended:
		return s.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

type none struct{}

func (s *session) cpu(ctx context.Context, d time.Duration, at time.Time) ([]byte, error) {
	for _, step := range []struct {
		method string
		params any
	}{
		{"Profiler.enable", none{}},
		{"Profiler.setSamplingInterval", map[string]int{"interval": samplingMicros}},
		{"Profiler.start", none{}},
	} {
		if err := s.call(ctx, step.method, step.params, nil); err != nil {
			return nil, err
		}
	}
	if err := s.sleep(ctx, d); err != nil {
		return nil, err
	}
	var res struct {
		Profile cpuProfile `json:"profile"`
	}
	if err := s.call(ctx, "Profiler.stop", none{}, &res); err != nil {
		return nil, err
	}
	return res.Profile.pprof(at)
}

func (s *session) heap(ctx context.Context, d time.Duration, at time.Time) ([]byte, error) {
	if err := s.call(ctx, "HeapProfiler.enable", none{}, nil); err != nil {
		return nil, err
	}
	err := s.call(ctx, "HeapProfiler.startSampling", map[string]any{
		"samplingInterval": samplingBytes, "includeObjectsCollectedByMajorGC": true, "includeObjectsCollectedByMinorGC": true,
	}, nil)
	if err != nil {
		return nil, err
	}
	if err := s.sleep(ctx, d); err != nil {
		return nil, err
	}
	var res struct {
		Profile heapProfile `json:"profile"`
	}
	if err := s.call(ctx, "HeapProfiler.stopSampling", none{}, &res); err != nil {
		return nil, err
	}
	return res.Profile.pprof(at, d)
}
