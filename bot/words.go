package bot

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/triggers"
)

// Words that several cards share. All of them are plain text.

// classWords says what happened, for people who never read the contract.
func classWords(c triggers.Class) string {
	switch c {
	case triggers.ClassOverloaded:
		return "Durable Object overloaded"
	case triggers.ClassExceededMemory:
		return "Memory limit exceeded"
	case triggers.ClassExceededCPU:
		return "CPU limit exceeded"
	case triggers.ClassAccountOverloaded:
		return "Account overloads Durable Objects"
	case ClassRequested:
		return "Capture asked for"
	default:
		return string(c)
	}
}

// progressWords says where an unfinished capture stands, without a capital.
func progressWords(v CaptureView, now time.Time) string {
	r := v.Record
	what := typeWords(r.Type) + " capture " + r.ID
	switch r.State {
	case capture.Started:
		ends := r.StartedAt.Add(r.Duration)
		if left := ends.Sub(now); left > 0 {
			return fmt.Sprintf("%s is running, until about %s", what, clock(ends))
		}
		return what + " has run; its profile is on the way"
	case capture.Waiting:
		if r.NextAt.IsZero() {
			return fmt.Sprintf("%s waits: %s", what, r.WaitFor.Words())
		}
		return fmt.Sprintf("next capture at %s: %s (%s)", clock(r.NextAt), r.WaitFor.Words(), r.ID)
	case capture.Stored:
		return what + " is stored and being analysed"
	default:
		if v.Busy {
			return what + " waits: another capture of the same target comes first"
		}
		if r.NotBefore.After(now) {
			return fmt.Sprintf("next capture at %s: %s (%s)", clock(r.NotBefore), orText(r.Note, "planned"), r.ID)
		}
		return what + " is about to start"
	}
}

func typeWords(t capture.Type) string {
	if t == capture.Heap {
		return "heap"
	}
	return "CPU"
}

// attributionWords is the evidence in a sentence, with its confidence.
func attributionWords(c Case) string {
	if c.Class == triggers.ClassAccountOverloaded || c.Class == ClassRequested {
		return ""
	}
	likely := ""
	if c.Confidence != "" {
		likely = " (" + c.Confidence + ")"
	}
	switch c.Attribution {
	case triggers.AttributionLogged:
		return "The object's id stands in the record that reported it."
	case triggers.AttributionIndex:
		s := "The hot-object index names this object" + likely
		if c.Probability > 0 {
			s += ", probability " + percent(c.Probability)
		}
		return s + ": it was the busiest that the caller could have meant."
	case triggers.AttributionEvent:
		if c.Confidence != "" {
			return "The record is this object's own" + likely + ": its exception has no frame in user code, so another object is possible but less so."
		}
		return "The record is the target's own."
	default:
		return "No evidence names the object: the record is the caller's, and callers are not profiled in its place."
	}
}

// subject is what a case is about, for titles.
func subject(c Case) string {
	if c.Class == triggers.ClassAccountOverloaded {
		return "reported by " + orText(c.Script, "an unnamed Worker")
	}
	return targetWords(c.Target, c.Script)
}

// targetWords names the target shortly: "room-api RoomObject 3fa1c07d".
func targetWords(t triggers.Target, reporter string) string {
	script := clip(orText(t.Script, reporter), 60)
	switch t.Kind {
	case triggers.TargetDurableObject:
		return strings.Join(nonEmpty(clip(t.Script, 40), clip(orText(t.Entrypoint, "object"), 40), short(t.ObjectID)), " ")
	case triggers.TargetWorker:
		return script
	default:
		if script == "" {
			return "unknown object"
		}
		return "unknown object, called by " + script
	}
}

func short(id string) string { return id[:min(len(id), 8)] }

func shortVersion(v string) string {
	if len(v) > 8 && strings.Count(v, "-") == 4 {
		return v[:8]
	}
	return clip(v, 16)
}

func nonEmpty(parts ...string) []string {
	kept := parts[:0:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return kept
}

func orText(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}

// clock is a time of day; every message is in UTC and says so.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// span writes a duration as people say it: "10 s", "2 min", "1 h 5 min".
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Round(100*time.Millisecond).Seconds(), 'f', -1, 64) + " s"
	case d < time.Hour:
		s := fmt.Sprintf("%d min", int(d/time.Minute))
		if rest := d % time.Minute / time.Second; rest > 0 && d < 10*time.Minute {
			s += fmt.Sprintf(" %d s", rest)
		}
		return s
	case d%(24*time.Hour) != 0 && d < 48*time.Hour:
		s := fmt.Sprintf("%d h", int(d/time.Hour))
		if rest := d % time.Hour / time.Minute; rest > 0 {
			s += fmt.Sprintf(" %d min", rest)
		}
		return s
	case d < 48*time.Hour:
		return "1 day"
	default:
		return fmt.Sprintf("%d days", int(d/(24*time.Hour)))
	}
}

// percent writes a share: 0.4149 as "41.5 %".
func percent(share float64) string {
	return strconv.FormatFloat(share*100, 'f', 1, 64) + " %"
}

// number groups thousands: "12,345".
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if neg {
		return "-" + s
	}
	return s
}

// size writes bytes in the unit people expect: "1.2 MB".
func size(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	f, i := float64(n), 0
	for f >= 1000 && i < len(units)-1 {
		f, i = f/1000, i+1
	}
	if i == 0 {
		return strconv.FormatInt(n, 10) + " B"
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + units[i]
}
