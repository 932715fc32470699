package main

import (
	"fmt"
	"os"

	"github.com/snapflame/snapflame/report"
)

// maps sets the source maps of a folder.
func (f reportFlags) maps(o *report.Options) error {
	if f.sourceMap == "" {
		return nil
	}
	if fi, err := os.Stat(f.sourceMap); err != nil || !fi.IsDir() {
		return fmt.Errorf("--source-map %s: no such folder; give the one that wrangler deploy --dry-run --outdir wrote", f.sourceMap)
	}
	return nil
}

func (sh *shell) analyse(file string, data []byte, _ []string, o report.Options) (*report.Report, error) {
	r, err := report.Analyse(data, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", inputName(file), err)
	}
	return r, nil
}
