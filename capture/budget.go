package capture

import (
	"maps"
	"slices"
	"time"
)

// Limits are the rules that all replicas keep together. A field of 0 takes the
// contract's default: 60 s, 60 per hour, 4 at once.
type Limits struct {
	// Spacing is the least time from the end of one capture of a target to the
	// start of the next: starting and stopping the profiler takes the isolate's lock.
	Spacing     time.Duration
	PerHour     int // requests for a profile, of the whole account, in any hour
	Concurrency int // captures at once, of the whole account
}

// Filled replaces what is not set by the defaults.
func (l Limits) Filled() Limits {
	if l.Spacing <= 0 {
		l.Spacing = 60 * time.Second
	}
	if l.PerHour <= 0 {
		l.PerHour = 60
	}
	if l.Concurrency <= 0 {
		l.Concurrency = 4
	}
	return l
}

// Budget is the one account of what was started, shared by all replicas: it is
// small, so that it fits one key that is changed by compare-and-set. Its
// methods are pure and leave the receiver as it was.
type Budget struct {
	Starts []time.Time `json:"starts,omitempty"` // within the last hour, ascending
	// Targets is when the last capture of a target ended or is to end, until the
	// spacing has passed.
	Targets map[string]time.Time `json:"targets,omitempty"`
	Busy    map[string]string    `json:"busy,omitempty"`    // target key → capture that runs on it
	Running map[string]time.Time `json:"running,omitempty"` // capture id → when its lease ends
	// BlockedUntil holds everything back, for BlockedFor.
	BlockedUntil time.Time `json:"blocked_until,omitzero"`
	BlockedFor   WaitCause `json:"blocked_for,omitempty"`
	// Strikes is how many requests in a row Cloudflare did not answer; while
	// there are any, one capture at a time finds out whether it does again.
	Strikes int `json:"strikes,omitempty"`
}

// leaseMargin is how long after its planned end a capture still counts as
// running when nobody says otherwise: the API's answer may take 40 s longer.
const leaseMargin = 50 * time.Second

// maxBlock is the longest block that is believed; a wrong clock may have set it.
const maxBlock = time.Hour

// Slot is the answer to a reservation: it is granted, or the earliest time that
// makes sense to ask again, and what stands in the way until then.
type Slot struct {
	Granted bool
	At      time.Time
	Wait    WaitCause
}

// Reserve takes the place for one capture. ahead is how many more urgent
// captures are known to wait for the same; it moves the time, not the grant.
func (b Budget) Reserve(now time.Time, j Job, l Limits, ahead int) (Budget, Slot) {
	l = l.Filled()
	b = b.Prune(now, l)
	if s := b.earliest(now, j, l, ahead); s.At.After(now) {
		return b, s
	}
	end := now.Add(j.Duration)
	key := j.Target.Key()
	b.Starts = append(b.Starts, now)
	slices.SortFunc(b.Starts, time.Time.Compare) // a clock may have been set back
	b.Targets[key], b.Busy[key], b.Running[j.ID] = end, j.ID, end.Add(leaseMargin)
	return b, Slot{Granted: true, At: now}
}

// earliest is the latest of what each limit allows. The receiver is pruned.
func (b Budget) earliest(now time.Time, j Job, l Limits, ahead int) Slot {
	s := Slot{At: now}
	hold := func(at time.Time, why WaitCause) {
		if at.After(s.At) {
			s = Slot{At: at, Wait: why}
		}
	}
	key := j.Target.Key()
	if end, ok := b.Targets[key]; ok {
		hold(end.Add(l.Spacing), WaitSpacing)
		if id, ok := b.Busy[key]; ok && id != j.ID && b.Running[id].After(now) { // late, but not over
			hold(now.Add(recheck), WaitSpacing)
		}
	}
	if b.BlockedUntil.After(now) {
		hold(b.BlockedUntil, b.BlockedFor)
	}
	perHour, atOnce := l.PerHour, l.Concurrency
	if j.Cause == CauseBaseline { // half of everything stays free for incidents
		perHour, atOnce = perHour/2, max(1, atOnce/2)
	}
	if b.Strikes > 0 {
		atOnce = 1
	}
	if n := len(b.Starts); n >= perHour {
		if perHour == 0 {
			hold(now.Add(time.Hour), WaitBudget)
		} else {
			rounds := ahead / perHour
			at := b.Starts[n-perHour+min(ahead%perHour, perHour-1)].Add(time.Duration(rounds+1) * time.Hour)
			hold(at, WaitBudget)
		}
	}
	ends := b.plannedEnds(j.ID)
	if len(ends) >= atOnce {
		free := ends[min(len(ends)-atOnce+ahead%atOnce, len(ends)-1)].Add(time.Duration(ahead/atOnce) * j.Duration)
		why := WaitConcurrency
		if b.Strikes > 0 {
			why = WaitUnreachable
		}
		hold(later(free, now.Add(recheck)), why)
	}
	return s
}

