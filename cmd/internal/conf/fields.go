package conf

import (
	"reflect"
	"strings"
	"time"
)

// Field is one key with all that is known about it.
type Field struct {
	Key     string   // capture.per_hour
	Env     []string // SNAPFLAME_CAPTURE_PER_HOUR first, then ecosystem names
	Default string
	Doc     string
	Secret  bool
	Hot     bool // a reload takes it over
	List    bool // a list of sections (rules, slack.routes)

	value reflect.Value
}

// Fields lists every key in the order of Config.
func Fields() []Field { return fieldsOf(&Config{}) }

func fieldsOf(c *Config) []Field {
	return collect(reflect.ValueOf(c).Elem(), "", nil)
}

func collect(v reflect.Value, prefix string, out []Field) []Field {
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		name := yamlName(sf)
		if name == "" {
			continue
		}
		key := prefix + name
		if isSection(sf.Type) {
			out = collect(v.Field(i), key+".", out)
			continue
		}
		f := Field{
			Key:     key,
			Env:     []string{envName(key)},
			Default: sf.Tag.Get("default"),
			Doc:     sf.Tag.Get("doc"),
			Secret:  sf.Type == reflect.TypeFor[Secret](),
			Hot:     sf.Tag.Get("hot") != "",
			List:    sf.Type.Kind() == reflect.Slice && sf.Type.Elem().Kind() == reflect.Struct,
			value:   v.Field(i),
		}
		if e := sf.Tag.Get("env"); e != "" {
			f.Env = append(f.Env, strings.Split(e, ",")...)
		}
		out = append(out, f)
	}
	return out
}

func yamlName(sf reflect.StructField) string {
	name := sf.Tag.Get("yaml")
	if name == "-" || !sf.IsExported() {
		return ""
	}
	return name
}

// isSection tells a nested group of keys from a value that happens to be a struct.
func isSection(t reflect.Type) bool {
	return t.Kind() == reflect.Struct &&
		t != reflect.TypeFor[Secret]() && t != reflect.TypeFor[Addresses]() && t != reflect.TypeFor[time.Time]()
}

func envName(key string) string {
	return "SNAPFLAME_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// nearest returns the candidate with the fewest edits from s, or "" when none
// is close enough to be a misspelling.
func nearest(s string, candidates []string) string {
	best, bestCost := "", 1+max(2, len(s)/3)
	for _, c := range candidates {
		if cost := edits(s, c); cost < bestCost {
			best, bestCost = c, cost
		}
	}
	return best
}

// edits is the optimal string alignment distance: insertions, deletions,
// replacements and swaps of neighbours.
func edits(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
