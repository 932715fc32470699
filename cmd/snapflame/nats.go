package main

import (
	"github.com/rs/zerolog"

	"github.com/snapflame/snapflame/cmd/internal/conf"
	"github.com/snapflame/snapflame/cmd/internal/jet"
)

// natsOptions is how every command reaches NATS.
func natsOptions(c *conf.Config, log zerolog.Logger) jet.Options {
	n := c.NATS
	return jet.Options{
		URL: n.URL.Reveal(), Context: n.Context, Creds: n.Creds, NKey: n.NKey, Token: n.Token.Reveal(),
		CA: n.TLSCA, Cert: n.TLSCert, Key: n.TLSKey,
		Listen: n.Listen, StoreDir: n.StoreDir, Stream: n.Stream, Subjects: n.Subjects, Replicas: n.Replicas,
		MaxBytes: int64(n.MaxBytes), MaxAge: n.MaxAge.Duration(), Logger: log,
	}
}
