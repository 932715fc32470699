package capture

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Parts is what a Runner works with. All but Check are required.
type Parts struct {
	Queue    Queue
	Records  Records
	Ledger   Ledger
	Profiles Profiles
	Observer Observer
	API      API
	Resolver Resolver
	// Check reads a profile as the report will; an error means that it cannot
	// be read, and nothing is stored. nil trusts Sniff.
	Check func(t Type, data []byte) error
	// Rewrite is applied to a checked profile before it is stored, and the
	// record's size and hash are of what it gives; nil stores what came. See Redact.
	Rewrite func(data []byte) ([]byte, error)
}

// Options of a Runner; the zero value is the contract's defaults.
type Options struct {
	// Limits is asked before every decision, so that a reload takes effect.
	Limits func() Limits
	// Paused is the kill switch.
	Paused func(ctx context.Context) bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Workers is how many jobs are in hand at once; 0 is one more than the
	// captures at once, so that what waits is told so.
	Workers int
	// MaxWait is how long after it was due a capture is given up; 0 is 2 h. A
	// baseline waits for 10 minutes.
	MaxWait time.Duration
	// Drain is how long a running capture may take after Run's context ended;
	// 0 is 70 s. What runs longer counts as a lost answer.
	Drain time.Duration
	// Problem hears of what went wrong outside a capture: the store, the queue.
	Problem func(err error)
}

const (
	heartbeat    = time.Second
	pollQueue    = 5 * time.Second
	pausedWait   = 15 * time.Second
	storeRetry   = 2 * time.Second
	storeTries   = 30
	baselineWait = 10 * time.Minute
	tellAgain    = 2 * time.Second // a move of NextAt that is worth a word
)

// Runner takes jobs from the queue and sees each through to a stored profile or
// a stated failure. Several, in one process or in many, share the work.
type Runner struct {
	p Parts
	o Options

	mu      sync.Mutex
	waiting map[string]wait          // jobs given back for a reason that holds for all
	inHand  map[string]chan struct{} // jobs that a worker has; closed when it lets go
}

type wait struct {
	priority int
	queued   time.Time
	until    time.Time
}

// NewRunner checks that no part is missing.
func NewRunner(p Parts, o Options) (*Runner, error) {
	for name, missing := range map[string]bool{
		"Queue": p.Queue == nil, "Records": p.Records == nil, "Ledger": p.Ledger == nil, "Profiles": p.Profiles == nil,
		"Observer": p.Observer == nil, "API": p.API == nil, "Resolver": p.Resolver == nil,
	} {
		if missing {
			return nil, fmt.Errorf("capture runner: %s is missing", name)
		}
	}
	if p.Check == nil {
		p.Check = func(Type, []byte) error { return nil }
	}
	if o.Limits == nil {
		o.Limits = func() Limits { return Limits{} }
	}
	if o.Paused == nil {
		o.Paused = func(context.Context) bool { return false }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxWait <= 0 {
		o.MaxWait = 2 * time.Hour
	}
	if o.Drain <= 0 {
		o.Drain = 70 * time.Second
	}
	if o.Problem == nil {
		o.Problem = func(error) {}
	}
	if o.Workers <= 0 {
		o.Workers = o.Limits().Filled().Concurrency + 1
	}
	return &Runner{p: p, o: o, waiting: map[string]wait{}, inHand: map[string]chan struct{}{}}, nil
}

// Run works until ctx ends, then lets running captures finish within Drain. It
// returns nil when nothing of it runs any more.
func (r *Runner) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	idle := make(chan struct{})
	var wg sync.WaitGroup
	for range r.o.Workers {
		wg.Go(func() { r.work(ctx, work) })
	}
	go func() { wg.Wait(); close(idle) }()
	select {
	case <-idle:
	case <-ctx.Done():
		t := time.NewTimer(r.o.Drain)
		defer t.Stop()
		select {
		case <-idle:
		case <-t.C:
			stop()
			<-idle
		}
	}
	return nil
}

// work is one worker: ctx says when to stop taking jobs, work when to drop them.
func (r *Runner) work(ctx, work context.Context) {
	for ctx.Err() == nil {
		task, err := r.p.Queue.Next(ctx, pollQueue)
		switch {
		case ctx.Err() != nil && task == nil:
			return
		case err != nil:
			r.o.Problem(fmt.Errorf("take the next capture: %w", err))
			pause(ctx, time.Second)
		case task != nil:
			r.handle(ctx, work, task)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// hold keeps a task ours until the returned function is called.
func (r *Runner) hold(task Task) (release func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(heartbeat)
		defer t.Stop()
		for {
			select {
			case <-quit:
				return
			case <-t.C:
				if err := task.Touch(); err != nil {
					r.o.Problem(fmt.Errorf("keep capture %s: %w", task.Job().ID, err))
				}
			}
		}
	}()
	return func() { close(quit); <-done }
}

// giveBack returns the task to the queue. When that fails it comes back by
// itself, once its heartbeats have stopped.
func (r *Runner) giveBack(task Task, delay time.Duration) {
	if err := task.Later(max(delay, 0)); err != nil {
		r.o.Problem(fmt.Errorf("give capture %s back: %w", task.Job().ID, err))
	}
}

// change applies f to the budget.
func (r *Runner) change(ctx context.Context, f func(Budget) Budget) {
	err := r.p.Ledger.Change(ctx, func(b Budget) (Budget, error) { return f(b), nil })
	if err != nil {
		r.o.Problem(fmt.Errorf("change the capture budget: %w", err))
	}
}

// claim is false when another worker of this process has the job: heartbeats
// were lost and it came a second time. One that is just letting go is waited for.
func (r *Runner) claim(ctx context.Context, id string) bool {
	t := time.NewTimer(heartbeat)
	defer t.Stop()
	for {
		r.mu.Lock()
		other, taken := r.inHand[id]
		if !taken {
			r.inHand[id] = make(chan struct{})
			r.mu.Unlock()
			return true
		}
		r.mu.Unlock()
		select {
		case <-other:
		case <-t.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

func (r *Runner) drop(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.inHand[id])
	delete(r.inHand, id)
}

var errPeek = errors.New("only looked")

// ask looks for a place: peek only asks, else it is taken when granted.
func (r *Runner) ask(ctx context.Context, j Job, peek bool) (Slot, error) {
	var s Slot
	ahead := r.ahead(j)
	err := r.p.Ledger.Change(ctx, func(b Budget) (Budget, error) {
		b, s = b.Reserve(r.o.Now(), j, r.o.Limits(), ahead)
		if peek || !s.Granted {
			return b, errPeek
		}
		return b, nil
	})
	if err != nil && !errors.Is(err, errPeek) {
		return Slot{}, fmt.Errorf("reserve a place for capture %s: %w", j.ID, err)
	}
	return s, nil
}

// ahead counts the jobs given back by this process that go first.
func (r *Runner) ahead(j Job) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, n := r.o.Now(), 0
	for id, w := range r.waiting {
		switch {
		case !w.until.After(now): // it is in the queue again, or gone
			delete(r.waiting, id)
		case id != j.ID && (w.priority < j.Priority || w.priority == j.Priority && w.queued.Before(j.QueuedAt)):
			n++
		}
	}
	return n
}

func (r *Runner) noteWait(j Job, s Slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch s.Wait {
	case WaitBudget, WaitConcurrency, WaitRateLimit, WaitUnreachable:
		r.waiting[j.ID] = wait{j.Priority, j.QueuedAt, s.At}
	default:
		delete(r.waiting, j.ID)
	}
}
