package main

import "github.com/spf13/cobra"

// commands is every command: one line each.
func commands(sh *shell) []*cobra.Command {
	return []*cobra.Command{
		demoCommand(sh),
		serveCommand(sh),
		doctorCommand(sh),
		reportCommand(sh),
		explainCommand(sh),
		captureCommand(sh),
		replayCommand(sh),
		configCommand(sh),
		versionCommand(sh),
	}
}
