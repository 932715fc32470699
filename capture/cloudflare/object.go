package cloudflare

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/snapflame/snapflame/capture"
)

// Bounds of looking for an object in the lists of its possible namespaces: the
// endpoint cannot be asked for one id, and a namespace can have millions.
const (
	objectsPerPage = 10000 // the endpoint's most
	pagesPerList   = 5
	maxNamespaces  = 20
)

// resolveObject finds the namespace and so the Worker that implements it: the
// caller that reported an overload is the wrong one to ask for.
func (c *Client) resolveObject(ctx context.Context, t capture.Target) ([]capture.Resolution, error) {
	if !isObjectID(t.ObjectID) {
		return nil, &capture.Failure{Kind: capture.FailBadRequest, Unsent: true, Message: "an object id has 64 hexadecimal digits"}
	}
	t.ObjectID = strings.ToLower(t.ObjectID)
	owners, notes, err := c.owners(ctx, t)
	if err != nil {
		return nil, err
	}
	if len(owners) > 1 {
		notes = append(notes, fmt.Sprintf("%d namespaces may have this object; they are asked in order of likelihood", len(owners)))
	}
	var out []capture.Resolution
	var first error
	for _, o := range owners {
		ot, on := t, slices.Clone(notes)
		if t.VersionID != "" && t.Script != "" && t.Script != o.Script {
			ot.VersionID = "" // a version belongs to one Worker
			// It calls the object, or implemented it before it was renamed.
			on = append(on, fmt.Sprintf("%s does not implement the object; %s does", c.clean(t.Script), c.clean(o.Script)))
		}
		ot.Script, ot.Class, ot.NamespaceID = o.Script, o.Class, o.ID
		rs, err := c.versions(ctx, ot, on)
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		out = append(out, rs...)
	}
	if len(out) == 0 {
		return nil, first
	}
	if len(owners) > 1 { // each owner's best before any owner's second best
		out = interleave(out)
	}
	return out[:min(len(out), maxChoices)], nil
}

func interleave(rs []capture.Resolution) []capture.Resolution {
	seen := map[string]int{}
	rank := make([]int, len(rs))
	for i, r := range rs {
		rank[i] = seen[r.Target.NamespaceID]
		seen[r.Target.NamespaceID]++
	}
	idx := make([]int, len(rs))
	for i := range idx {
		idx[i] = i
	}
	sort.SliceStable(idx, func(a, b int) bool { return rank[idx[a]] < rank[idx[b]] })
	out := make([]capture.Resolution, len(rs))
	for i, j := range idx {
		out[i] = rs[j]
	}
	return out
}

// owners gives the namespaces that may have the object, most likely first.
func (c *Client) owners(ctx context.Context, t capture.Target) ([]Namespace, []string, error) {
	// Somebody who names Worker and namespace is believed where the list says
	// nothing else.
	named := Namespace{ID: t.NamespaceID, Script: t.Script, Class: t.Class}
	believed := t.NamespaceID != "" && t.Script != ""
	nss, err := c.Namespaces(ctx)
	switch {
	case err != nil && believed:
		return []Namespace{named}, []string{"the list of namespaces could not be read; Worker and namespace are as asked for"}, nil
	case err != nil:
		return nil, nil, err
	}
	if own := certain(nss, t, c.cache.namespaceOf(t.ObjectID)); own != nil {
		return []Namespace{*own}, nil, nil
	}
	// Not there: it may be newer than what is remembered.
	if fresh, err := c.fetchNamespaces(ctx); err == nil {
		nss = fresh
	}
	if own := certain(nss, t, ""); own != nil {
		return []Namespace{*own}, nil, nil
	}
	if believed {
		return []Namespace{named}, []string{"the account lists no such namespace; Worker and namespace are as asked for"}, nil
	}
	cands := likely(nss, t)
	if len(cands) == 0 {
		return nil, nil, noNamespace("the account has no Durable Object namespaces")
	}
	return c.confirm(ctx, t.ObjectID, cands)
}

func noNamespace(text string) *capture.Failure {
	return &capture.Failure{Kind: capture.FailNoNamespace, Message: text, Unsent: true}
}

// certain is the namespace that the target names itself, or the one where its
// object was found before.
func certain(nss []Namespace, t capture.Target, found string) *Namespace {
	find := func(is func(n Namespace) bool) *Namespace {
		if i := slices.IndexFunc(nss, is); i >= 0 {
			return &nss[i]
		}
		return nil
	}
	if t.NamespaceID != "" {
		return find(func(n Namespace) bool { return n.ID == t.NamespaceID })
	}
	if t.Script != "" && t.Class != "" {
		if n := find(func(n Namespace) bool { return n.Script == t.Script && n.Class == t.Class }); n != nil {
			return n
		}
	}
	if found == "" {
		return nil
	}
	return find(func(n Namespace) bool { return n.ID == found })
}

// likely orders all namespaces by what speaks for them: the class, the Worker,
// the Worker under the name of another environment.
func likely(nss []Namespace, t capture.Target) []Namespace {
	score := func(n Namespace) int {
		s := 0
		if t.Class != "" && n.Class == t.Class {
			s += 4
		}
		switch {
		case t.Script == "":
		case n.Script == t.Script:
			s += 3
		case strings.HasPrefix(n.Script, t.Script+"-") || strings.HasPrefix(t.Script, n.Script+"-"):
			s++
		}
		return s
	}
	out := slices.Clone(nss)
	sort.SliceStable(out, func(i, j int) bool { return score(out[i]) > score(out[j]) })
	return out
}

type membership int

const (
	absent membership = iota // its whole list was read
	unsure                   // the list is too long, or could not be read
	present
)

// confirm looks for the object in the lists of the candidates. One that has it
// settles the matter; one whose whole list lacks it is dropped.
func (c *Client) confirm(ctx context.Context, object string, cands []Namespace) ([]Namespace, []string, error) {
	looked := cands[:min(len(cands), maxNamespaces)]
	state := make([]membership, len(looked))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(4)
	for i, n := range looked {
		g.Go(func() error {
			m := c.has(ctx, n.ID, object)
			mu.Lock()
			defer mu.Unlock()
			state[i] = m
			if m == present {
				cancel() // the others need not go on
			}
			return nil
		})
	}
	_ = g.Wait() // the functions return no errors
	var out []Namespace
	for i, n := range looked {
		switch state[i] {
		case present:
			c.cache.setNamespaceOf(object, n.ID)
			return []Namespace{n}, nil, nil
		case unsure:
			out = append(out, n)
		default:
		}
	}
	out = append(out, cands[len(looked):]...)
	if len(out) == 0 {
		return nil, nil, noNamespace(fmt.Sprintf("none of %d namespaces has it", len(cands)))
	}
	note := "which namespace has the object could not be confirmed"
	return out[:min(len(out), maxChoices)], []string{note}, nil
}

// has reads the list of a namespace's objects until it finds the one.
func (c *Client) has(ctx context.Context, ns, object string) membership {
	cursor := ""
	for range pagesPerList {
		var rows []struct {
			ID string `json:"id"`
		}
		q := url.Values{"limit": {strconv.Itoa(objectsPerPage)}}
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		in, err := c.get(ctx, c.base+"/workers/durable_objects/namespaces/"+url.PathEscape(ns)+"/objects?"+q.Encode(), 2, &rows)
		if err != nil {
			return unsure
		}
		for _, r := range rows {
			if strings.EqualFold(r.ID, object) {
				return present
			}
		}
		if cursor = in.Cursor; cursor == "" {
			cursor = in.Cursors.After
		}
		if cursor == "" {
			return absent
		}
	}
	return unsure
}
