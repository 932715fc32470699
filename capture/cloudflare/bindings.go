package cloudflare

import (
	"context"
	"net/url"

	"github.com/snapflame/snapflame/capture"
)

// maxServices bounds how many of a Worker's services are looked into.
const maxServices = 8

// binding is one row of a version's bindings, as far as it leads to objects.
type binding struct {
	Type        string `json:"type"`
	NamespaceID string `json:"namespace_id"`
	Class       string `json:"class_name"`
	Script      string `json:"script_name"`
	Service     string `json:"service"`
}

// Bindings lists the Durable Object namespaces that a Worker can call: those
// that its version binds; when it binds none, those that its services bind,
// because an error of theirs passes through it. An empty list says only that
// nothing was found: services have services of their own.
//
// Without a version in t the one with most traffic is meant. Bindings of a
// version never change, so a version that was looked at needs no call again.
func (c *Client) Bindings(ctx context.Context, t capture.Target) ([]Namespace, error) {
	own, services, err := c.bound(ctx, t)
	if err != nil || len(own) > 0 {
		return own, err
	}
	var out []Namespace
	for _, s := range services[:min(len(services), maxServices)] {
		if s == t.Script {
			continue
		}
		more, _, err := c.bound(ctx, capture.Target{Kind: capture.Worker, Script: s})
		if err != nil {
			if asFailure(err).Kind == capture.FailNotFound || asFailure(err).Kind == capture.FailNoDeployment {
				continue // bound, and gone since
			}
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// bound is what one version binds: namespaces, and services by name.
func (c *Client) bound(ctx context.Context, t capture.Target) ([]Namespace, []string, error) {
	rs, err := c.servedBy(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	worker := rs.Script
	if t.DispatchNamespace != "" {
		if worker, err = c.dispatched(ctx, t); err != nil {
			return nil, nil, err
		}
	}
	key := t.DispatchNamespace + "/" + worker + "/" + rs.VersionID
	rows, ok := c.cache.bindingsOf(key)
	if !ok {
		v, err, _ := c.once.Do("bindings "+key, func() (any, error) {
			var res struct {
				Bindings []binding `json:"bindings"`
			}
			target := c.base + "/workers/workers/" + url.PathEscape(worker) + "/versions/" + url.PathEscape(rs.VersionID)
			if _, err := c.get(ctx, target, 2, &res); err != nil {
				return nil, err
			}
			c.cache.setBindings(key, res.Bindings)
			return res.Bindings, nil
		})
		if err != nil {
			return nil, nil, err
		}
		rows = v.([]binding)
	}
	return c.named(ctx, rs.Script, rows)
}

// servedBy is the target with the version whose bindings count.
func (c *Client) servedBy(ctx context.Context, t capture.Target) (capture.Target, error) {
	if t.VersionID != "" {
		return t, nil
	}
	t.Kind, t.ObjectID = capture.Worker, ""
	rs, err := c.Resolve(ctx, t)
	if err != nil {
		return t, err
	}
	return rs[0].Target, nil
}

// named turns a version's bindings into namespaces. The account's list knows
// their Worker and class; what it does not list is taken as the binding has it.
func (c *Client) named(ctx context.Context, script string, rows []binding) (own []Namespace, services []string, err error) {
	var known map[string]Namespace
	for _, b := range rows {
		switch b.Type {
		case "durable_object_namespace":
			if known == nil {
				list, err := c.Namespaces(ctx)
				if err != nil {
					return nil, nil, err
				}
				known = make(map[string]Namespace, len(list))
				for _, n := range list {
					known[n.ID] = n
				}
			}
			n, ok := known[b.NamespaceID]
			if !ok {
				n = Namespace{ID: b.NamespaceID, Class: b.Class, Script: b.Script}
				if n.Script == "" {
					n.Script = script
				}
			}
			own = append(own, n)
		case "service":
			services = append(services, b.Service)
		}
	}
	return own, services, nil
}
