package conf

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// document walks one YAML text into a Config.
type document struct {
	name    string // of the file or variable, for messages
	lines   bool   // name is a file: messages carry the line
	anchors map[string]ast.Node
	sources map[string]string
	bad     Problems
	depth   int
}

// maxDepth bounds aliases that hold themselves; the deepest key of ours is
// rules[].match.x.
const maxDepth = 16

// readYAML sets the fields that data names and notes in sources where.
func readYAML(c *Config, name string, data []byte, sources map[string]string) Problems {
	d := &document{name: name, lines: true, anchors: map[string]ast.Node{}, sources: sources}
	node, ok := d.parse(data)
	if ok && node != nil {
		d.section(node, reflect.ValueOf(c).Elem(), "", map[string]string{})
	}
	return d.bad
}

// readList sets one list of sections from YAML in an environment variable.
func readList(v reflect.Value, key, name, text string) Problems {
	d := &document{name: name, anchors: map[string]ast.Node{}, sources: map[string]string{}}
	node, ok := d.parse([]byte(text))
	if ok && node != nil {
		d.value(node, v, key)
	}
	return d.bad
}

func (d *document) parse(data []byte) (ast.Node, bool) {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		where, message := d.name, err.Error()
		if e, ok := errors.AsType[yaml.Error](err); ok {
			message = e.GetMessage()
			if t := e.GetToken(); t != nil && t.Position != nil && d.lines {
				where = fmt.Sprintf("%s:%d", d.name, t.Position.Line)
			}
		}
		d.bad = append(d.bad, Problem{Where: where, What: "not valid YAML: " + oneLine(message)})
		return nil, false
	}
	if len(file.Docs) > 1 {
		d.bad = append(d.bad, Problem{Where: d.name, What: "holds several YAML documents; keep one"})
		return nil, false
	}
	if len(file.Docs) == 0 {
		return nil, true
	}
	return file.Docs[0].Body, true
}

func (d *document) where(n ast.Node) string {
	if t := n.GetToken(); d.lines && t != nil && t.Position != nil {
		return fmt.Sprintf("%s:%d", d.name, t.Position.Line)
	}
	return d.name
}

func (d *document) fail(n ast.Node, key, what string) {
	d.bad = append(d.bad, Problem{Where: d.where(n), Key: key, What: what})
}

// resolve follows anchors, aliases and tags.
func (d *document) resolve(n ast.Node) ast.Node {
	for range maxDepth {
		switch x := n.(type) {
		case *ast.AnchorNode:
			d.anchors[x.Name.GetToken().Value] = x.Value
			n = x.Value
		case *ast.AliasNode:
			n = d.anchors[x.Value.GetToken().Value]
		case *ast.TagNode:
			n = x.Value
		default:
			return n
		}
	}
	return nil
}

// section reads a mapping into a struct. A key may also be written dotted
// (capture.duration: 5s), as the documentation names it.
func (d *document) section(n ast.Node, v reflect.Value, prefix string, seen map[string]string) {
	d.depth++
	defer func() { d.depth-- }()
	entries, ok := d.entries(n)
	if !ok || d.depth > maxDepth {
		d.fail(n, strings.TrimSuffix(prefix, "."), "needs keys below it, one a line")
		return
	}
	for _, e := range entries {
		if e.Key.IsMergeKey() {
			d.fail(e.Key, strings.TrimSuffix(prefix, "."), "merge keys (<<) are not supported; write the keys out")
			continue
		}
		name := keyText(e.Key)
		field, ok := lookup(v, name)
		if !ok {
			d.fail(e.Key, prefix+name, "is not a key"+suggest(v, prefix, name))
			continue
		}
		key := prefix + name
		value := d.resolve(e.Value)
		if isSection(field.Type()) {
			if value != nil && value.Type() != ast.NullType {
				d.section(value, field, key+".", seen)
			}
			continue
		}
		if first, twice := seen[key]; twice {
			d.fail(e.Key, key, "is set twice, first at "+first)
			continue
		}
		seen[key] = d.where(e.Key)
		if value == nil || value.Type() == ast.NullType {
			continue // "channel:" with nothing after it is a key that is not set
		}
		d.sources[key] = d.where(e.Key)
		d.value(value, field, key)
	}
}

func (d *document) entries(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch x := d.resolve(n).(type) {
	case *ast.MappingNode:
		return x.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{x}, true
	}
	return nil, false
}

func (d *document) value(n ast.Node, v reflect.Value, key string) {
	seq, isSeq := n.(*ast.SequenceNode)
	switch {
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		if !isSeq {
			d.fail(n, key, "is a list; start each entry with a dash")
			return
		}
		out := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
		for i, item := range seq.Values {
			d.section(item, out.Index(i), fmt.Sprintf("%s[%d].", key, i), map[string]string{})
		}
		v.Set(out)
	case isSeq && v.Type() == reflect.TypeFor[[]string]():
		list := make([]string, 0, len(seq.Values))
		for _, item := range seq.Values {
			text, ok := d.scalar(item)
			if !ok {
				d.fail(item, key, "is a list of words")
				return
			}
			list = append(list, strings.TrimSpace(text))
		}
		v.Set(reflect.ValueOf(list))
	default:
		text, ok := d.scalar(n)
		if !ok {
			d.fail(n, key, "takes one value, not a list or section")
			return
		}
		if err := setText(v, text); err != nil {
			d.fail(n, key, err.Error())
		}
	}
}

func (d *document) scalar(n ast.Node) (string, bool) {
	switch x := d.resolve(n).(type) {
	case *ast.StringNode:
		return x.Value, true
	case *ast.LiteralNode:
		return x.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func keyText(k ast.MapKeyNode) string {
	if s, ok := k.(*ast.StringNode); ok {
		return s.Value
	}
	return k.GetToken().Value
}

// lookup finds a field by its key within a section, dotted or not.
func lookup(v reflect.Value, name string) (reflect.Value, bool) {
	head, rest, dotted := strings.Cut(name, ".")
	for i := range v.NumField() {
		if yamlName(v.Type().Field(i)) != head {
			continue
		}
		if !dotted {
			return v.Field(i), true
		}
		if isSection(v.Field(i).Type()) {
			return lookup(v.Field(i), rest)
		}
	}
	return reflect.Value{}, false
}

// suggest names the key that was probably meant: a near one of this section,
// or the same word in another section.
func suggest(v reflect.Value, prefix, name string) string {
	var here []string
	for i := range v.NumField() {
		if n := yamlName(v.Type().Field(i)); n != "" {
			here = append(here, n)
		}
	}
	if n := nearest(name, here); n != "" {
		return fmt.Sprintf("; did you mean %s%s?", prefix, n)
	}
	if !strings.Contains(prefix, "[") {
		var all []string
		for _, f := range Fields() {
			if strings.HasSuffix(f.Key, "."+name) {
				return fmt.Sprintf("; did you mean %s?", f.Key)
			}
			all = append(all, f.Key)
		}
		if n := nearest(prefix+name, all); n != "" {
			return fmt.Sprintf("; did you mean %s?", n)
		}
	}
	return "; known here: " + strings.Join(here, ", ")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
