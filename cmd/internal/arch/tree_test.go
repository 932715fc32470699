package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// source is one Go file of the repository.
type source struct {
	path  string // relative to the top, slashes
	pkg   string // folder, relative to the top
	test  bool
	lines int
	fset  *token.FileSet
	file  *ast.File
}

func (s source) imports() []string {
	var out []string
	for _, i := range s.file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err == nil {
			out = append(out, path)
		}
	}
	return out
}

func (s source) at(n ast.Node) string {
	p := s.fset.Position(n.Pos())
	return s.path + ":" + strconv.Itoa(p.Line)
}

// repository parses every Go file below the folder with go.mod.
func repository(t *testing.T) (root string, files []source) {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("this test moved: %v", err)
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		files = append(files, source{
			path: rel, pkg: filepath.ToSlash(filepath.Dir(rel)), test: strings.HasSuffix(name, "_test.go"),
			lines: strings.Count(string(text), "\n"), fset: fset, file: file,
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("only %d files found: the walk is broken", len(files))
	}
	return root, files
}

// matches reports whether path is one of the patterns.
func matches(path string, patterns []string) bool {
	for _, p := range patterns {
		switch {
		case p == "...", p == path:
			return true
		case strings.HasSuffix(p, "/..."):
			head := strings.TrimSuffix(p, "/...")
			if path == head || strings.HasPrefix(path, head+"/") {
				return true
			}
		}
	}
	return false
}

// short drops our own module's path, so that patterns are short.
func short(path string) string { return strings.TrimPrefix(path, module+"/") }
