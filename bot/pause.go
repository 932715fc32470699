package bot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/snapflame/snapflame/capture"
)

// Pause keeps captures from starting until it ends or somebody resumes. Jobs
// wait meanwhile; nothing is lost.
type Pause struct {
	By    string    `json:"by"`             // Slack user id
	Name  string    `json:"name,omitempty"` // what that person is called, when known
	At    time.Time `json:"at"`
	Until time.Time `json:"until,omitzero"` // zero: until resumed
	// Off is no pause of anybody's: capture.enabled is false.
	Off bool `json:"-"`
}

// Sentence says who paused and until when.
func (p Pause) Sentence(now time.Time) string {
	if p.Off {
		return "Captures are switched off in the configuration; capture.enabled: true and a reload (SIGHUP) let them start."
	}
	s := fmt.Sprintf("Captures are paused by %s since %s", orText(p.Name, p.By), stamp(p.At))
	if p.Until.IsZero() {
		return s + ", until somebody resumes them."
	}
	return s + ", for " + span(p.Until.Sub(now).Round(time.Minute)) + " more."
}

const pauseKey = "pause"

// pauseFresh is how long another replica's pause may take to work here.
const pauseFresh = time.Second

// Switch is the pause, shared by all replicas.
type Switch struct {
	state   State
	enabled func() bool

	mu    sync.Mutex
	at    time.Time
	pause Pause
	on    bool
}

// NewSwitch reads and writes the state. While enabled (nil: always) says no,
// nothing starts whatever people resume.
func NewSwitch(state State, enabled func() bool) *Switch {
	return &Switch{state: state, enabled: enabled}
}

// Paused returns the pause that holds. It answers from memory for a second;
// when the state cannot be read, what was last known holds. A nil *Switch is
// never paused.
func (s *Switch) Paused(ctx context.Context, now time.Time) (Pause, bool) {
	if s == nil {
		return Pause{}, false
	}
	if s.enabled != nil && !s.enabled() {
		return Pause{Off: true}, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at.IsZero() || now.Sub(s.at) >= pauseFresh || now.Before(s.at) {
		var p Pause
		_, err := s.state.Get(ctx, pauseKey, &p)
		switch {
		case err == nil:
			s.pause, s.on, s.at = p, true, now
		case errors.Is(err, capture.ErrNotFound):
			s.pause, s.on, s.at = Pause{}, false, now
		}
	}
	if s.on && !s.pause.Until.IsZero() && !now.Before(s.pause.Until) {
		return Pause{}, false
	}
	return s.pause, s.on
}

// Pause pauses, or changes until when.
func (s *Switch) Pause(ctx context.Context, p Pause) error {
	if err := overwrite(ctx, s.state, pauseKey, p); err != nil {
		return fmt.Errorf("pause: %w", err)
	}
	s.forget()
	return nil
}

// Resume ends the pause; it is no error when there is none.
func (s *Switch) Resume(ctx context.Context) error {
	if err := s.state.Delete(ctx, pauseKey); err != nil && !errors.Is(err, capture.ErrNotFound) {
		return fmt.Errorf("resume: %w", err)
	}
	s.forget()
	return nil
}

func (s *Switch) forget() {
	s.mu.Lock()
	s.at = time.Time{}
	s.mu.Unlock()
}

func (p Pause) refusal(now time.Time) *Refusal {
	if p.Off {
		return &Refusal{Reason: RefusedOff, Sentence: p.Sentence(now)}
	}
	return &Refusal{Reason: RefusedPaused, Sentence: p.Sentence(now)}
}

// resume is the way out of the pause, where it is one that a person can end.
func (p Pause) resume() []Button {
	if p.Off {
		return nil
	}
	return []Button{{Action: "pf.run", Label: "Resume captures", Value: string(VerbResume)}}
}
