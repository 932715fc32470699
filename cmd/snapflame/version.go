package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the release build: -ldflags "-X main.version=v1.2.3".
var version string

func versionCommand(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and what it was built from",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(sh.stdout, "snapflame "+versionText())
			return err
		},
	}
}

// versionText is the release, or the module version of a go install, with the
// commit when the build knows it.
func versionText() string {
	v, commit, day, dirty := version, "", "", ""
	if bi, ok := debug.ReadBuildInfo(); ok {
		if v == "" && bi.Main.Version != "" && bi.Main.Version != "(devel)" {
			v = bi.Main.Version
		}
		for _, s := range bi.Settings {
			switch {
			case s.Key == "vcs.revision" && len(s.Value) >= 12:
				commit = ", commit " + s.Value[:12]
			case s.Key == "vcs.time" && len(s.Value) >= 10:
				day = " of " + s.Value[:10]
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = " with changes"
			}
		}
	}
	if v == "" {
		v = "(development)"
	}
	return fmt.Sprintf("%s (%s %s/%s%s%s%s)", v, runtime.Version(), runtime.GOOS, runtime.GOARCH, commit, day, dirty)
}
