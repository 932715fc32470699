package arch_test

import (
	"go/ast"
	"go/token"
	"os"
	"strings"
	"testing"
)

func TestImports(t *testing.T) {
	_, files := repository(t)
	for _, f := range files {
		if f.test {
			continue
		}
		for _, path := range f.imports() {
			for _, r := range imports {
				if matches(f.pkg, r.from) && !matches(f.pkg, r.except) && matches(short(path), r.never) {
					t.Errorf("%s imports %s: %s", f.path, short(path), r.why)
				}
			}
		}
	}
}

// A child (an adapter, a picture, a fake) is known to cmd alone.
func TestChildrenDoNotKnowEachOther(t *testing.T) {
	_, files := repository(t)
	used := map[string]bool{}
	for _, f := range files {
		if f.test || strings.HasPrefix(f.pkg, "cmd/") {
			continue
		}
		for _, path := range f.imports() {
			to, ours := strings.CutPrefix(path, module+"/")
			if !ours || !strings.Contains(to, "/") || strings.HasPrefix(to, f.pkg+"/") || strings.HasPrefix(f.pkg, to+"/") {
				continue // foreign, a root, an own child or a parent
			}
			if why := sibling(f.pkg, to); why != "" {
				used[f.pkg+">"+to] = true
				continue
			}
			t.Errorf("%s imports %s: children are wired by cmd; declare an interface in the root, or write the exception down", f.path, to)
		}
	}
	for _, s := range siblings {
		if !used[s.from+">"+s.to] {
			t.Errorf("the exception %s → %s is not used any more; remove it", s.from, s.to)
		}
	}
}

func sibling(from, to string) string {
	for _, s := range siblings {
		if s.from == from && s.to == to {
			return s.why
		}
	}
	return ""
}

func TestCalls(t *testing.T) {
	_, files := repository(t)
	for _, f := range files {
		if f.test {
			continue
		}
		names := importNames(f.file)
		ast.Inspect(f.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			id, ok := sel.X.(*ast.Ident)
			if !ok || !names[id.Name] {
				return true
			}
			call := id.Name + "." + sel.Sel.Name
			for _, c := range calls {
				for _, name := range c.names {
					if name == call && !matches(f.pkg, c.only) {
						t.Errorf("%s uses %s: %s", f.at(sel), call, c.why)
					}
				}
			}
			return true
		})
	}
}

// importNames are the names under which packages are imported, so that a
// variable called http is not taken for the package.
func importNames(f *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, i := range f.Imports {
		if i.Name != nil {
			names[i.Name.Name] = true
			continue
		}
		path := strings.Trim(i.Path.Value, `"`)
		names[path[strings.LastIndexByte(path, '/')+1:]] = true
	}
	return names
}

// A rule about a package that is gone protects nothing.
func TestRulesNamePackagesThatExist(t *testing.T) {
	_, files := repository(t)
	known := map[string]bool{}
	foreign := map[string]bool{}
	for _, f := range files {
		for p := f.pkg; p != "." && p != ""; p = parent(p) {
			known[p] = true
		}
		for _, path := range f.imports() {
			foreign[path] = true
		}
	}
	check := func(patterns []string) {
		for _, p := range patterns {
			p = strings.TrimSuffix(p, "/...")
			root, _, _ := strings.Cut(p, "/")
			if top[root] != "" && !known[p] {
				t.Errorf("a rule names %s, which is no package any more", p)
			}
		}
	}
	for _, r := range imports {
		check(r.from)
		check(r.except)
		check(r.never)
	}
	for _, s := range siblings {
		check([]string{s.from, s.to})
	}
	for _, c := range calls {
		check(c.only)
	}
	for _, path := range []string{"github.com/slack-go/slack", "github.com/nats-io/nats.go", "github.com/nats-io/nats-server/v2/server", "github.com/rs/zerolog"} {
		if !foreign[path] {
			t.Errorf("nothing imports %s: the rules about it protect nothing", path)
		}
	}
}

func parent(p string) string {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return ""
	}
	return p[:i]
}

func TestEveryPackageHasDoc(t *testing.T) {
	_, files := repository(t)
	docs := map[string]string{}
	for _, f := range files {
		if f.test {
			continue
		}
		if _, seen := docs[f.pkg]; !seen {
			docs[f.pkg] = ""
		}
		if strings.HasSuffix(f.path, "/doc.go") && f.file.Doc != nil {
			docs[f.pkg] = f.file.Doc.Text()
		}
		if name := f.file.Name.Name; badNames[name] {
			t.Errorf("%s: package %s says nothing about what is inside; name the noun", f.path, name)
		}
	}
	for pkg, text := range docs {
		if len(text) < 150 {
			t.Errorf("%s/doc.go has %d characters; say what the package is, why it is so and what it refuses", pkg, len(text))
		}
	}
}

func TestLengths(t *testing.T) {
	_, files := repository(t)
	for _, f := range files {
		if f.test || ast.IsGenerated(f.file) {
			continue
		}
		if f.lines > maxFileLines {
			t.Errorf("%s has %d lines, at most %d: split it by its nouns", f.path, f.lines, maxFileLines)
		}
		for _, d := range f.file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			if n := lines(f.fset, fn); n > maxFuncLines {
				t.Errorf("%s: %s has %d lines, at most %d", f.at(fn), fn.Name.Name, n, maxFuncLines)
			}
		}
	}
}

func lines(fset *token.FileSet, fn *ast.FuncDecl) int {
	return fset.Position(fn.Body.Rbrace).Line - fset.Position(fn.Pos()).Line + 1
}

func TestTopOfTheRepository(t *testing.T) {
	root, _ := repository(t)
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	ignored := map[string]bool{"data": true, "dist": true, "snapflame": true, "snapflame-demo": true} // .gitignore
	for _, e := range entries {
		name := e.Name()
		found[name] = true
		if _, ok := top[name]; !ok && !strings.HasPrefix(name, ".") && !ignored[name] {
			t.Errorf("%s stands at the top; put it where its noun is, or in deploy", name)
		}
	}
	for name := range top {
		if !found[name] {
			t.Errorf("%s is missing at the top", name)
		}
	}
}
