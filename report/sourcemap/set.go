package sourcemap

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/snapflame/snapflame/report"
)

// Bounds of one folder of maps.
const (
	maxMaps      = 256
	maxTotalSize = 4 * MaxSize
	maxEntries   = 100_000
)

// ErrNone is what Load says of a folder without maps.
var ErrNone = errors.New("no *.map file; give the folder that wrangler deploy --outdir wrote")

// Set is the source maps of one version of a Worker, found by the name of the
// module they belong to. The zero value is an empty set.
type Set struct {
	byPath map[string]*Map   // path below the folder, without .map
	byBase map[string][]*Map // file name alone
	texts  bool              // keep the sources' texts, for Holds
}

var (
	_ report.SourceMapper  = (*Set)(nil)
	_ report.SourceChecker = (*Set)(nil)
)

// Load reads every *.map file below dir, except in node_modules: packages
// bring maps of their own, which are not the bundle's. A file that is no source
// map fails the whole, with its name.
func Load(dir string) (*Set, error) {
	s := &Set{texts: true} // whoever gives a folder may give that of another build
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open source maps: %w", err)
	}
	defer func() { _ = root.Close() }()
	var total int64
	entries := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entries++; entries > maxEntries {
			return fmt.Errorf("%s holds more than %d files; give the folder that holds the bundle alone", dir, maxEntries)
		}
		if e.IsDir() && (e.Name() == "node_modules" || e.Name() == ".git") {
			return fs.SkipDir
		}
		if !e.Type().IsRegular() || path.Ext(name) != ".map" {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if total += info.Size(); info.Size() > MaxSize || total > maxTotalSize {
			return fmt.Errorf("%s: %w", filepath.Join(dir, name), ErrTooLarge)
		}
		data, err := fs.ReadFile(root.FS(), name)
		if err != nil {
			return err
		}
		return s.Add(strings.TrimSuffix(name, ".map"), data)
	})
	if err != nil {
		return nil, fmt.Errorf("load source maps from %s: %w", dir, err)
	}
	if len(s.byPath) == 0 {
		return nil, fmt.Errorf("load source maps from %s: %w", dir, ErrNone)
	}
	return s, nil
}

// Add decodes a map that was fetched, for the module name ("worker.js") that
// it belongs to.
func (s *Set) Add(module string, data []byte) error {
	if len(s.byPath) >= maxMaps {
		return fmt.Errorf("add source map of %s: more than %d maps; give those of one Worker", module, maxMaps)
	}
	m, err := parse(data, s.texts)
	if err != nil {
		return fmt.Errorf("source map of %s: %w", module, err)
	}
	if s.byPath == nil {
		s.byPath, s.byBase = map[string]*Map{}, map[string][]*Map{}
	}
	module = plain(module)
	base := path.Base(module)
	if old := s.byPath[module]; old != nil {
		s.byBase[base] = slices.DeleteFunc(s.byBase[base], func(x *Map) bool { return x == old })
	}
	s.byPath[module] = m
	s.byBase[base] = append(s.byBase[base], m)
	return nil
}

// Map implements report.SourceMapper. A name that several maps could be meant
// by is NoMap: nothing is guessed.
func (s *Set) Map(file string, line, column int64) (report.Position, report.MapReason) {
	if s == nil { // a nil *Set in the interface is no map either
		return report.Position{}, report.NoMap
	}
	m := s.find(plain(file))
	if m == nil {
		return report.Position{}, report.NoMap
	}
	return m.At(line, column)
}

// Holds implements report.SourceChecker, with the texts of the sources that the
// map of the bundle brought along.
func (s *Set) Holds(file string, at report.Position, name string) (holds, known bool) {
	if s == nil {
		return false, false
	}
	m := s.find(plain(file))
	if m == nil {
		return false, false
	}
	return m.texts.holds(at, name)
}

func (s *Set) find(name string) *Map {
	if m := s.byPath[name]; m != nil {
		return m
	}
	if all := s.byBase[path.Base(name)]; len(all) == 1 {
		return all[0]
	}
	return nil
}

// plain is a module's name without the URL that V8 puts before it.
func plain(file string) string {
	rest, ok := strings.CutPrefix(file, "file:")
	if !ok {
		return path.Clean(filepath.ToSlash(file))
	}
	return path.Clean(strings.TrimPrefix(strings.TrimLeft(rest, "/"), "bundle/"))
}
