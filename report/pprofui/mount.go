package pprofui

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"
)

// driverLock serialises driver.PProf: it writes package-level state while it
// starts. The handlers it leaves behind run side by side.
var driverLock sync.Mutex //nolint:gochecknoglobals // the state it guards is global to the driver

// mount starts the driver on one profile and keeps its handlers. It serves
// nothing by itself and leaves nothing on the disk.
func mount(p *profile.Profile) (map[string]http.Handler, error) {
	driverLock.Lock()
	defer driverLock.Unlock()
	var handlers map[string]http.Handler
	err := driver.PProf(&driver.Options{
		Flagset: flags{}, Fetch: fetched{p}, Sym: noSymbols{}, Obj: noObjects{}, UI: &silent{}, Writer: noWriter{},
		HTTPTransport: noTransport{},
		HTTPServer:    func(a *driver.HTTPServerArgs) error { handlers = a.Handlers; return nil },
	})
	if err != nil {
		return nil, fmt.Errorf("mount the pprof interface: %w", err)
	}
	return handlers, nil
}

// flags answers the driver's questions with its defaults, except that it must
// serve HTTP, open no browser and symbolise nothing.
type flags struct{}

func (flags) Bool(name string, def bool, _ string) *bool {
	if name == "no_browser" {
		def = true
	}
	return &def
}
func (flags) Int(_ string, def int, _ string) *int             { return &def }
func (flags) Float64(_ string, def float64, _ string) *float64 { return &def }
func (flags) String(name, def, _ string) *string {
	switch name {
	case "http":
		def = "localhost:0"
	case "symbolize":
		def = "none"
	}
	return &def
}
func (flags) StringList(string, string, string) *[]*string { return &[]*string{} }
func (flags) ExtraUsage() string                           { return "" }
func (flags) AddExtraUsage(string)                         {}
func (flags) Parse(func()) []string                        { return []string{"capture"} }

// fetched gives the profile. The empty source keeps the driver from saving a
// copy under $HOME; the error of a nil profile keeps it from opening a file.
type fetched struct{ p *profile.Profile }

func (f fetched) Fetch(string, time.Duration, time.Duration) (*profile.Profile, string, error) {
	if f.p == nil {
		return nil, "", errors.New("no profile")
	}
	return f.p, "", nil
}

type noSymbols struct{}

func (noSymbols) Symbolize(string, driver.MappingSources, *profile.Profile) error { return nil }

type noObjects struct{}

var errNoObjects = errors.New("captures have no object files")

func (noObjects) Open(string, uint64, uint64, uint64, string) (driver.ObjFile, error) {
	return nil, errNoObjects
}

func (noObjects) Disasm(string, uint64, uint64, bool) ([]driver.Inst, error) {
	return nil, errNoObjects
}

type noWriter struct{}

func (noWriter) Open(string) (io.WriteCloser, error) { return nil, errors.New("nothing is written") }

type noTransport struct{}

func (noTransport) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("nothing is fetched")
}

// silent is a terminal that nobody sits at.
type silent struct{}

func (*silent) ReadLine(string) (string, error)     { return "", io.EOF }
func (*silent) Print(...any)                        {}
func (*silent) PrintErr(...any)                     {}
func (*silent) IsTerminal() bool                    { return false }
func (*silent) WantBrowser() bool                   { return false }
func (*silent) SetAutoComplete(func(string) string) {}
