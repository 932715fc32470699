package flame

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"sync"

	"github.com/snapflame/snapflame/report"
)

//go:embed assets
var assets embed.FS

// scripts are concatenated in this order into one function of their own.
var scripts = [...]string{"model.js", "canvas.js", "table.js", "tree.js", "search.js", "keys.js", "flame.js"} //nolint:gochecknoglobals // a table

var script = sync.OnceValue(func() []byte { //nolint:gochecknoglobals // embedded, never written
	var b bytes.Buffer
	b.WriteString("(() => {\n'use strict';\n")
	for _, name := range scripts {
		b.Write(asset(name))
	}
	b.WriteString("})();\n")
	return b.Bytes()
})

var pages = sync.OnceValues(func() (*template.Template, error) { //nolint:gochecknoglobals // parsed once
	return template.ParseFS(assets, "assets/*.tmpl")
})

func asset(name string) []byte {
	b, _ := assets.ReadFile("assets/" + name) // embedded: a missing one fails every test of the page
	return b
}

// Policy is the Content-Security-Policy of the page: it allows the script and
// the style that the page carries, by their hashes, and nothing else. The page
// has it as an element; a server that adds to it sends it as a header, too.
func Policy() string {
	return "default-src 'none'; script-src " + hash(script()) + "; style-src " + hash(asset("flame.css")) +
		"; base-uri 'none'; form-action 'none'"
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// view is what the templates see. Untrusted text stays a string there, so that
// html/template escapes it.
type view struct {
	Title, Subject, Evidence, Origin string
	Findings                         []report.Finding
	Warnings, Notes                  []string
	Heap, Diff                       bool
	Policy                           string
	Data, Script                     template.JS
	Style                            template.CSS
}

func newView(r *report.Report) (view, error) {
	data, err := Data(r)
	if err != nil {
		return view{}, err
	}
	v := view{
		Title: Headline(r), Subject: subject(r), Evidence: evidence(r), Warnings: warnings(r), Origin: origin(r),
		Heap: r.Type == report.Heap, Diff: r.Base != nil,
		Data: template.JS(data), //nolint:gosec // encoding/json escapes <, > and &
	}
	for _, f := range r.Findings {
		v.Findings = append(v.Findings, report.Finding{ID: f.ID, Text: clean(f.Text, 600), Next: clean(f.Next, 600)})
	}
	for _, n := range r.Notes {
		v.Notes = append(v.Notes, clean(n, 300))
	}
	if r.Base != nil {
		for _, n := range r.Base.Notes {
			v.Notes = append(v.Notes, clean(n, 300))
		}
	}
	return v, nil
}

// HTML writes the flamegraph as one file that needs no network and no server:
// zoom, search, callers and callees, table, comparison, by mouse, touch,
// keyboard and screen reader. Its policy allows this script and this style and
// nothing else. The error is ErrEmpty, ErrTree or w's.
func HTML(w io.Writer, r *report.Report) error {
	v, err := newView(r)
	if err != nil {
		return err
	}
	t, err := pages()
	if err != nil {
		return fmt.Errorf("parse the embedded page: %w", err)
	}
	v.Script = template.JS(script())           //nolint:gosec // our own file
	v.Style = template.CSS(asset("flame.css")) //nolint:gosec // our own file
	v.Policy = Policy()
	if err := t.ExecuteTemplate(w, "page.tmpl", v); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
