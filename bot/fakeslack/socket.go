package fakeslack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	maxSockets = 10        // connections of one app
	maxAck     = 20 * 1024 // bytes of an acknowledgement; Slack drops longer ones
	maxTries   = 3         // deliveries of one envelope
)

// sockets are the open Socket Mode connections.
type sockets struct {
	mu      sync.Mutex
	open    []*socket
	next    int
	tickets map[string]bool
	waiting map[string]chan json.RawMessage // by envelope id
	drop    int                             // acknowledgements to lose
	grown   chan struct{}                   // closed when open changes
}

type socket struct {
	mu      sync.Mutex
	conn    *websocket.Conn
	leaving bool // told to disconnect: Slack delivers to others
	done    chan struct{}
}

func (s *socket) send(v any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.conn.SetWriteDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	return s.conn.WriteJSON(v)
}

func (s *sockets) changed() {
	if s.grown != nil {
		close(s.grown)
	}
	s.grown = make(chan struct{})
}

// openSocket answers apps.connections.open.
func (w *Workspace) openSocket(r *request) (map[string]any, error) {
	ticket := w.id("T")
	w.sockets.mu.Lock()
	defer w.sockets.mu.Unlock()
	if w.sockets.tickets == nil {
		w.sockets.tickets = map[string]bool{}
	}
	w.sockets.tickets[ticket] = true
	return map[string]any{"url": strings.Replace(r.base, "http", "ws", 1) + "/link/?ticket=" + ticket}, nil
}

// link is the far end of a socket.
func (w *Workspace) link(rw http.ResponseWriter, r *http.Request) {
	ticket := r.URL.Query().Get("ticket")
	w.sockets.mu.Lock()
	ok := w.sockets.tickets[ticket] && len(w.sockets.open) < maxSockets
	delete(w.sockets.tickets, ticket)
	w.sockets.mu.Unlock()
	if !ok {
		http.Error(rw, "no such ticket", http.StatusForbidden)
		return
	}
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := up.Upgrade(rw, r, nil)
	if err != nil {
		return
	}
	s := &socket{conn: conn, done: make(chan struct{})}
	w.sockets.mu.Lock()
	w.sockets.open = append(w.sockets.open, s)
	n := len(w.sockets.open)
	w.sockets.changed()
	w.sockets.mu.Unlock()
	err = s.send(object{"type": "hello", "num_connections": n, "connection_info": object{"app_id": appID}, "debug_info": object{"host": "fake", "approximate_connection_time": 3600}})
	if err == nil {
		go w.ping(s)
		w.listen(s)
	}
	w.forget(s)
}

func (w *Workspace) forget(s *socket) {
	w.sockets.mu.Lock()
	defer w.sockets.mu.Unlock()
	if i := slices.Index(w.sockets.open, s); i >= 0 {
		w.sockets.open = slices.Delete(w.sockets.open, i, i+1)
		close(s.done)
		w.sockets.changed()
	}
	_ = s.conn.Close()
}

func (w *Workspace) ping(s *socket) {
	t := time.NewTicker(w.PingEvery)
	defer t.Stop()
	for n := 0; ; n++ {
		if s.conn.WriteControl(websocket.PingMessage, fmt.Appendf(nil, "Ping from fake %d", n), time.Now().Add(time.Second)) != nil {
			return
		}
		select {
		case <-t.C:
		case <-s.done:
			return
		}
	}
}

// listen reads acknowledgements until the socket breaks.
func (w *Workspace) listen(s *socket) {
	for {
		_, raw, err := s.conn.ReadMessage()
		if err != nil {
			return
		}
		if len(raw) >= maxAck {
			w.violate("an acknowledgement of %d bytes; Slack drops those of %d and more", len(raw), maxAck)
			msg := websocket.FormatCloseMessage(websocket.CloseMessageTooBig, "")
			_ = s.conn.WriteControl(websocket.CloseMessage, msg, time.Now().Add(time.Second))
			return
		}
		var ack struct {
			ID      string          `json:"envelope_id"`
			Payload json.RawMessage `json:"payload"`
		}
		if json.Unmarshal(raw, &ack) != nil || ack.ID == "" {
			w.violate("a socket message that is no acknowledgement: %.100s", raw)
			continue
		}
		w.sockets.mu.Lock()
		ch := w.sockets.waiting[ack.ID]
		if ch != nil && w.sockets.drop > 0 {
			w.sockets.drop--
			ch = nil
		}
		w.sockets.mu.Unlock()
		if ch != nil {
			select {
			case ch <- ack.Payload:
			default: // acknowledged twice
			}
		}
	}
}

