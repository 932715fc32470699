package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/snapflame/snapflame/cmd/internal/app"
	"github.com/snapflame/snapflame/cmd/internal/conf"
)

// serveCommand is the service.
func serveCommand(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Run the service",
		Long: "Takes events from the queue and over HTTP, opens incidents, captures profiles and\n" +
			"keeps the Slack threads, until SIGINT or SIGTERM; captures that run are finished\n" +
			"first. SIGHUP reads the configuration again: rules, routing, permissions and limits\n" +
			"of incidents change without a restart, and a bad file changes nothing.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := sh.load()
			if err != nil {
				return err
			}
			if missing := c.Missing(); len(missing) > 0 {
				return missing
			}
			return serve(cmd.Context(), sh, c)
		},
	}
}

func serve(ctx context.Context, sh *shell, c *conf.Config) error {
	log := logger(sh, c.Log)
	for _, w := range c.Warnings {
		log.Warn().Msg(w)
	}
	a, err := app.New(ctx, app.Options{
		Config: c, Version: versionText(), Log: log, Reload: sh.load,
		Level: func(l zerolog.Level) { zerolog.SetGlobalLevel(l) },
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGHUP)
	defer signal.Stop(asked)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-asked:
				if err := a.Reload(); err != nil {
					log.Error().Err(err).Msg("the new configuration is refused; the old one stays")
				}
			}
		}
	}()
	err = a.Run(ctx)
	cancel()
	<-done
	return err
}

func logger(sh *shell, c conf.Log) zerolog.Logger {
	if l, err := zerolog.ParseLevel(c.Level); err == nil {
		zerolog.SetGlobalLevel(l)
	}
	if c.Format == "console" {
		return zerolog.New(zerolog.ConsoleWriter{Out: sh.stderr}).With().Timestamp().Logger()
	}
	return zerolog.New(sh.stderr).With().Timestamp().Logger()
}
