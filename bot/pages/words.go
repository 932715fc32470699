package pages

import (
	"errors"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/triggers"
)

// words are what the templates call.
var words = template.FuncMap{ //nolint:gochecknoglobals // read-only
	"class": classWords, "target": targetWords, "short": short, "pct": percent, "n": number, "clock": clock,
	"stamp": stamp, "iso": iso, "span": span, "ago": ago, "bytes": size, "state": stateWords, "attribution": attributionWords,
	"version": shortVersion, "place": place, "lasting": lasting,
	"dict": dict, "hhmm": func(t time.Time) string { return t.UTC().Format("1504") }, "minute": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") },
	"ms": func(ns int64) string { return span(time.Duration(ns).Round(time.Millisecond)) }, "points": points, "per": per, "verdict": verdictWords,
}

func classWords(c triggers.Class) string {
	switch c {
	case triggers.ClassOverloaded:
		return "Durable Object overloaded"
	case triggers.ClassExceededMemory:
		return "memory limit exceeded"
	case triggers.ClassExceededCPU:
		return "CPU limit exceeded"
	case triggers.ClassAccountOverloaded:
		return "account overloads Durable Objects"
	case bot.ClassRequested:
		return "capture asked for"
	default:
		return string(c)
	}
}

func targetWords(t triggers.Target, script string) string {
	switch t.Kind {
	case triggers.TargetDurableObject:
		return strings.Join(strings.Fields(t.Script+" "+t.Entrypoint+" "+short(t.ObjectID)), " ")
	case triggers.TargetWorker:
		return t.Script
	default:
		if script == "" {
			return "unknown object"
		}
		return "unknown object, called by " + script
	}
}

func attributionWords(c bot.Case) string {
	likely := ""
	if c.Confidence != "" {
		likely = " (" + c.Confidence + ")"
	}
	switch c.Attribution {
	case triggers.AttributionLogged:
		return "its id stands in the record that reported it"
	case triggers.AttributionIndex:
		return "the hot-object index names it" + likely + ", probability " + percent(c.Probability)
	case triggers.AttributionEvent:
		return "the record is its own" + likely
	default:
		return "no evidence names the object"
	}
}

func stateWords(r capture.Record) string {
	switch r.State {
	case capture.Queued:
		return "queued"
	case capture.Waiting:
		if r.NextAt.IsZero() {
			return "waiting: " + string(r.WaitFor)
		}
		return "waiting until " + clock(r.NextAt) + ": " + strings.ReplaceAll(string(r.WaitFor), "_", " ")
	case capture.Started:
		return "running"
	case capture.Stored:
		return "stored"
	default:
		return "failed"
	}
}

func short(id string) string { return id[:min(8, len(id))] }

func shortVersion(v string) string {
	if len(v) == 36 {
		return v[:8]
	}
	return v
}

func percent(f float64) string { return strconv.FormatFloat(f*100, 'f', 1, 64) + " %" }

// number groups thousands with commas, as the threads do.
func number(v int64) string {
	s := strconv.FormatInt(v, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("15:04:05")
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func iso(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Round(10*time.Millisecond).Seconds(), 'f', -1, 64) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%d days", int(d.Hours())/24)
	}
}

// lasting writes a duration that the API gives as text ("2m0s").
func lasting(s string) string {
	d, err := time.ParseDuration(s)
	if err != nil {
		return s
	}
	return span(d)
}

// place is where a function is defined, without the scheme, which says nothing.
func place(file string, line int64) string {
	file = strings.TrimPrefix(file, "file:///")
	if file == "" || line == 0 {
		return file
	}
	return file + ":" + strconv.FormatInt(line, 10)
}

func ago(t, now time.Time) string {
	if t.IsZero() {
		return "–"
	}
	if t.After(now) {
		return "now"
	}
	if d := now.Sub(t); d >= time.Second {
		return span(d.Truncate(time.Second)) + " ago"
	}
	return "now"
}

// size writes bytes in decimal units, as the threads and the pictures do.
func size(n int64) string {
	switch {
	case n < 0:
		return "unknown"
	case n < 1e3:
		return strconv.FormatInt(n, 10) + " B"
	case n < 1e6:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 1, 64) + " kB"
	case n < 1e9:
		return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB"
	default:
		return strconv.FormatFloat(float64(n)/1e9, 'f', 2, 64) + " GB"
	}
}

// points is a difference of shares in percentage points.
func points(f float64) string { return fmt.Sprintf("%+.1f pp", f*100) }

func verdictWords(v report.ChangeVerdict) string { return strings.ReplaceAll(string(v), "_", " ") }

// dict lets a template hand several values to a part.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, errors.New("dict wants pairs")
	}
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		k, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict wants names, got %T", pairs[i])
		}
		m[k] = pairs[i+1]
	}
	return m, nil
}

// per names a step of the chart: "minute", "4 min".
func per(d time.Duration) string {
	if d == time.Minute {
		return "minute"
	}
	return span(d)
}