// recheck is when to look again at something that should be over by now.
const recheck = time.Second

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (b Budget) plannedEnds(but string) []time.Time {
	ends := make([]time.Time, 0, len(b.Running))
	for id, lease := range b.Running {
		if id != but {
			ends = append(ends, lease.Add(-leaseMargin))
		}
	}
	slices.SortFunc(ends, time.Time.Compare)
	return ends
}

// Ending is what became of a reservation.
type Ending int

// The endings.
const (
	Ran     Ending = iota // an isolate was profiled, or may have been: the spacing holds
	Refused               // Cloudflare refused: no spacing, but the request counts
	Unsent                // no request was made: as if it had not been reserved
)

// Release ends a reservation. The last capture of a target counts as ended at
// end, which a capture that was lost with its process states from its record.
func (b Budget) Release(now time.Time, j Job, how Ending, end time.Time) Budget {
	b = b.clone()
	key := j.Target.Key()
	lease, held := b.Running[j.ID]
	delete(b.Running, j.ID)
	if b.Busy[key] != j.ID {
		// Others have had the target since. What ran before them adds nothing
		// unless it ended later.
		if how == Ran && b.Busy[key] == "" {
			b.Targets[key] = later(b.Targets[key], end)
		}
		return b
	}
	delete(b.Busy, key)
	if how == Ran {
		b.Targets[key] = end
		return b
	}
	delete(b.Targets, key)
	// Which one is given back matters when clocks differ: another's would age otherwise.
	start := lease.Add(-leaseMargin - j.Duration)
	if i := slices.IndexFunc(b.Starts, start.Equal); how == Unsent && held && i >= 0 {
		b.Starts = slices.Delete(b.Starts, i, i+1)
	}
	return b
}

// Block holds all captures back until a time, at most an hour.
func (b Budget) Block(now, until time.Time, why WaitCause) Budget {
	b = b.clone()
	if limit := now.Add(maxBlock); until.After(limit) {
		until = limit
	}
	if until.After(b.BlockedUntil) {
		b.BlockedUntil, b.BlockedFor = until, why
	}
	return b
}

// Strike notes that Cloudflare did not answer. Once may be the fault of one
// target: from then on one capture at a time finds out. From the second time in
// a row everything is held back for a while: 5 s, then twice as long each time,
// at most 2 min.
func (b Budget) Strike(now time.Time) Budget {
	b = b.clone()
	b.Strikes++
	if b.Strikes == 1 {
		return b
	}
	return b.Block(now, now.Add(min(5*time.Second<<min(b.Strikes-2, 6), 2*time.Minute)), WaitUnreachable)
}

// Answered notes that Cloudflare answers.
func (b Budget) Answered() Budget {
	b = b.clone()
	b.Strikes = 0
	if b.BlockedFor == WaitUnreachable {
		b.BlockedUntil, b.BlockedFor = time.Time{}, ""
	}
	return b
}

// maxSkew is how far ahead of this clock another may be, or this one may have
// been before it was set back, and still be believed.
const maxSkew = 5 * time.Minute

// Prune drops what no longer limits anything. Times that lie further ahead than
// anything is ever set were written by a wrong clock and are brought near.
func (b Budget) Prune(now time.Time, l Limits) Budget {
	l = l.Filled()
	b = b.clone()
	for i, t := range b.Starts {
		if t.Sub(now) > maxSkew {
			b.Starts[i] = now
		}
	}
	b.Starts = slices.DeleteFunc(b.Starts, func(t time.Time) bool { return now.Sub(t) >= time.Hour })
	for id, lease := range b.Running {
		if limit := now.Add(MaxDuration + leaseMargin + maxSkew); lease.After(limit) {
			b.Running[id] = limit
		} else if !lease.After(now) {
			delete(b.Running, id)
		}
	}
	for key, id := range b.Busy {
		if _, ok := b.Running[id]; !ok {
			delete(b.Busy, key)
		}
	}
	for key, end := range b.Targets {
		if limit := now.Add(MaxDuration + maxSkew); end.After(limit) {
			b.Targets[key] = limit
		} else if !end.Add(l.Spacing).After(now) && b.Busy[key] == "" {
			delete(b.Targets, key)
		}
	}
	if limit := now.Add(maxBlock); b.BlockedUntil.After(limit) {
		b.BlockedUntil = limit
	} else if !b.BlockedUntil.After(now) {
		b.BlockedUntil, b.BlockedFor = time.Time{}, ""
	}
	return b
}

func (b Budget) clone() Budget {
	b.Starts = slices.Clone(b.Starts)
	b.Targets, b.Busy, b.Running = copied(b.Targets), copied(b.Busy), copied(b.Running)
	return b
}

func copied[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return maps.Clone(m)
}

// Outlook is what a status shows.
type Outlook struct {
	Running int
	Free    int  // captures that this hour still allows
	Next    Slot // of a capture of a target that has had none
}

// Outlook looks ahead without reserving.
func (b Budget) Outlook(now time.Time, l Limits) Outlook {
	l = l.Filled()
	b = b.Prune(now, l)
	next := b.earliest(now, Job{Target: Target{Kind: DurableObject}}, l, 0)
	next.Granted = !next.At.After(now)
	return Outlook{Running: len(b.Running), Free: max(0, l.PerHour-len(b.Starts)), Next: next}
}
