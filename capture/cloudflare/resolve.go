package cloudflare

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/snapflame/snapflame/capture"
)

const (
	maxChoices = 6               // candidates that are worth a request
	splitWait  = 3 * time.Second // for a traffic split that is only shown
)

// Forget drops what is believed about the target, after a mismatch.
func (c *Client) Forget(t capture.Target) {
	c.cache.forget(t.Script, t.ObjectID, t.DispatchNamespace+"/"+t.Script)
}

// Resolve completes a target: candidates in order of likelihood, at least one.
// The error is a *capture.Failure.
func (c *Client) Resolve(ctx context.Context, t capture.Target) ([]capture.Resolution, error) {
	if strings.EqualFold(t.VersionID, "latest") {
		return nil, &capture.Failure{Kind: capture.FailBadRequest, Unsent: true, Message: "latest is the newest upload, which need not be deployed: name a version, or none for the deployed one"}
	}
	switch {
	case t.Kind == capture.DurableObject:
		return c.resolveObject(ctx, t)
	case t.Script == "":
		return nil, &capture.Failure{Kind: capture.FailBadRequest, Unsent: true, Message: "the Worker is not named"}
	case t.DispatchNamespace != "":
		return c.resolveDispatched(ctx, t)
	}
	return c.versions(ctx, t, nil)
}

// versions gives the target in each version that may be meant: the named one
// first, then those of the newest deployment by traffic. An object keeps the
// version it started on until the next deployment, so for objects the versions
// of older deployments follow.
func (c *Client) versions(ctx context.Context, t capture.Target, notes []string) ([]capture.Resolution, error) {
	t, list, notes, err := c.lookUp(ctx, t, notes)
	if err != nil {
		return nil, err
	}
	split := map[string]float64{}
	var out []capture.Resolution
	add := func(version, source string, extra ...string) {
		same := func(r capture.Resolution) bool { // one of them may be a prefix
			return strings.HasPrefix(r.Target.VersionID, version) || strings.HasPrefix(version, r.Target.VersionID)
		}
		if version == "" || slices.ContainsFunc(out, same) || len(out) >= maxChoices {
			return
		}
		rt := t
		rt.VersionID = version
		out = append(out, capture.Resolution{Target: rt, VersionSource: source, Notes: append(slices.Clone(notes), extra...)})
	}
	add(t.VersionID, "event")
	if len(list) > 0 {
		shares := slices.Clone(list[0].Versions)
		sort.SliceStable(shares, func(i, j int) bool { return shares[i].Percentage > shares[j].Percentage })
		for _, s := range shares {
			split[s.VersionID] = s.Percentage
		}
		for _, s := range shares {
			add(s.VersionID, "deployment", onlyIf(t.VersionID != "", "the version that was named had nothing to profile; this one is deployed")...)
		}
	}
	if t.Kind == capture.DurableObject && len(list) > 1 {
		for _, d := range list[1:min(len(list), 4)] {
			for _, s := range d.Versions {
				add(s.VersionID, "older_deployment", "the object may still run the version of an older deployment")
			}
		}
	}
	if len(out) == 0 {
		return nil, &capture.Failure{Kind: capture.FailNoDeployment, Unsent: true, Message: fmt.Sprintf("%q has no deployment", c.clean(t.Script))}
	}
	for i := range out {
		out[i].Split = split
		if len(split) > 1 {
			out[i].Notes = append(out[i].Notes, "gradual deployment: "+splitWords(split))
		}
	}
	return out, nil
}

// lookUp finds the deployments, and the Worker's new name if it has one. When
// the version is known, nothing of it is needed: then only a Worker that
// certainly is not there is an error.
func (c *Client) lookUp(ctx context.Context, t capture.Target, notes []string) (capture.Target, []Deployment, []string, error) {
	known := t.VersionID != ""
	list, old, err := c.deployed(ctx, t.Script, known)
	if err == nil {
		return t, list, append(slices.Clip(notes), onlyIf(old != "", old)...), nil
	}
	if asFailure(err).Kind != capture.FailNotFound {
		if known {
			err = nil
		}
		return t, nil, notes, err
	}
	name, note, gone := c.renamed(ctx, t.Script)
	switch {
	case gone != nil:
		return t, nil, notes, gone
	case name == "" || name == t.Script: // its list could not be read, or it has no deployment
		if known {
			err = nil
		}
		return t, nil, notes, err
	}
	t.Script = name
	list, _, err = c.deployed(ctx, name, known) // its first time under this name
	if known {
		err = nil
	}
	return t, list, append(notes, note), err
}

func onlyIf(b bool, s string) []string {
	if b {
		return []string{s}
	}
	return nil
}

func splitWords(split map[string]float64) string {
	ids := make([]string, 0, len(split))
	for id := range split {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool {
		a, b := ids[i], ids[j]
		return split[a] > split[b] || split[a] == split[b] && a < b
	})
	for i, id := range ids {
		ids[i] = fmt.Sprintf("%g %% %.8s", split[id], id)
	}
	return strings.Join(ids, ", ")
}

// deployed gives the deployments from memory where that is good enough: when
// the version is known they are only shown, and any age will do. Where they
// decide which version is captured, older ones serve if Cloudflare does not
// answer, and the note says so.
func (c *Client) deployed(ctx context.Context, script string, shown bool) (list []Deployment, note string, err error) {
	d, ok := c.cache.deploymentsOf(script)
	age := c.o.Now().Sub(d.at)
	if ok && (shown || age < deploymentsFresh) {
		return d.list, "", nil
	}
	if shown {
		ctx, cancel := context.WithTimeout(ctx, splitWait)
		defer cancel()
		list, err = c.fetchDeployments(ctx, script, 1)
		return list, "", err
	}
	list, err = c.fetchDeployments(ctx, script, 3)
	if err != nil && ok && age < c.o.Refresh && asFailure(err).Outage() {
		return d.list, "the deployment is that of " + d.at.UTC().Format(time.TimeOnly) + " UTC: Cloudflare did not say whether there is a newer one", nil
	}
	return list, "", err
}

// renamed finds what became of a Worker that is not there under its name. The
// failure is certain knowledge that there is none; no name and no failure is
// ignorance.
func (c *Client) renamed(ctx context.Context, script string) (name, note string, gone error) {
	id := c.cache.idOf(script)
	ws, err := c.fetchWorkers(ctx)
	if err != nil || len(ws) == 0 {
		return "", "", nil //nolint:nilerr // not knowing is an answer here
	}
	var near []string
	for _, w := range ws {
		switch {
		case w.Name == script:
			return script, "", nil
		case w.ID == id && id != "":
			return w.Name, fmt.Sprintf("the Worker %s was renamed to %s", c.clean(script), c.clean(w.Name)), nil
		case strings.HasPrefix(w.Name, script+"-") || strings.HasPrefix(script, w.Name+"-"):
			near = append(near, w.Name)
		}
	}
	text := fmt.Sprintf("there is no Worker %q", c.clean(script))
	if len(near) > 0 {
		text += "; there is " + c.clean(strings.Join(near[:min(len(near), 5)], ", "))
	}
	return "", "", &capture.Failure{Kind: capture.FailNotFound, Status: http.StatusNotFound, Message: text, Unsent: true}
}
