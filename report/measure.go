package report

import (
	"fmt"
	"slices"
	"strings"
)

// nanos is the scale of the time units that encoders write; pprof-nodejs
// writes microseconds, DataDog's fork and Go nanoseconds.
func nanos(unit string) int64 {
	switch strings.ToLower(unit) {
	case "nanoseconds", "nanosecond", "ns":
		return 1
	case "microseconds", "microsecond", "us", "µs", "μs":
		return 1e3
	case "milliseconds", "millisecond", "ms":
		return 1e6
	case "seconds", "second", "s":
		return 1e9
	default:
		return 0
	}
}

func octets(unit string) int64 {
	switch strings.ToLower(unit) {
	case "bytes", "byte", "b":
		return 1
	case "kilobytes", "kilobyte", "kb", "kib":
		return 1 << 10
	case "megabytes", "megabyte", "mb", "mib":
		return 1 << 20
	default:
		return 0
	}
}

// measure selects values by their units and positions, never by one name:
// encoders call the same thing cpu, wall, space, inuse_space or samples.
// Among several of one unit the file's default wins, else the last, which is
// what pprof itself shows; among several of bytes first what is called
// allocated, for that is what a capture measures and the report speaks of.
func (t *tables) measure(o Options) (Type, measure, string, error) {
	m := measure{types: len(t.types), value: -1, count: -1, scale: 1}
	if len(t.types) == 0 {
		return "", m, "", malformed("it declares no values")
	}
	typ := t.profileType()
	scale := nanos
	if typ == Heap {
		scale = octets
	}
	candidates, chosen, allocated := 0, false, false
	for i, v := range t.types {
		s := scale(t.text(v.unit))
		if s == 0 {
			continue
		}
		candidates++
		alloc := typ == Heap && strings.HasPrefix(strings.ToLower(t.text(v.name)), "alloc")
		switch named := t.defaultType != 0 && v.name == t.defaultType; {
		case alloc, !allocated && named, !allocated && !chosen:
			m.value, m.scale = i, s
			chosen, allocated = chosen || named, allocated || alloc
		}
	}
	m.count = t.countIndex(m.value)
	if typ == CPU {
		m.cap = o.sampleCap()
	}
	note := ""
	switch {
	case m.value >= 0 && candidates > 1:
		note = fmt.Sprintf("each sample has %d values of this kind; read is %q", candidates, t.text(t.types[m.value].name))
	case typ == Heap && m.value >= 0 && t.live(m.value):
		note = fmt.Sprintf("the file calls its bytes %q: what was still in use, not all that was allocated; read every share so", t.text(t.types[m.value].name))
	case m.value < 0:
		s := scale(t.text(t.periodType.unit))
		if typ == "" || m.count < 0 || s == 0 || t.period <= 0 || t.period > (1<<62)/s {
			return "", m, "", inputErrorf(InputUnknownUnit, "the profile measures %s, neither time nor bytes; take a cpu or heap capture", t.units())
		}
		m.period = t.period * s
		note = "the samples carry no values; each counts as one period"
	}
	return typ, m, note, nil
}

// live reports whether the bytes are those still in use when the file was
// written, by the name that Go's and DataDog's encoders give them.
func (t *tables) live(value int) bool {
	return strings.Contains(strings.ToLower(t.text(t.types[value].name)), "inuse")
}

// profileType goes by the period's unit, which says what was sampled, and by
// the values' units where the period says nothing.
func (t *tables) profileType() Type {
	hasTime, hasBytes := false, false
	for _, v := range t.types {
		hasTime = hasTime || nanos(t.text(v.unit)) > 0
		hasBytes = hasBytes || octets(t.text(v.unit)) > 0
	}
	period := t.text(t.periodType.unit)
	switch {
	case hasTime && hasBytes && octets(period) > 0:
		return Heap
	case hasTime:
		return CPU
	case hasBytes:
		return Heap
	case nanos(period) > 0:
		return CPU
	case octets(period) > 0:
		return Heap
	default:
		return ""
	}
}

// periodIn is the sampling period in nanoseconds or bytes, 0 when the file
// does not say.
func (t *tables) periodIn(typ Type) int64 {
	scale := nanos(t.text(t.periodType.unit))
	if typ == Heap {
		scale = octets(t.text(t.periodType.unit))
	}
	if t.period <= 0 || scale == 0 || t.period > (1<<62)/scale {
		return 0
	}
	return t.period * scale
}

// countIndex is the count that belongs to the value: the nearest before it
// (writers put pairs), else the first there is; -1 when there is none.
func (t *tables) countIndex(value int) int {
	first := -1
	for i, v := range slices.Backward(t.types) {
		if u := strings.ToLower(t.text(v.unit)); u != "count" && u != "samples" && u != "objects" {
			continue
		}
		if i < value {
			return i
		}
		first = i
	}
	return first
}

func (t *tables) units() string {
	var u []string
	for _, v := range t.types[:min(len(t.types), 4)] {
		u = append(u, fmt.Sprintf("%q", excerpt(t.bytes(v.unit))))
	}
	return strings.Join(u, ", ")
}

func (t *tables) text(i int64) string { return clean(t.bytes(i)) }
