package fakeslack

import (
	"net/http"
	"strconv"
	"time"
)

// Moment is when a connection breaks.
type Moment int

// The moments.
const (
	Never  Moment = iota
	Before        // the call had no effect
	After         // it had, and the caller does not hear of it
)

// Fault is what goes wrong with a call. The zero Fault is none.
type Fault struct {
	Status     int           // an HTTP status such as 503 in place of an answer
	RetryAfter time.Duration // with Status 429, rounded up to seconds
	Error      string        // an ok:false answer without an effect
	Reset      Moment
	Delay      time.Duration // before anything else
}

type armed struct {
	method string
	times  int
	fault  Fault
}

// Fail arms a fault for the next times calls of a method ("*" is any, "upload"
// the transfer of bytes, "response_url" the answers). Faults armed earlier
// strike first; times below 0 strike for ever.
func (w *Workspace) Fail(method string, times int, f Fault) {
	w.init()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, &armed{method, times, f})
}

// Heal disarms all faults.
func (w *Workspace) Heal() {
	w.init()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = nil
}

// Outage makes every call answer 503 until it is called with false.
func (w *Workspace) Outage(down bool) {
	w.init()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
}

func (w *Workspace) fault(c Call) Fault {
	if w.Hook != nil {
		if f := w.Hook(c); f != nil {
			return *f
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		return Fault{Status: http.StatusServiceUnavailable}
	}
	for _, a := range w.faults {
		if a.times != 0 && (a.method == "*" || a.method == c.Method) {
			if a.times > 0 {
				a.times--
			}
			return a.fault
		}
	}
	return Fault{}
}

// before answers in place of the workspace, when the fault says so.
func (f Fault) before(rw http.ResponseWriter, c *Call) bool {
	switch {
	case f.Reset == Before:
		c.Lost = true
		return true
	case f.Status != 0:
		c.Status = f.Status
		if f.Status == http.StatusTooManyRequests {
			rw.Header().Set("Retry-After", strconv.Itoa(int((f.RetryAfter+time.Second-1)/time.Second)))
		}
		rw.Header().Set("Content-Type", "text/html")
		rw.WriteHeader(f.Status)
		if _, err := rw.Write([]byte("<html>" + http.StatusText(f.Status) + "</html>")); err != nil {
			c.Lost = true
		}
		return true
	case f.Error != "":
		c.Status, c.Error = http.StatusOK, f.Error
		rw.Header().Set("Content-Type", "application/json")
		if _, err := rw.Write([]byte(`{"ok":false,"error":` + strconv.Quote(f.Error) + `}`)); err != nil {
			c.Lost = true
		}
		return true
	}
	return false
}
