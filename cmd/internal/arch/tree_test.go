package arch_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
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

// repository gives every Go file below the folder with go.mod; it is parsed once.
func repository(t *testing.T) (root string, files []source) {
	t.Helper()
	r, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.files) < 50 {
		t.Fatalf("only %d files found: the walk is broken", len(r.files))
	}
	return r.root, r.files
}

type repo struct {
	root  string
	files []source
}

var parsed = sync.OnceValues(func() (repo, error) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		return repo{}, err
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return repo{}, fmt.Errorf("this test moved: %w", err)
	}
	r := repo{root: root}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		s, err := parse(root, path)
		r.files = append(r.files, s)
		return err
	})
	return r, err
})

func parse(root, path string) (source, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return source{}, err
	}
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return source{}, err
	}
	rel = filepath.ToSlash(rel)
	s := source{
		path: rel, pkg: filepath.ToSlash(filepath.Dir(rel)), test: strings.HasSuffix(rel, "_test.go"),
		lines: strings.Count(string(text), "\n"), fset: token.NewFileSet(),
	}
	mode := parser.ParseComments
	if s.test {
		mode = parser.ImportsOnly // the rules about bodies are not for tests
	}
	s.file, err = parser.ParseFile(s.fset, path, text, mode)
	return s, err
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
