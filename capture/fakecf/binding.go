package fakecf

// references are the other Workers that depend on this one: those that bind its
// Durable Object classes, and those that bind it as a service. The caller holds mu.
func (s *Server) references(wk *Worker) map[string]any {
	objects, workers := []any{}, []any{}
	for _, other := range s.workers {
		if other == wk || len(other.Versions) == 0 {
			continue
		}
		serves := false
		for _, b := range other.current().Bindings {
			switch {
			case b.Type == "durable_object_namespace" && b.Script == wk.Name:
				objects = append(objects, map[string]any{"namespace_id": b.NamespaceID, "namespace_name": wk.Name + "_" + b.Class, "worker_id": other.ID, "worker_name": other.Name})
			case b.Type == "service" && b.Service == wk.Name:
				serves = true
			}
		}
		if serves {
			workers = append(workers, map[string]any{"id": other.ID, "name": other.Name})
		}
	}
	return map[string]any{"durable_objects": objects, "workers": workers, "queues": []any{}, "domains": []any{}, "dispatch_namespace_outbounds": []any{}}
}

// rebind lets bindings follow a Worker that was renamed. The caller holds mu.
func (s *Server) rebind(from, to string) {
	for _, w := range s.workers {
		for _, v := range w.Versions {
			for i, b := range v.Bindings {
				if b.Script == from {
					v.Bindings[i].Script = to
				}
				if b.Service == from {
					v.Bindings[i].Service = to
				}
			}
		}
	}
}

// current is the version with most of the traffic.
func (w *Worker) current() *Version {
	best := &w.Versions[0]
	for i := range w.Versions {
		if w.Versions[i].Percent > best.Percent {
			best = &w.Versions[i]
		}
	}
	return best
}

func bindingsJSON(bindings []Binding) []any {
	out := []any{map[string]any{"type": "plain_text", "name": "ENVIRONMENT", "text": "production"}}
	for _, b := range bindings {
		row := map[string]any{"type": b.Type, "name": b.Name}
		switch b.Type {
		case "durable_object_namespace":
			row["namespace_id"], row["class_name"] = b.NamespaceID, b.Class
			if b.Script != "" {
				row["script_name"] = b.Script
			}
		case "service":
			row["service"], row["environment"] = b.Service, "production"
		}
		out = append(out, row)
	}
	return out
}
