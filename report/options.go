package report

import "time"

// DefaultSampleCap is the longest time one sample is believed to have run.
// V8 samples every millisecond; the first sample after a wait carries the whole
// wait and lands on any frame, so what is above a few periods was not work.
const DefaultSampleCap = 5 * time.Millisecond

// Options changes how a profile is read. The zero value is what the service uses.
type Options struct {
	// SampleCap bounds the time of one sample (times its count, when samples had
	// been merged). 0 is DefaultSampleCap; heap profiles have no cap.
	SampleCap time.Duration
	// SourceMap turns positions of the bundle into positions of the sources;
	// nil leaves them as they are.
	SourceMap SourceMapper
	// Meta is carried into the report; it changes only the words of findings
	// that depend on what was captured (a stateless Worker, a Durable Object).
	Meta Meta
}

// SourceMapper finds where a position of a bundle came from.
type SourceMapper interface {
	// Map takes the file as the profile writes it, the 1-based line and the
	// 1-based column, 0 when the profile has none. Anything but Mapped leaves
	// the position as it was and is said in the report's notes.
	Map(file string, line, column int64) (Position, MapReason)
}

// SourceChecker is a SourceMapper that can tell whether a function's name stands
// where it has put it; known is false where it cannot.
type SourceChecker interface {
	Holds(file string, at Position, name string) (holds, known bool)
}

// Position is a place in a source file.
type Position struct {
	File string // "src/x.ts", "node_modules/zod/lib/index.mjs"
	Line int64  // 1-based
}

// MapReason says what became of one position.
type MapReason string

// What a SourceMapper answers.
const (
	Mapped    MapReason = "mapped"
	NoMap     MapReason = "no_map"     // no source map for this file
	NoColumn  MapReason = "no_column"  // minified line, and the profile has no columns
	NoSegment MapReason = "no_segment" // the map says nothing about this place
)

func (o Options) sampleCap() int64 {
	if o.SampleCap <= 0 {
		return int64(DefaultSampleCap)
	}
	return int64(o.SampleCap)
}
