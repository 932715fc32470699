package flame

import (
	"math"
	"strconv"
	"time"
)

// percent writes a share, 0 to 1, as people say it: one decimal, none needed at
// 100 %, and never "0.0%" for something that is there.
func percent(share float64) string {
	p := share * 100
	switch {
	case math.IsNaN(p) || math.IsInf(p, 0):
		return "?"
	case p > 0 && p < 0.05:
		return "<0.1 %"
	case p > 99.95 && p < 100.05:
		return "100 %"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + " %"
}

// points writes a difference of shares in percentage points, signed.
func points(d float64) string {
	p := strconv.FormatFloat(math.Abs(d)*100, 'f', 1, 64)
	switch {
	case p == "0.0":
		return "±0"
	case d < 0:
		return "−" + p
	}
	return "+" + p
}

// seconds writes a time given in nanoseconds with three significant digits.
func seconds(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d < 0:
		return "−" + seconds(-max(ns, -math.MaxInt64))
	case d < time.Millisecond:
		return strconv.FormatFloat(float64(ns)/1e3, 'f', 0, 64) + " µs"
	case d < time.Second:
		return strconv.FormatFloat(float64(ns)/1e6, 'f', 0, 64) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
}

// window writes a duration as it was asked for: "10 s", "1.5 s".
func window(d time.Duration) string {
	return strconv.FormatFloat(math.Round(d.Seconds()*10)/10, 'f', -1, 64) + " s"
}

// size writes bytes in decimal units.
func size(n int64) string {
	f := float64(n)
	for _, u := range []struct {
		name string
		of   float64
	}{{" TB", 1e12}, {" GB", 1e9}, {" MB", 1e6}, {" kB", 1e3}} {
		if math.Abs(f) >= u.of {
			digits := 0
			if math.Abs(f) < 10*u.of {
				digits = 2
			}
			return strconv.FormatFloat(f/u.of, 'f', digits, 64) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + " B"
}

// amount writes a value of a tree in its unit.
func amount(n int64, unit string) string {
	if unit == "bytes" {
		return size(n)
	}
	return seconds(n)
}

// count writes a number with thousands separated.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	head := len(s) % 3
	if n < 0 {
		head = (len(s)-1)%3 + 1
	}
	out := s[:head]
	for i := head; i < len(s); i += 3 {
		if out != "" && out != "-" {
			out += ","
		}
		out += s[i : i+3]
	}
	return out
}
