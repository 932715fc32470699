package triggers

import (
	"context"
	"sync/atomic"
	"time"
)

// Options of a Listener. The zero value works, with the built-in rules.
type Options struct {
	Rules    *Rules
	Index    *Index  // fed and asked; nil: none
	Counts   *Counts // nil: new ones
	Recent   *Recent // nil: nothing is remembered
	Silences func(ctx context.Context, now time.Time) []Silence
	Now      func() time.Time // nil: time.Now

	// Observe is told of events once they were handled for good, summed up by
	// batch: each event is told of once.
	Observe func(c Class, a Action, n int64)
	// Buried is told of dead letters.
	Buried func(DecodeReason)
	// Lag is told how long the oldest event of a batch was in the queue.
	Lag func(time.Duration)
	// Trouble is told of errors of the source, the sink and the dead letters.
	// What it is told of is tried again.
	Trouble func(error)

	Batch    int           // deliveries fetched at once; 0: batchSize
	Wait     time.Duration // for the first of them; 0: 1s
	Handlers int           // calls of Sink.Handle at once; 0: 8
}

// Bounds of a Listener.
const (
	// batchSize: a new incident waits for the batch before its own, and every
	// incident of a batch is written once. At half of what two cores take, with
	// 5000 the capture is asked for after 110 ms (p99), with 2000 after 48; with
	// 1000 a storm over 100 targets is handled at half the speed.
	batchSize    = 2000
	batchLimit   = 30 * time.Second // for the sink to make one batch durable
	firstRetry   = time.Second
	lastRetry    = 30 * time.Second
	openKept     = 50_000           // open incidents remembered
	openFresh    = 15 * time.Second // how long an incident is taken to be open
	oldest       = 24 * time.Hour   // an event's own time is believed within these
	youngest     = 5 * time.Minute
	deadDataKept = 1 << 20
)

// Listener takes messages from the source to the sink: decode, classify,
// decide, handle or tally, acknowledge. A message is acknowledged when what it
// led to is durable, and given back with a delay when that failed, so that
// nothing is lost. What comes again although it was counted, because its
// acknowledgement was lost or another part of it failed, is told by the messages
// that its incident has counted, and not counted again.
//
// New incidents are handled at once, while the rest of the batch is read. What
// joins an open incident is summed up and tallied once per batch. Most messages
// are of no interest: a look for the words that any class needs decides that
// before they are decoded.
type Listener struct {
	source Source
	sink   Sink
	dead   DeadLetters
	o      Options
	rules  atomic.Pointer[Rules]
	// Only run uses these.
	open  map[string]openIncident // by key
	fails int                     // batches in a row that failed
	scan  scanner
	names *names
	memo  *memo
}

// openIncident is an incident that was open when it was last heard of. It is
// believed for less than the quiet period that would close it.
type openIncident struct {
	id    string
	until time.Time
}

// NewListener joins a source to a sink.
func NewListener(source Source, sink Sink, dead DeadLetters, o Options) (*Listener, error) {
	if o.Rules == nil {
		rules, err := CompileRules(nil, Defaults{})
		if err != nil {
			return nil, err
		}
		o.Rules = rules
	}
	if o.Counts == nil {
		o.Counts = new(Counts)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Silences == nil {
		o.Silences = func(context.Context, time.Time) []Silence { return nil }
	}
	if o.Observe == nil {
		o.Observe = func(Class, Action, int64) {}
	}
	if o.Buried == nil {
		o.Buried = func(DecodeReason) {}
	}
	if o.Lag == nil {
		o.Lag = func(time.Duration) {}
	}
	if o.Trouble == nil {
		o.Trouble = func(error) {}
	}
	if o.Batch <= 0 {
		o.Batch = batchSize
	}
	if o.Wait <= 0 {
		o.Wait = time.Second
	}
	if o.Handlers <= 0 {
		o.Handlers = 8
	}
	l := &Listener{source: source, sink: sink, dead: dead, o: o, open: make(map[string]openIncident), names: newNames(), memo: newMemo()}
	l.rules.Store(o.Rules)
	return l, nil
}

// SetRules replaces the rules from the next batch on. Nothing else is lost:
// open incidents, counts and the index stay.
func (l *Listener) SetRules(r *Rules) { l.rules.Store(r) }

// Run works until ctx ends, then finishes the batch in hand. It returns nil:
// what goes wrong on the way is told to Trouble and tried again.
func (l *Listener) Run(ctx context.Context) error {
	batches := make(chan []Delivery)
	go l.fetch(ctx, batches)
	for batch := range batches {
		if ctx.Err() != nil {
			// Nobody has looked at these: another replica may have them.
			for _, d := range batch {
				l.tell(d.Retry(100 * time.Millisecond))
			}
			continue
		}
		// A batch that was begun is finished even when ctx ends meanwhile.
		work, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchLimit)
		failed := l.batch(work, batch)
		cancel()
		if failed {
			l.fails++
			pause(ctx, l.delay())
		} else {
			l.fails = 0
		}
	}
	return nil
}

// fetch keeps one batch ahead of what is worked on.
func (l *Listener) fetch(ctx context.Context, batches chan<- []Delivery) {
	defer close(batches)
	for ctx.Err() == nil {
		batch, err := l.source.Fetch(ctx, l.o.Batch, l.o.Wait)
		if err != nil && ctx.Err() == nil {
			l.tell(err)
			pause(ctx, firstRetry)
		}
		if len(batch) > 0 {
			batches <- batch
		}
	}
}

// delay is how long a failed message waits: 1, 2, 4 … 30 s.
func (l *Listener) delay() time.Duration {
	return min(firstRetry<<min(max(l.fails-1, 0), 5), lastRetry)
}

func (l *Listener) tell(err error) {
	if err != nil {
		l.o.Trouble(err)
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
