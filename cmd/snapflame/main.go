package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(withSignals(func(ctx context.Context) int {
		return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	}))
}

// withSignals cancels ctx on SIGINT and SIGTERM; the handler is then taken off,
// so that a second signal kills a command that does not end.
func withSignals(f func(context.Context) int) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return f(ctx)
}
