package main

import "github.com/spf13/cobra"

// commands is every command, in the order of help: one line each.
func commands(sh *shell) []*cobra.Command {
	return []*cobra.Command{
		demoCommand(sh),
		serveCommand(sh),
		reportCommand(sh),
		configCommand(sh),
		doctorCommand(sh),
		explainCommand(sh),
		captureCommand(sh),
		replayCommand(sh),
		versionCommand(sh),
	}
}
