package cloudflare

import (
	"context"
	"encoding/base64"
	"net/url"
	"strconv"
	"time"

	"github.com/snapflame/snapflame/capture"
)

const (
	perPage  = 100
	maxPages = 50 // of any list: 5,000 Workers or namespaces
)

// Worker is one row of the account's Workers.
type Worker struct {
	ID   string `json:"id"` // 32 hexadecimal digits, for ever
	Name string `json:"name"`
}

// Namespace is one Durable Object namespace and the Worker that implements it.
type Namespace struct {
	ID     string `json:"id"`
	Class  string `json:"class"`
	Name   string `json:"name"`
	Script string `json:"script"`
}

// Deployment is a traffic split.
type Deployment struct {
	ID       string    `json:"id"`
	Created  time.Time `json:"created_on"`
	Versions []Share   `json:"versions"`
}

// Share is one version's part of the traffic, in percent.
type Share struct {
	VersionID  string  `json:"version_id"`
	Percentage float64 `json:"percentage"`
}

// Module is one file of a version: code or a source map.
type Module struct {
	Name        string
	ContentType string
	Content     []byte
}

// Token is what Cloudflare says of the API token.
type Token struct {
	ID      string    `json:"id"`
	Status  string    `json:"status"` // active, disabled, expired
	Expires time.Time `json:"expires_on"`
}

// VerifyToken asks whether the token is alive. Tokens of a user and of an
// account have different endpoints; both are tried.
func (c *Client) VerifyToken(ctx context.Context) (Token, error) {
	var t Token
	if _, err := c.get(ctx, c.base+"/tokens/verify", 2, &t); err == nil {
		return t, nil
	}
	_, err := c.get(ctx, c.root+"/user/tokens/verify", 2, &t)
	return t, err
}

// Workers lists the account's Workers by name. A list younger than Refresh is
// given from memory.
func (c *Client) Workers(ctx context.Context) ([]Worker, error) {
	return c.WorkersWithin(ctx, c.o.Refresh)
}

// WorkersWithin is Workers with a list that is not older than age.
func (c *Client) WorkersWithin(ctx context.Context, age time.Duration) ([]Worker, error) {
	if ws, ok := c.cache.freshWorkers(c.o.Now().Add(-age)); ok {
		return ws, nil
	}
	return c.fetchWorkers(ctx)
}

func (c *Client) fetchWorkers(ctx context.Context) ([]Worker, error) {
	v, err, _ := c.once.Do("workers", func() (any, error) {
		ws, err := listPages[Worker](ctx, c, "/workers/workers")
		if err == nil {
			c.cache.setWorkers(ws, c.o.Now())
		}
		return ws, err
	})
	if err != nil {
		return nil, err
	}
	return v.([]Worker), nil
}

// Namespaces lists the account's Durable Object namespaces, as Workers does.
func (c *Client) Namespaces(ctx context.Context) ([]Namespace, error) {
	if nss, ok := c.cache.freshNamespaces(c.o.Now().Add(-c.o.Refresh)); ok {
		return nss, nil
	}
	return c.fetchNamespaces(ctx)
}

func (c *Client) fetchNamespaces(ctx context.Context) ([]Namespace, error) {
	v, err, _ := c.once.Do("namespaces", func() (any, error) {
		nss, err := listPages[Namespace](ctx, c, "/workers/durable_objects/namespaces")
		if err == nil {
			c.cache.setNamespaces(nss, c.o.Now())
		}
		return nss, err
	})
	if err != nil {
		return nil, err
	}
	return v.([]Namespace), nil
}

// Deployments lists a Worker's deployments, newest (the one that serves) first.
// It takes the name: the endpoint knows no ids.
func (c *Client) Deployments(ctx context.Context, script string) ([]Deployment, error) {
	return c.fetchDeployments(ctx, script, 3)
}

func (c *Client) fetchDeployments(ctx context.Context, script string, tries uint) ([]Deployment, error) {
	v, err, _ := c.once.Do("deployments "+strconv.FormatUint(uint64(tries), 10)+" "+script, func() (any, error) {
		var res struct {
			Deployments []Deployment `json:"deployments"`
		}
		if _, err := c.get(ctx, c.base+"/workers/scripts/"+url.PathEscape(script)+"/deployments", tries, &res); err != nil {
			return nil, err
		}
		c.cache.setDeployments(script, res.Deployments, c.o.Now())
		return res.Deployments, nil
	})
	if err != nil {
		return nil, err
	}
	return v.([]Deployment), nil
}

// Modules fetches the code and source maps of a version, at most 32 MiB. The
// token needs no more than for a capture.
func (c *Client) Modules(ctx context.Context, worker, version string) ([]Module, error) {
	var res struct {
		Modules []struct {
			Name        string `json:"name"`
			ContentType string `json:"content_type"`
			Content     string `json:"content_base64"`
		} `json:"modules"`
	}
	target := c.base + "/workers/workers/" + url.PathEscape(worker) + "/versions/" + url.PathEscape(version) + "?include=modules"
	if _, err := c.get(ctx, target, 2, &res); err != nil {
		return nil, err
	}
	out := make([]Module, 0, len(res.Modules))
	for _, m := range res.Modules {
		b, err := base64.StdEncoding.DecodeString(m.Content)
		if err != nil {
			return nil, &capture.Failure{Kind: capture.FailServer, Message: "a module that is not base64: " + c.clean(m.Name)}
		}
		out = append(out, Module{Name: m.Name, ContentType: m.ContentType, Content: b})
	}
	return out, nil
}

// Warm fills the caches, so that the first incident finds them.
func (c *Client) Warm(ctx context.Context) error {
	if _, err := c.fetchNamespaces(ctx); err != nil {
		return err
	}
	_, err := c.fetchWorkers(ctx)
	return err
}

func listPages[T any](ctx context.Context, c *Client, path string) ([]T, error) {
	var all []T
	for page := 1; page <= maxPages; page++ {
		var part []T
		in, err := c.get(ctx, c.base+path+"?page="+strconv.Itoa(page)+"&per_page="+strconv.Itoa(perPage), 3, &part)
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
		// Not every list says how many pages there are; then a short one is the last.
		if in.TotalPages > 0 && page >= in.TotalPages || in.TotalPages == 0 && len(part) < perPage {
			break
		}
	}
	return all, nil
}
