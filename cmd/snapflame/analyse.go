package main

import (
	"fmt"

	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/report/sourcemap"
)

// maps sets the source maps of a folder.
func (f reportFlags) maps(o *report.Options) error {
	if f.sourceMap == "" {
		return nil
	}
	set, err := sourcemap.Load(f.sourceMap)
	if err != nil {
		return fmt.Errorf("--source-map: %w", err)
	}
	o.SourceMap = set
	return nil
}

// analyse reads the profile and compares it with the others, if any.
func (sh *shell) analyse(file string, data []byte, base []string, o report.Options) (*report.Report, error) {
	r, err := report.Analyse(data, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", inputName(file), err)
	}
	if len(base) == 0 {
		return r, nil
	}
	bases := make([]*report.Report, len(base))
	for i, name := range base {
		if name == "-" && (file == "-" || i > 0) {
			return nil, usagef("standard input can be read once; give --base a file")
		}
		data, err := sh.readInput(name, maxProfile)
		if err != nil {
			return nil, err
		}
		if bases[i], err = report.Analyse(data, report.Options{SampleCap: o.SampleCap, SourceMap: o.SourceMap}); err != nil {
			return nil, fmt.Errorf("--base %s: %w", inputName(name), err)
		}
	}
	if r.Base, err = report.Compare(r, bases); err != nil {
		return nil, fmt.Errorf("compare %s with --base: %w", inputName(file), err)
	}
	return r, nil
}
