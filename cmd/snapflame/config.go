package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snapflame/snapflame/bot"
	"github.com/snapflame/snapflame/cmd/internal/conf"
)

func configCommand(sh *shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check or show the configuration",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return usagef("name what to do: config check or config show")
		},
	}
	cmd.SuggestionsMinimumDistance = 2
	texts := false
	check := &cobra.Command{
		Use:   "check",
		Short: "Tell every mistake in the configuration, with its place and fix",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			if err := sh.configCheck(); err != nil || !texts {
				return err
			}
			return sh.previewTexts()
		},
	}
	check.Flags().BoolVar(&texts, "texts", false, "show what slack.texts make of sample incidents")
	cmd.AddCommand(check, &cobra.Command{
		Use:   "show",
		Short: "Print the merged configuration, secrets redacted",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			c, err := sh.load()
			if err != nil {
				return err
			}
			return c.Show(sh.stdout)
		},
	})
	return cmd
}

// configCheck prints all mistakes, where other commands stop at the first; the
// last one is left to run, which prints it like any error.
func (sh *shell) configCheck() error {
	c, err := sh.load()
	if bad, ok := errors.AsType[conf.Problems](err); ok && len(bad) > 0 {
		for _, p := range bad[:len(bad)-1] {
			fmt.Fprintf(sh.stderr, "snapflame: %s\n", oneLine(p.Error()))
		}
		return bad[len(bad)-1:]
	}
	if err != nil {
		return err
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(sh.stderr, "snapflame: warning: %s\n", oneLine(w))
	}
	from := "the environment and defaults"
	if c.File() != "" {
		from = c.File() + " and the environment"
	}
	fmt.Fprintf(sh.stdout, "ok: %s\n", from)
	if missing := c.Missing(); len(missing) > 0 {
		keys := make([]string, len(missing))
		for i, p := range missing {
			keys[i] = p.Key
		}
		fmt.Fprintf(sh.stdout, "serve also needs: %s\n", strings.Join(keys, ", "))
	}
	return nil
}

// previewTexts prints the first messages of sample incidents with the texts of
// the configuration.
func (sh *shell) previewTexts() error {
	c, err := sh.load()
	if err != nil {
		return err
	}
	t, err := bot.ParseTemplates(c.Slack.Texts.Sources())
	if err != nil {
		return err
	}
	for _, card := range bot.PreviewTemplates(bot.Writer{Command: c.Slack.Command, Templates: t}, time.Now()) {
		fmt.Fprintf(sh.stdout, "\ntitle  %s\ntext   %s\n", printable(card.Title), printable(card.Text))
		for _, s := range card.Sections {
			if s.Heading == "What happens next" {
				fmt.Fprintf(sh.stdout, "next   %s\n", printable(s.Text))
			}
		}
	}
	return nil
}
