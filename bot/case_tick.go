package bot

import (
	"time"
)

// unfinishedLimit is how long an unfinished capture can keep a quiet case open.
// Every capture ends by itself long before (its budget wait is bounded); this is
// for a job that was lost with a data folder.
const unfinishedLimit = 24 * time.Hour

// Due is when Tick has something to do; zero: never. Pending effects are not
// part of it: they are due at once.
func (c Case) Due() time.Time {
	if c.State == Closed {
		return time.Time{}
	}
	due := c.closesAt()
	if !c.EvidenceAt.IsZero() && c.EvidenceAt.Before(due) {
		due = c.EvidenceAt
	}
	if c.RootDue && c.RootNext.Before(due) {
		due = c.RootNext
	}
	return due
}

// surelyOpenUntil is the time before which no replica closes the case, whatever
// has happened since: activity only puts the close off. Half of the quiet period
// is left for clocks that differ, and to refresh it.
func (c Case) surelyOpenUntil() time.Time {
	if c.State == Closed {
		return time.Time{}
	}
	return c.ActiveAt.Add(c.Quiet / 2)
}

func (c Case) closesAt() time.Time {
	at := c.ActiveAt.Add(c.Quiet)
	if _, unfinished := c.Unfinished(); unfinished {
		at = c.ActiveAt.Add(max(c.Quiet, unfinishedLimit))
	}
	return at
}

// Tick does what time alone brings about: the evidence, a root revision that was
// held back, and the quiet close, once. changed is false when nothing was due.
func (c Case) Tick(p Policy, now time.Time) (next Case, changed bool) {
	if c.State == Closed {
		return c, false
	}
	closing := !now.Before(c.closesAt())
	revising := c.RootDue && !now.Before(c.RootNext)
	telling := !c.EvidenceAt.IsZero() && !now.Before(c.EvidenceAt)
	if !closing && !revising && !telling {
		return c, false
	}
	c = c.clone()
	if closing || telling {
		c.tellEvidence()
	}
	if !closing && !revising {
		return c, true
	}
	if closing {
		c.State, c.ClosedAt = Closed, now
		c.log(now, "quiet", "closed after "+span(c.Quiet)+" without an event")
		if c.Class == ClassRequested {
			return c, true // its report was the end of it
		}
		if !p.Off[NoticeClosed] {
			c.post(c.ID + ".closed")
		}
	}
	c.postRoot(now)
	return c, true
}

// Reopened opens a closed case again: a person asked for more in its thread, or
// events arrived that had already joined it. Its closing notice, once sent, is
// not sent again.
func (c Case) Reopened(now time.Time, why string) Case {
	c = c.clone()
	c.State, c.ClosedAt, c.ActiveAt = Open, time.Time{}, now
	c.log(now, "reopened", why)
	c.rootChanged(now, rootEvery)
	return c
}
