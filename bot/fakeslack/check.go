package fakeslack

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// Where blocks stand.
const (
	inMessage = "message"
	inModal   = "modal"
	inHome    = "home"
)

// maxMessage is the undocumented size of all blocks of a message, taken a
// little strictly (slackapi/bolt-js#2509 met it at 13,200).
const maxMessage = 13000

type object = map[string]any

// checker holds blocks to what Slack takes. The first fault is the answer, with
// its place as a JSON pointer, as Slack gives it.
type checker struct {
	surface string
	actions map[string]bool
	ids     map[string]bool
	cells   int // characters in table cells
	tables  int
	fault   string
}

func checkBlocks(raw json.RawMessage, surface string) error {
	var list []object
	if json.Unmarshal(raw, &list) != nil {
		return refuse("invalid_blocks_format")
	}
	limit := 100
	if surface == inMessage {
		limit = 50
		if len(utf16.Encode([]rune(compact(raw)))) > maxMessage {
			return refuse("msg_blocks_too_long")
		}
	}
	c := &checker{surface: surface, actions: map[string]bool{}, ids: map[string]bool{}}
	if len(list) > limit {
		c.fail("/blocks", "no more than %d items allowed", limit)
	}
	for i, b := range list {
		c.block(fmt.Sprintf("/blocks/%d", i), b)
	}
	if c.tables > 1 {
		c.fail("/blocks", "only one table allowed")
	}
	if c.cells > 10000 {
		c.fail("/blocks", "more than 10000 characters in tables")
	}
	if c.fault != "" {
		return refuseBlocks("invalid_blocks", c.fault)
	}
	return nil
}

// compact is the JSON with its escapes undone where Slack counts characters.
func compact(raw json.RawMessage) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(raw))
}

func checkView(raw json.RawMessage, kind string) error {
	var v object
	if json.Unmarshal(raw, &v) != nil || v["type"] != kind {
		return refuse("invalid_arguments")
	}
	c := &checker{surface: kind}
	if kind == inModal {
		for _, k := range []string{"title", "submit", "close"} {
			if o, ok := v[k].(object); ok {
				c.text("/"+k, o, 24, true)
			} else if k == "title" {
				c.fail("/title", "missing required field: title")
			}
		}
	}
	c.limit("/private_metadata", v, "private_metadata", 0, 3000)
	c.limit("/callback_id", v, "callback_id", 0, 255)
	if c.fault != "" {
		return refuseBlocks("invalid_arguments", c.fault)
	}
	list, ok := v["blocks"]
	if !ok {
		return refuseBlocks("invalid_arguments", "missing required field: blocks")
	}
	b, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("read the blocks of a view: %w", err)
	}
	return checkBlocks(b, kind)
}

func (c *checker) fail(at, format string, args ...any) {
	if c.fault == "" {
		c.fault = fmt.Sprintf(format, args...) + " [json-pointer:" + at + "]"
	}
}

func length(s string) int { return len(utf16.Encode([]rune(s))) }

func (c *checker) limit(at string, o object, field string, low, high int) {
	v, there := o[field]
	if !there {
		if low > 0 {
			c.fail(at, "missing required field: %s", field)
		}
		return
	}
	s, ok := v.(string)
	if !ok {
		c.fail(at, "%s must be a string", field)
		return
	}
	if n := length(s); n < low || n > high {
		c.fail(at, "%s must have %d to %d characters, has %d", field, low, high, n)
	}
}

func (c *checker) text(at string, v any, high int, onlyPlain bool) {
	o, ok := v.(object)
	if !ok {
		c.fail(at, "missing text object")
		return
	}
	switch o["type"] {
	case "plain_text":
	case "mrkdwn":
		if onlyPlain {
			c.fail(at, "must be plain_text")
		}
		if _, has := o["emoji"]; has {
			c.fail(at, "emoji is for plain_text")
		}
	default:
		c.fail(at, "unknown text type %v", o["type"])
	}
	c.limit(at+"/text", o, "text", 1, high)
}

func list(v any) []any { l, _ := v.([]any); return l }

func (c *checker) count(at string, v any, low, high int) []any {
	l := list(v)
	if len(l) < low || len(l) > high {
		c.fail(at, "must have %d to %d items, has %d", low, high, len(l))
	}
	return l
}

