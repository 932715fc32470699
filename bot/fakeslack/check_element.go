package fakeslack

import (
	"fmt"
	"slices"
	"strings"
)

func (c *checker) element(at string, v any) {
	e, ok := v.(object)
	if !ok {
		c.fail(at, "missing element")
		return
	}
	kind, _ := e["type"].(string)
	if kind != "image" {
		c.action(at, e)
	}
	switch kind {
	case "button":
		c.text(at+"/text", e["text"], 75, true)
		c.limit(at, e, "value", 0, 2000)
		c.limit(at, e, "url", 0, 3000)
		if u, has := e["url"].(string); has && !strings.HasPrefix(u, "http://") && !strings.HasPrefix(u, "https://") {
			c.fail(at+"/url", "must be a valid url")
		}
		if s, has := e["style"]; has && s != "primary" && s != "danger" {
			c.fail(at+"/style", "must be primary or danger")
		}
	case "static_select":
		c.placeholder(at, e)
		c.options(at, e["options"], 1, 100)
		if e["initial_option"] != nil {
			c.options(at+"/initial_option", []any{e["initial_option"]}, 1, 1)
		}
	case "external_select":
		c.placeholder(at, e)
	case "overflow":
		c.options(at, e["options"], 1, 5)
	case "plain_text_input":
		if c.surface == inMessage {
			c.fail(at, "plain_text_input is not allowed in a message")
		}
		c.limit(at, e, "initial_value", 0, 3000)
		if e["placeholder"] != nil {
			c.placeholder(at, e)
		}
	case "image":
		c.image(at, e)
	default:
		c.fail(at, "Unsupported element type: %s", kind)
	}
	if e["confirm"] != nil {
		c.confirm(at+"/confirm", e["confirm"])
	}
}

func (c *checker) action(at string, e object) {
	c.limit(at, e, "action_id", 1, 255)
	id, _ := e["action_id"].(string)
	if c.actions[id] {
		c.fail(at, "action_id %q already exists", id)
	}
	c.actions[id] = true
}

func (c *checker) placeholder(at string, e object) {
	if e["placeholder"] != nil {
		c.text(at+"/placeholder", e["placeholder"], 150, true)
	}
}

func (c *checker) options(at string, v any, low, high int) {
	for i, o := range c.count(at+"/options", v, low, high) {
		p := fmt.Sprintf("%s/options/%d", at, i)
		m, ok := o.(object)
		if !ok {
			c.fail(p, "must be an object")
			continue
		}
		c.text(p+"/text", m["text"], 75, false)
		c.limit(p, m, "value", 1, 75)
	}
}

func (c *checker) confirm(at string, v any) {
	o, ok := v.(object)
	if !ok {
		c.fail(at, "must be an object")
		return
	}
	c.text(at+"/title", o["title"], 100, true)
	c.text(at+"/text", o["text"], 300, false)
	c.text(at+"/confirm", o["confirm"], 30, true)
	c.text(at+"/deny", o["deny"], 30, true)
}

func (c *checker) rich(at string, v any) {
	e, ok := v.(object)
	if !ok {
		c.fail(at, "must be an object")
		return
	}
	kind, _ := e["type"].(string)
	switch kind {
	case "rich_text_list":
		if s := e["style"]; s != "bullet" && s != "ordered" {
			c.fail(at+"/style", "must be bullet or ordered")
		}
		for i, item := range c.count(at+"/elements", e["elements"], 1, 1000) {
			c.rich(fmt.Sprintf("%s/elements/%d", at, i), item)
		}
	case "rich_text_section", "rich_text_quote", "rich_text_preformatted":
		for i, r := range c.count(at+"/elements", e["elements"], 1, 1000) {
			c.run(fmt.Sprintf("%s/elements/%d", at, i), r, kind)
		}
	default:
		c.fail(at, "Unsupported rich text type: %s", kind)
	}
}

func (c *checker) run(at string, v any, in string) {
	o, ok := v.(object)
	if !ok {
		c.fail(at, "must be an object")
		return
	}
	kind, _ := o["type"].(string)
	switch kind {
	case "text":
		c.limit(at, o, "text", 1, 3000)
	case "link":
		c.limit(at, o, "url", 1, 3000)
	case "emoji":
		c.limit(at, o, "name", 1, 100)
	case "user":
		c.limit(at, o, "user_id", 1, 30)
	case "usergroup":
		c.limit(at, o, "usergroup_id", 1, 30)
	case "broadcast":
		if !slices.Contains([]any{"here", "channel", "everyone"}, o["range"]) {
			c.fail(at, "range must be here, channel or everyone")
		}
	default:
		c.fail(at, "Unsupported rich text element: %s", kind)
	}
	if in == "rich_text_preformatted" && kind != "text" && kind != "link" {
		c.fail(at, "%s is not allowed in preformatted text", kind)
	}
}
