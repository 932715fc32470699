package main

import (
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/snapflame/snapflame/cmd/internal/demo"
)

// demoCommand is the main job with no credentials.
func demoCommand(sh *shell) *cobra.Command {
	o := demo.Options{}
	verbose := false
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Play a storm of events through the real service, with simulated Cloudflare and Slack",
		Long: "Starts the service with an embedded NATS server, a simulated Cloudflare account and\n" +
			"a simulated Slack workspace, sends it a storm of real-shaped events, prints the\n" +
			"threads as people would read them and writes them with every flamegraph under DIR.\n" +
			"Needs no account and no network. It then serves the incident pages until Ctrl-C.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Out, o.Version, o.Log = sh.stdout, versionText(), zerolog.Nop()
			if verbose {
				o.Log = zerolog.New(zerolog.ConsoleWriter{Out: sh.stderr}).With().Timestamp().Logger()
			}
			return demo.Run(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Dir, "out", "./snapflame-demo", "write threads and flamegraphs under `DIR`")
	cmd.Flags().BoolVar(&o.Once, "once", false, "end when the last report is posted")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "show the service's own log on standard error")
	return cmd
}