func (c *checker) block(at string, b object) {
	c.limit(at+"/block_id", b, "block_id", 0, 255)
	if id, _ := b["block_id"].(string); id != "" {
		if c.ids[id] {
			c.fail(at, "block_id %q already exists", id)
		}
		c.ids[id] = true
	}
	kind, _ := b["type"].(string)
	switch kind {
	case "header":
		c.text(at+"/text", b["text"], 150, true)
	case "divider":
	case "section":
		c.section(at, b)
	case "context":
		for i, e := range c.count(at+"/elements", b["elements"], 1, 10) {
			o, _ := e.(object)
			if o["type"] == "image" {
				c.image(at, o)
				continue
			}
			c.text(fmt.Sprintf("%s/elements/%d", at, i), e, 3000, false)
		}
	case "actions":
		for i, e := range c.count(at+"/elements", b["elements"], 1, 25) {
			c.element(fmt.Sprintf("%s/elements/%d", at, i), e)
		}
	case "image":
		c.image(at, b)
	case "table":
		c.only(at, kind, inMessage)
		c.table(at, b)
	case "rich_text":
		for i, e := range c.count(at+"/elements", b["elements"], 1, 1000) {
			c.rich(fmt.Sprintf("%s/elements/%d", at, i), e)
		}
	case "input":
		c.only(at, kind, inModal, inHome)
		c.text(at+"/label", b["label"], 2000, true)
		if b["hint"] != nil {
			c.text(at+"/hint", b["hint"], 2000, true)
		}
		c.element(at+"/element", b["element"])
	case "alert":
		c.only(at, kind, inModal)
		c.text(at+"/text", b["text"], 200, false)
	case "markdown":
		c.only(at, kind, inMessage)
		c.limit(at, b, "text", 1, 12000)
	default:
		c.fail(at, "Unsupported type: %s", kind)
	}
}

func (c *checker) only(at, kind string, surfaces ...string) {
	if !slices.Contains(surfaces, c.surface) {
		c.fail(at, "%s is not allowed in a %s", kind, c.surface)
	}
}

func (c *checker) section(at string, b object) {
	if b["text"] == nil && b["fields"] == nil {
		c.fail(at, "text or fields required")
	}
	if b["text"] != nil {
		c.text(at+"/text", b["text"], 3000, false)
	}
	if b["fields"] != nil {
		for i, f := range c.count(at+"/fields", b["fields"], 1, 10) {
			c.text(fmt.Sprintf("%s/fields/%d", at, i), f, 2000, false)
		}
	}
	if b["accessory"] != nil {
		c.element(at+"/accessory", b["accessory"])
	}
}

func (c *checker) image(at string, b object) {
	c.limit(at, b, "alt_text", 1, 2000)
	if b["title"] != nil {
		c.text(at+"/title", b["title"], 2000, true)
	}
	u, _ := b["image_url"].(string)
	if (u == "") == (b["slack_file"] == nil) {
		c.fail(at, "image_url or slack_file required")
	}
	if length(u) > 3000 || strings.HasSuffix(u, ".svg") || strings.HasSuffix(u, ".webp") {
		c.fail(at, "downloading image failed")
	}
}

func (c *checker) table(at string, b object) {
	c.tables++
	rows := c.count(at+"/rows", b["rows"], 1, 100)
	for i, r := range rows {
		for j, cell := range c.count(fmt.Sprintf("%s/rows/%d", at, i), r, 1, 20) {
			p := fmt.Sprintf("%s/rows/%d/%d", at, i, j)
			o, ok := cell.(object)
			if !ok {
				c.fail(p, "cell must be an object")
				continue
			}
			switch o["type"] {
			case "raw_text":
				c.limit(p, o, "text", 1, 10000)
			case "raw_number":
				c.limit(p, o, "text", 1, 10000)
				if _, ok := o["value"].(float64); !ok {
					c.fail(p, "value must be a number")
				}
			case "rich_text":
				for _, e := range c.count(p, o["elements"], 1, 1000) {
					c.rich(p, e)
				}
			default:
				c.fail(p, "Unsupported cell type: %v", o["type"])
			}
			s, _ := o["text"].(string)
			c.cells += length(s)
		}
	}
	for i, s := range list(b["column_settings"]) {
		o, ok := s.(object)
		if !ok {
			c.fail(fmt.Sprintf("%s/column_settings/%d", at, i), "must be an object")
			continue
		}
		if a, has := o["align"]; has && a != "left" && a != "center" && a != "right" {
			c.fail(fmt.Sprintf("%s/column_settings/%d/align", at, i), "must be left, center or right")
		}
	}
	if len(list(b["column_settings"])) > 20 {
		c.fail(at+"/column_settings", "no more than 20 items allowed")
	}
}
