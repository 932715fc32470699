package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/snapflame/snapflame/cmd/internal/doctor"
)

func doctorCommand(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check NATS, Cloudflare, Slack, clock and address: what is wrong and the fix",
		Long: "doctor checks everything that serve depends on, all at once, and prints one line each.\n" +
			"It changes nothing: no message is posted and no profile taken.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return sh.doctor(cmd.Context()) },
	}
}

func (sh *shell) doctor(ctx context.Context) error {
	c, err := sh.load()
	if err != nil {
		return err
	}
	failed := doctor.Run(ctx, sh.stdout, doctor.Checks(doctor.Options{
		Config: c, NATS: natsOptions(c, zerolog.Nop()), Cloudflare: cloudflareOptions(c),
	}))
	switch failed {
	case 0:
		return nil
	case 1:
		return errors.New("doctor: 1 check is bad; its line says what to do")
	}
	return fmt.Errorf("doctor: %d checks are bad; their lines say what to do", failed)
}
