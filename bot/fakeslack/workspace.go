package fakeslack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// What the zero Workspace has.
const (
	BotToken      = "xoxb-fake-bot-token"
	AppToken      = "xapp-fake-app-token"
	SigningSecret = "fake-signing-secret"
	Incidents     = "C0INCIDENTS" // a public channel, the bot is in it
	Ana           = "U0ANA000001" // a person in it
	Bot           = "U0SNAPFLAME"
	Team          = "T0FAKETEAM1"
	botName       = "snapflame"
	appID         = "A0SNAPFLAME"
)

// Workspace is a fake Slack workspace. Its zero value has one channel, one
// person and the scopes of the manifest, and is ready as an http.Handler; the
// fields are set before its first use.
type Workspace struct {
	// Scopes of the bot token; nil means DefaultScopes.
	Scopes []string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// ShareDelay is how late a completed upload appears in its channel. Slack
	// takes seconds, and a message sent after the upload may appear before it.
	ShareDelay time.Duration
	// Burst is how many messages a channel takes at once before Slack's one a
	// second holds and 429 is answered; 0 takes any number.
	Burst int
	// AllowMentions are the mentions that tests expect, as "<!here>".
	AllowMentions []string
	// RequestURL is where the app takes signed HTTP requests; while it is empty
	// what people do is delivered over Socket Mode.
	RequestURL string
	// Hook sees every call before it has an effect, and may fail it. Calls that
	// come at the same time are seen at the same time.
	Hook func(Call) *Fault
	// Journal gets every call as one line of JSON.
	Journal io.Writer
	// PingEvery is the pause between two pings of a socket; 0 means 10 s.
	PingEvery time.Duration
	// AckWithin is how long Slack waits for an acknowledgement; 0 means 3 s.
	AckWithin time.Duration

	once     sync.Once
	mu       sync.Mutex
	channels map[string]*Channel
	users    map[string]*User
	messages map[string][]*Message // by channel, in order of ts
	files    map[string]*File
	views    map[string]*View
	homes    map[string]*View // by user
	triggers map[string]*trigger
	acted    map[string]bool // people who asked the app for something
	urls     map[string]*responseURL
	uploads  []*share
	buckets  map[string]*bucket
	faults   []*armed
	down     bool
	log      []Call
	bad      []string
	last     time.Time // of the newest ts
	seq      int
	sockets  sockets
	server   *http.Server
	served   chan struct{} // closed when it has stopped
	host     string        // host:port it was last reached at
	changed  chan struct{}
}

// DefaultScopes are those of the app manifest: no history, no files:read.
func DefaultScopes() []string {
	return []string{
		"app_mentions:read", "channels:join", "channels:read", "chat:write", "chat:write.public", "commands", "files:write",
		"groups:read", "im:history", "reactions:write", "usergroups:read", "users:read",
	}
}

func (w *Workspace) init() {
	w.once.Do(func() {
		if w.Scopes == nil {
			w.Scopes = DefaultScopes()
		}
		if w.Now == nil {
			w.Now = time.Now
		}
		if w.PingEvery == 0 {
			w.PingEvery = 10 * time.Second
		}
		if w.AckWithin == 0 {
			w.AckWithin = 3 * time.Second
		}
		w.channels = map[string]*Channel{Incidents: {ID: Incidents, Name: "incidents", Member: true, People: []string{Ana}}}
		w.users = map[string]*User{Ana: {ID: Ana, Name: "ana"}, Bot: {ID: Bot, Name: botName, Bot: true}}
		w.messages = map[string][]*Message{}
		w.files = map[string]*File{}
		w.views = map[string]*View{}
		w.homes = map[string]*View{}
		w.triggers = map[string]*trigger{}
		w.acted = map[string]bool{}
		w.urls = map[string]*responseURL{}
		w.buckets = map[string]*bucket{}
		w.changed = make(chan struct{})
	})
}

// AddChannel adds or replaces a channel.
func (w *Workspace) AddChannel(c Channel) {
	w.init()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.channels[c.ID] = &c
}

// AddUser adds or replaces a person.
func (w *Workspace) AddUser(u User) {
	w.init()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.users[u.ID] = &u
}

// SetScopes changes what the bot token may do, as a reinstallation does.
func (w *Workspace) SetScopes(scopes ...string) {
	w.init()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Scopes = slices.Clone(scopes)
}

// Archive closes a channel for posts.
func (w *Workspace) Archive(channel string) {
	w.init()
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.channels[channel]; c != nil {
		c.Archived = true
	}
}

// Delete removes a message as a person would.
func (w *Workspace) Delete(channel, ts string) {
	w.init()
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.find(channel, ts); m != nil {
		m.Deleted = true
	}
}

// Start listens on an address such as "127.0.0.1:0" and returns the base of the
// Web API, for SLACK_API_URL.
func (w *Workspace) Start(ctx context.Context, addr string) (string, error) {
	w.init()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return "", fmt.Errorf("listen for the fake workspace: %w", err)
	}
	w.server = &http.Server{Handler: w, ReadHeaderTimeout: 10 * time.Second}
	w.served = make(chan struct{})
	go func() {
		defer close(w.served)
		if err := w.server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			w.violate("the fake workspace stopped serving: %v", err)
		}
	}()
	w.mu.Lock()
	w.host = l.Addr().String()
	w.mu.Unlock()
	return "http://" + l.Addr().String() + "/api/", nil
}

// Close ends the server and its sockets.
func (w *Workspace) Close() error {
	w.init()
	w.closeSockets()
	if w.server == nil {
		return nil
	}
	err := w.server.Close()
	<-w.served
	return err
}

// Transport reaches the workspace without a socket, so that it can be used
// where time is simulated. Socket Mode needs Start.
func (w *Workspace) Transport() http.RoundTripper { return direct{w} }

// Violations are what no test may leave behind: mentions that nobody allowed,
// acknowledgements that came too late, calls that Slack has retired.
func (w *Workspace) Violations() []string {
	w.init()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.bad)
}

func (w *Workspace) violate(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(format, args...)
}

func (w *Workspace) note(format string, args ...any) {
	w.bad = append(w.bad, fmt.Sprintf(format, args...))
}

// Changed is closed at the next change of the workspace's state. Take it, look
// at the state, then wait for it.
func (w *Workspace) Changed() <-chan struct{} {
	w.init()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// touch tells those who wait; the caller holds mu.
func (w *Workspace) touch() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// ServeHTTP answers all of the workspace: the API, uploads, response URLs,
// sockets, and the pages for people.
func (w *Workspace) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.init()
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/"), strings.HasPrefix(r.URL.Path, "/upload/"), strings.HasPrefix(r.URL.Path, "/response/"):
		if !w.api(rw, r) {
			hangUp(rw)
		}
	case strings.HasPrefix(r.URL.Path, "/link/"):
		w.link(rw, r)
	default:
		w.page(rw, r)
	}
}
