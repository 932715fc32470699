package pages

import (
	"net/http"

	"github.com/snapflame/snapflame/bot"
)

// objectsBody is the per-object view.
type objectsBody struct {
	bot.ObjectList
	Worker string
}

// maxObjects is how many objects the page shows; the API pages through the rest.
const maxObjects = 200

func (p *pages) objects(w http.ResponseWriter, r *http.Request) {
	worker := r.URL.Query().Get("worker")
	list, err := p.Objects.Objects(r.Context(), worker, maxObjects)
	if p.fail(w, err, "list") {
		return
	}
	p.render(w, r, "objects", page{Title: "Objects", Here: "objects", Live: true, Body: objectsBody{ObjectList: list, Worker: worker}})
}
