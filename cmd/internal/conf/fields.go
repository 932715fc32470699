package conf

import (
	"reflect"
	"strings"
	"time"

	"github.com/snapflame/snapflame/bot"
)

// Field is one key with all that is known about it.
type Field struct {
	Key     string   // capture.per_hour
	Env     []string // SNAPFLAME_CAPTURE_PER_HOUR first, then ecosystem names
	Default string
	Doc     string
	Secret  bool
	File    bool // may stand in the file that its variable with _FILE names
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
			File:    sf.Type == reflect.TypeFor[Secret]() || sf.Type == reflect.TypeFor[Addresses](), // which may hold passwords
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

// nearest returns the candidate that was probably meant, or "".
func nearest(s string, candidates []string) string {
	if near := bot.Nearest(s, candidates, 1); len(near) > 0 {
		return near[0]
	}
	return ""
}