// pick takes the connections in turn.
func (s *sockets) pick() *socket {
	s.mu.Lock()
	defer s.mu.Unlock()
	var fit []*socket
	for _, c := range s.open {
		if !c.leaving {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	s.next++
	return fit[s.next%len(fit)]
}

// overSocket delivers an act as an envelope and again when nobody acknowledges.
func (w *Workspace) overSocket(ctx context.Context, a Act) (Ack, error) {
	w.mu.Lock()
	id := w.id("env")
	w.mu.Unlock()
	ch := make(chan json.RawMessage, 1)
	w.sockets.mu.Lock()
	if w.sockets.waiting == nil {
		w.sockets.waiting = map[string]chan json.RawMessage{}
	}
	w.sockets.waiting[id] = ch
	w.sockets.mu.Unlock()
	defer func() {
		w.sockets.mu.Lock()
		delete(w.sockets.waiting, id)
		w.sockets.mu.Unlock()
	}()
	for try := range maxTries {
		s := w.sockets.pick()
		if s == nil {
			return Ack{}, errors.New("no Socket Mode connection is open")
		}
		env := object{"envelope_id": id, "type": a.envelope(), "payload": a.Payload, "accepts_response_payload": a.Kind != Event}
		if try > 0 || a.Retry > 0 {
			env["retry_attempt"], env["retry_reason"] = max(try, a.Retry), "timeout"
		}
		start := time.Now()
		if err := s.send(env); err != nil {
			w.forget(s)
			continue
		}
		timer := time.NewTimer(w.AckWithin)
		select {
		case p := <-ch:
			timer.Stop()
			return Ack{Status: http.StatusOK, Payload: p, Took: time.Since(start), Tries: try + 1}, nil
		case <-s.done: // the connection went before the answer came
			timer.Stop()
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return Ack{}, ctx.Err()
		}
	}
	return Ack{Tries: maxTries}, errLate
}

// DropAcks loses the next n acknowledgements on their way, so that Slack
// delivers again what was handled already.
func (w *Workspace) DropAcks(n int) {
	w.sockets.mu.Lock()
	defer w.sockets.mu.Unlock()
	w.sockets.drop = n
}

// Refresh asks the oldest connection to be renewed, as Slack does every hour or
// so. The reason is "warning" or "refresh_requested".
func (w *Workspace) Refresh(reason string) error {
	w.sockets.mu.Lock()
	var oldest *socket
	for _, s := range w.sockets.open {
		if !s.leaving {
			oldest = s
			s.leaving = true
			break
		}
	}
	w.sockets.mu.Unlock()
	if oldest == nil {
		return errors.New("no Socket Mode connection is open")
	}
	return oldest.send(object{"type": "disconnect", "reason": reason, "debug_info": object{"host": "fake"}})
}

// CutSockets breaks all connections without a word.
func (w *Workspace) CutSockets() {
	w.sockets.mu.Lock()
	all := slices.Clone(w.sockets.open)
	w.sockets.mu.Unlock()
	for _, s := range all {
		_ = s.conn.Close()
	}
}

func (w *Workspace) closeSockets() { w.CutSockets() }

// WaitSockets waits until n connections are open and staying.
func (w *Workspace) WaitSockets(ctx context.Context, n int) error {
	for {
		w.sockets.mu.Lock()
		if w.sockets.grown == nil {
			w.sockets.grown = make(chan struct{})
		}
		staying, grown := 0, w.sockets.grown
		for _, s := range w.sockets.open {
			if !s.leaving {
				staying++
			}
		}
		w.sockets.mu.Unlock()
		if staying >= n {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d Socket Mode connections are open: %w", staying, n, ctx.Err())
		}
	}
}
