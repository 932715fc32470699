package cloudflare

import (
	"sync"
	"time"
)

// maxCached bounds the maps that grow with what the world sends.
const maxCached = 50_000

// cache keeps what was learnt of the account. Everything in it can be lost.
type cache struct {
	mu          sync.Mutex
	workers     []Worker
	workersAt   time.Time
	names       map[string]string // every name ever seen → id
	namespaces  []Namespace
	nsAt        time.Time
	deployments map[string]cachedDeployments
	objects     map[string]string    // object id → namespace id, confirmed
	dispatch    map[string]string    // dispatch namespace/script → worker id
	bindings    map[string][]binding // dispatch namespace/worker/version → its bindings, which never change
}

type cachedDeployments struct {
	list []Deployment
	at   time.Time
}

func (c *cache) freshWorkers(since time.Time) ([]Worker, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.workers, c.workersAt.After(since)
}

func (c *cache) setWorkers(ws []Worker, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.names == nil || len(c.names) > maxCached {
		c.names = map[string]string{}
	}
	for _, w := range ws {
		c.names[w.Name] = w.ID
	}
	c.workers, c.workersAt = ws, now
}

// idOf is the id of the Worker that has or had the name.
func (c *cache) idOf(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.names[name]
}

func (c *cache) freshNamespaces(since time.Time) ([]Namespace, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.namespaces, c.nsAt.After(since)
}

func (c *cache) setNamespaces(nss []Namespace, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.namespaces, c.nsAt = nss, now
}

func (c *cache) deploymentsOf(script string) (cachedDeployments, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, ok := c.deployments[script]
	return d, ok
}

func (c *cache) setDeployments(script string, list []Deployment, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deployments == nil || len(c.deployments) > maxCached {
		c.deployments = map[string]cachedDeployments{}
	}
	c.deployments[script] = cachedDeployments{list, now}
}

func (c *cache) namespaceOf(object string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects[object]
}

func (c *cache) setNamespaceOf(object, ns string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects == nil || len(c.objects) > maxCached {
		c.objects = map[string]string{}
	}
	c.objects[object] = ns
}

func (c *cache) bindingsOf(key string) ([]binding, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ok := c.bindings[key]
	return b, ok
}

func (c *cache) setBindings(key string, b []binding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bindings == nil || len(c.bindings) > maxCached/10 {
		c.bindings = map[string][]binding{}
	}
	c.bindings[key] = b
}

func (c *cache) dispatchedID(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dispatch[key]
}

func (c *cache) setDispatchedID(key, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dispatch == nil || len(c.dispatch) > maxCached {
		c.dispatch = map[string]string{}
	}
	c.dispatch[key] = id
}

func (c *cache) forget(script, object, dispatch string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.deployments, script)
	delete(c.objects, object)
	delete(c.dispatch, dispatch)
	c.nsAt, c.workersAt = time.Time{}, time.Time{}
}
