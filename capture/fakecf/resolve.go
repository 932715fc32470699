package fakecf

import (
	"encoding/base64"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"time"
)

func (s *Server) verifyToken(w http.ResponseWriter, _ *http.Request) {
	succeed(w, map[string]any{"id": "f267e341f3dd4697bd3b9f71dd96247f", "status": "active"}, nil)
}

func (s *Server) listWorkers(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	var rows []any
	for _, wk := range s.workers {
		if wk.Dispatch == "" {
			rows = append(rows, s.workerJSON(wk))
		}
	}
	s.mu.Unlock()
	part, info := paged(r, rows)
	succeed(w, part, info)
}

func (s *Server) getWorker(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	wk := s.worker(r.PathValue("worker"))
	if wk == nil {
		s.mu.Unlock()
		noWorker(w)
		return
	}
	row := s.workerJSON(wk)
	s.mu.Unlock()
	succeed(w, row, nil)
}

func (s *Server) workerJSON(wk *Worker) map[string]any {
	var created time.Time
	for _, v := range wk.Versions {
		if created.IsZero() || v.Created.Before(created) {
			created = v.Created
		}
	}
	return map[string]any{
		"id": wk.ID, "name": wk.Name, "created_on": created, "updated_on": created, "logpush": false,
		"tags": []string{}, "references": s.references(wk),
	}
}

func (s *Server) listVersions(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	wk := s.worker(r.PathValue("worker"))
	if wk == nil {
		s.mu.Unlock()
		noWorker(w)
		return
	}
	var rows []any
	for i, v := range slices.Backward(wk.Versions) {
		rows = append(rows, map[string]any{"id": v.ID, "number": i + 1, "created_on": v.Created, "bindings": bindingsJSON(v.Bindings)})
	}
	s.mu.Unlock()
	part, info := paged(r, rows)
	succeed(w, part, info)
}

func (s *Server) getVersion(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	wk := s.worker(r.PathValue("worker"))
	if wk == nil {
		s.mu.Unlock()
		noWorker(w)
		return
	}
	v := wk.resolve(r.PathValue("version"))
	if v == nil {
		s.mu.Unlock()
		noVersion(w)
		return
	}
	row := map[string]any{"id": v.ID, "created_on": v.Created, "bindings": bindingsJSON(v.Bindings)}
	if r.URL.Query().Get("include") == "modules" {
		mods := []any{}
		for _, m := range v.Modules {
			mods = append(mods, map[string]any{
				"name": m.Name, "content_type": m.ContentType, "content_base64": base64.StdEncoding.EncodeToString(m.Content),
			})
		}
		row["modules"] = mods
		if len(v.Modules) > 0 {
			row["main_module"] = v.Modules[0].Name
		}
	}
	s.mu.Unlock()
	succeed(w, row, nil)
}

// listDeployments takes the name only: the endpoint stayed under /scripts/.
func (s *Server) listDeployments(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	wk := s.worker(r.PathValue("script"))
	if wk == nil || wk.Name != r.PathValue("script") {
		s.mu.Unlock()
		noWorker(w)
		return
	}
	list := wk.Deployments
	if d := wk.deployed(); len(list) == 0 && len(d.Versions) > 0 {
		list = []Deployment{d}
	}
	rows := []any{}
	for _, d := range list {
		vs := []map[string]any{}
		for id, pct := range d.Versions {
			vs = append(vs, map[string]any{"version_id": id, "percentage": pct})
		}
		sort.Slice(vs, func(i, j int) bool { return vs[i]["version_id"].(string) < vs[j]["version_id"].(string) })
		rows = append(rows, map[string]any{"id": d.ID, "created_on": d.Created, "source": "api", "strategy": "percentage", "versions": vs})
	}
	s.mu.Unlock()
	succeed(w, map[string]any{"deployments": rows}, nil)
}

func (s *Server) listNamespaces(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	var rows []any
	for _, n := range s.namespaces {
		name := n.Name
		if name == "" {
			name = n.Script + "_" + n.Class
		}
		rows = append(rows, map[string]any{"id": n.ID, "class": n.Class, "name": name, "script": n.Script, "use_sqlite": true})
	}
	s.mu.Unlock()
	part, info := paged(r, rows)
	succeed(w, part, info)
}

func (s *Server) listObjects(w http.ResponseWriter, r *http.Request) {
	ns := r.PathValue("ns")
	s.mu.Lock()
	known := slices.ContainsFunc(s.namespaces, func(n Namespace) bool { return n.ID == ns })
	var ids []string
	for id, o := range s.objects {
		if o.Namespace == ns {
			ids = append(ids, id)
		}
	}
	s.mu.Unlock()
	if !known {
		fail(w, http.StatusNotFound, 10066, "This Durable Object namespace does not exist.")
		return
	}
	slices.Sort(ids)
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || limit < 1 || limit > 10000 {
		limit = 1000
	}
	from, _ := slices.BinarySearch(ids, r.URL.Query().Get("cursor"))
	ids = ids[from:]
	info := map[string]any{"count": min(limit, len(ids))}
	if len(ids) > limit {
		info["cursor"] = ids[limit]
		ids = ids[:limit]
	}
	rows := []any{}
	for _, id := range ids {
		rows = append(rows, map[string]any{"id": id, "hasStoredData": true})
	}
	succeed(w, rows, info)
}

func (s *Server) getDispatched(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, wk := range s.workers {
		if wk.Dispatch == r.PathValue("dispatch") && wk.Name == r.PathValue("script") && wk.Dispatch != "" {
			succeed(w, map[string]any{"dispatch_namespace": wk.Dispatch, "script": map[string]any{"id": wk.Name, "tag": wk.ID}}, nil)
			return
		}
	}
	noWorker(w)
}

func noWorker(w http.ResponseWriter) {
	fail(w, http.StatusNotFound, 10007, "This Worker does not exist on your account.")
}

func noVersion(w http.ResponseWriter) {
	fail(w, http.StatusNotFound, 10222, "The requested version was not found.")
}

// paged cuts a list by page and per_page, at most 100 rows a page.
func paged(r *http.Request, rows []any) (part []any, info any) {
	num := func(key string, def int) int {
		n, err := strconv.Atoi(r.URL.Query().Get(key))
		if err != nil || n < 1 {
			return def
		}
		return n
	}
	page, per := num("page", 1), min(num("per_page", 20), 100)
	from := min((page-1)*per, len(rows))
	part = rows[from:min(from+per, len(rows))]
	if part == nil {
		part = []any{}
	}
	pages := (len(rows) + per - 1) / per
	return part, map[string]any{"page": page, "per_page": per, "count": len(part), "total_count": len(rows), "total_pages": pages}
}
