package conf

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Days is a duration that is written in days or Go units: 30d, 12h, 1d12h.
type Days time.Duration

// Duration is the plain value.
func (d Days) Duration() time.Duration { return time.Duration(d) }

func (d Days) String() string { return formatDuration(time.Duration(d)) }

// MarshalText serves YAML and JSON.
func (d Days) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Bytes is a size that is written with a unit: 512KiB, 64MiB, 10GB.
type Bytes int64

func (b Bytes) String() string { return formatBytes(int64(b)) }

// MarshalText serves YAML and JSON.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// setText reads text into a leaf field. The error says what was expected and
// gives an example; the caller adds the key.
func setText(v reflect.Value, text string) error {
	text = strings.TrimSpace(text)
	switch p := v.Addr().Interface().(type) {
	case *Secret:
		*p = NewSecret(text)
	case *Addresses:
		*p = NewAddresses(text)
	case *time.Duration:
		d, err := parseDuration(text)
		*p = d
		return err
	case *Days:
		d, err := parseDuration(text)
		*p = Days(d)
		return err
	case *Bytes:
		n, err := parseBytes(text)
		*p = Bytes(n)
		return err
	case *[]string:
		*p = splitList(text)
	case *string:
		*p = text
	case *bool:
		b, err := parseBool(text)
		*p = b
		return err
	case *int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		*p = n
	default:
		return fmt.Errorf("a %s cannot be written as text", v.Type())
	}
	return nil
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", text)
}

func splitList(text string) []string {
	var list []string
	for s := range strings.SplitSeq(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}

func parseDuration(text string) (time.Duration, error) {
	days, rest, found := strings.Cut(text, "d")
	var total time.Duration
	if found {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || math.Abs(n) > 36500 {
			return 0, fmt.Errorf("%q is not a duration (10s, 5m, 2h, 7d)", text)
		}
		total = time.Duration(n * 24 * float64(time.Hour))
		text = rest
		if rest == "" {
			return total, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		if _, num := strconv.ParseFloat(text, 64); num == nil && text != "" {
			return 0, fmt.Errorf("%q lacks a unit; write %ss or %sms", text, text, text)
		}
		return 0, fmt.Errorf("%q is not a duration (10s, 5m, 2h, 7d)", text)
	}
	return total + d, nil
}

// formatDuration writes whole days as such and drops zero units: 10m, not 10m0s.
func formatDuration(d time.Duration) string {
	const day = 24 * time.Hour
	if d != 0 && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

var byteUnits = []struct {
	name string
	size int64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
}

func parseBytes(text string) (int64, error) {
	number, unit := text, int64(1)
	for _, u := range byteUnits {
		if n, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = strings.TrimSpace(n), u.size
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(n) || n*float64(unit) > math.MaxInt64/2 || n < 0 {
		return 0, fmt.Errorf("%q is not a size (512KiB, 64MiB, 10GB)", text)
	}
	return int64(n * float64(unit)), nil
}

func formatBytes(n int64) string {
	for _, i := range []int{3, 2, 1, 0} {
		if u := byteUnits[i]; n != 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// formatValue writes a leaf as setText would read it, secrets redacted.
func formatValue(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Duration:
		return formatDuration(x)
	case []string:
		return strings.Join(x, ",")
	default:
		return fmt.Sprint(x)
	}
}

var errEmptyFile = errors.New("the file is empty")
