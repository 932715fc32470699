package cloudflare

import (
	"context"
	"net/url"

	"github.com/snapflame/snapflame/capture"
)

// resolveDispatched completes a user Worker of a dispatch namespace (Workers
// for Platforms). Such Workers have no deployments: an upload serves at once,
// so the newest version is the one that runs.
func (c *Client) resolveDispatched(ctx context.Context, t capture.Target) ([]capture.Resolution, error) {
	id, err := c.dispatched(ctx, t)
	if err != nil {
		return nil, err
	}
	note := "user Worker of the dispatch namespace " + c.clean(t.DispatchNamespace)
	if t.VersionID != "" {
		return []capture.Resolution{{Target: t, VersionSource: "event", Notes: []string{note}}}, nil
	}
	var rows []struct {
		ID string `json:"id"`
	}
	if _, err := c.get(ctx, c.base+"/workers/workers/"+url.PathEscape(id)+"/versions?page=1&per_page=1", 3, &rows); err != nil {
		return nil, err
	}
	if len(rows) == 0 || rows[0].ID == "" {
		return nil, &capture.Failure{Kind: capture.FailNoDeployment, Unsent: true, Message: "the user Worker has no version"}
	}
	t.VersionID = rows[0].ID
	return []capture.Resolution{{Target: t, VersionSource: "deployment", Notes: []string{note}}}, nil
}

// dispatched is the immutable id of a user Worker: its name is unique only
// within the dispatch namespace.
func (c *Client) dispatched(ctx context.Context, t capture.Target) (string, error) {
	key := t.DispatchNamespace + "/" + t.Script
	if id := c.cache.dispatchedID(key); id != "" {
		return id, nil
	}
	var res struct {
		Script struct {
			Tag string `json:"tag"`
		} `json:"script"`
	}
	if _, err := c.get(ctx, c.base+"/workers/dispatch/namespaces/"+url.PathEscape(t.DispatchNamespace)+"/scripts/"+url.PathEscape(t.Script), 3, &res); err != nil {
		return "", err
	}
	if res.Script.Tag == "" {
		return "", &capture.Failure{Kind: capture.FailNotFound, Unsent: true, Message: "the user Worker has no id"}
	}
	c.cache.setDispatchedID(key, res.Script.Tag)
	return res.Script.Tag, nil
}
