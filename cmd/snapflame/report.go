package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/report/flame"
)

// maxProfile bounds a profile file; a 50 s capture is half a MiB.
const maxProfile = 256 << 20

type reportFlags struct {
	base      []string
	json      bool
	pictures  [3]string // png, html, svg
	sampleCap time.Duration
	sourceMap string
}

func reportCommand(sh *shell) *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report FILE [flags]",
		Short: "Analyse a pprof file: figures, findings, flamegraph",
		Long: "report reads a pprof file (raw or gzip, - is standard input) and prints what an expert would\n" +
			"look at. Shares are of busy CPU: every sample is capped, as a sample after a wait holds the wait.",
		Example: "  snapflame report capture.pb.gz --png flame.png --html flame.html\n" +
			"  snapflame report now.pb.gz --base quiet1.pb.gz --base quiet2.pb.gz --json",
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return sh.report(args[0], f) },
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.base, "base", nil, "compare with this `FILE`; may be repeated")
	fl.BoolVar(&f.json, "json", false, "print the report as JSON")
	fl.StringVar(&f.pictures[0], "png", "", "write the flamegraph as PNG to `FILE`")
	fl.StringVar(&f.pictures[1], "html", "", "write the flamegraph as a page to `FILE`")
	fl.StringVar(&f.pictures[2], "svg", "", "write the flamegraph as SVG to `FILE`")
	fl.DurationVar(&f.sampleCap, "sample-cap", report.DefaultSampleCap, "most that one CPU sample counts")
	fl.StringVar(&f.sourceMap, "source-map", "", "`DIR` with source maps of the bundle")
	return cmd
}

func (sh *shell) report(file string, f reportFlags) error {
	if f.sampleCap < time.Microsecond || f.sampleCap > time.Hour {
		return usagef("--sample-cap is %s; it must be 1µs to 1h, usually 5ms", f.sampleCap)
	}
	o := report.Options{SampleCap: f.sampleCap, Meta: report.Meta{Title: title(file)}}
	if err := f.maps(&o); err != nil {
		return err
	}
	data, err := sh.readInput(file, maxProfile)
	if err != nil {
		return err
	}
	r, err := sh.analyse(file, data, f.base, o)
	if err != nil {
		return err
	}
	if err := sh.pictures(r, f.pictures); err != nil {
		return err
	}
	if f.json {
		return sh.printJSON(r)
	}
	width, color := sh.terminal()
	return report.Text(sh.stdout, r, width, color)
}

// terminal says how wide the output may be and whether it may have colours.
// Output that is kept in a file has none, nor a terminal whose owner wants none.
func (sh *shell) terminal() (width int, color bool) {
	const kept = 100
	f, ok := sh.stdout.(*os.File)
	if !ok {
		return kept, false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return kept, false
	}
	width, err = strconv.Atoi(sh.getenv("COLUMNS"))
	if err != nil {
		width = kept
	}
	return width, sh.getenv("NO_COLOR") == "" && sh.getenv("TERM") != "dumb"
}

func title(file string) string {
	if file == "-" {
		return "standard input"
	}
	return filepath.Base(file)
}

// pictures writes what was asked for. A profile without busy samples has no
// picture; that is said, and is not a failure of the report.
func (sh *shell) pictures(r *report.Report, files [3]string) error {
	for i, draw := range []func(io.Writer, *report.Report) error{drawPNG, flame.HTML, flame.SVG} {
		if files[i] == "" {
			continue
		}
		var b bytes.Buffer
		err := draw(&b, r)
		if errors.Is(err, flame.ErrEmpty) {
			fmt.Fprintf(sh.stderr, "snapflame: warning: %s is not written: %s\n", files[i], err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", files[i], err)
		}
		if err := sh.writeFile(files[i], b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func drawPNG(w io.Writer, r *report.Report) error {
	if r.Base != nil {
		return flame.DiffPNG(w, r)
	}
	return flame.PNG(w, r)
}
