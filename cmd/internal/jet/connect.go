package jet

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// connect dials. With an external server that is down it succeeds as well, and
// the client goes on trying for ever.
func (j *Jet) connect() error {
	o := j.opts
	var user, password string
	if o.Context != "" {
		c, err := readContext(o.Context)
		if err != nil {
			return err
		}
		c.over(&o)
		user, password = c.User, c.Password
		if o.URL == "" {
			return fmt.Errorf("NATS context %s has no url", o.Context)
		}
		if err := o.check(); err != nil {
			return err
		}
	}
	opts := []nats.Option{
		nats.Name("snapflame"),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 500*time.Millisecond),
		nats.PingInterval(5 * time.Second), // a dead peer is noticed in 10 s
		nats.MaxPingsOutstanding(2),
		nats.IgnoreAuthErrorAbort(), // credentials are renewed under a running process
		// A publish while disconnected fails at once and is retried with its
		// message id; a buffer would report success for what may be lost.
		nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(j.onDisconnect),
		nats.ReconnectHandler(j.onReconnect),
		nats.ConnectHandler(j.onReconnect),
		nats.ErrorHandler(j.onError),
	}
	if o.Token != "" {
		opts = append(opts, nats.Token(o.Token))
	}
	if user != "" {
		opts = append(opts, nats.UserInfo(user, password))
	}
	if o.Creds != "" {
		opts = append(opts, nats.UserCredentials(o.Creds))
	}
	if o.NKey != "" {
		k, err := nats.NkeyOptionFromSeed(o.NKey)
		if err != nil {
			return fmt.Errorf("nats.nkey %s: %w", o.NKey, err)
		}
		opts = append(opts, k)
	}
	if o.CA != "" {
		opts = append(opts, nats.RootCAs(o.CA))
	}
	if o.Cert != "" {
		opts = append(opts, nats.ClientCert(o.Cert, o.Key))
	}
	if j.host != nil {
		opts = append(opts, nats.InProcessServer(j.host))
	}
	j.where = redact(o.URL)
	nc, err := nats.Connect(o.URL, opts...)
	if err != nil {
		return fmt.Errorf("connect to NATS at %s: %w", j.where, scrub(err, o))
	}
	j.nc = nc
	return nil
}

func (j *Jet) onDisconnect(_ *nats.Conn, err error) {
	if j.closing() {
		return
	}
	j.health.set(condConnection, "NATS at "+j.where+": connection lost"+because(err)+"; reconnecting")
	j.log.Warn().Err(err).Str("nats", j.where).Msg("NATS connection lost, reconnecting")
}

func (j *Jet) onReconnect(nc *nats.Conn) {
	j.health.clear(condConnection)
	j.health.clear(condPermission)
	j.log.Info().Str("nats", j.where).Str("server", nc.ConnectedServerName()).Msg("NATS connected")
	j.hooks.run()
}

// onError hears what has no caller to tell: above all missing permissions,
// which look like time-outs where they are asked for.
func (j *Jet) onError(_ *nats.Conn, sub *nats.Subscription, err error) {
	if j.closing() {
		return
	}
	e := j.log.Warn().Err(err)
	if sub != nil {
		e = e.Str("subject", sub.Subject)
	}
	switch {
	case errors.Is(err, nats.ErrPermissionViolation):
		j.health.set(condPermission, "NATS refuses: "+err.Error()+": give the account's user that permission")
		e.Msg("NATS refuses a subject: the user lacks a permission")
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		// The client tries again several times a second: once is enough for the log.
		if j.health.set(condConnection, "NATS at "+j.where+" refuses the credentials"+because(err)+": renew nats.creds, nats.nkey or nats.token") {
			e.Msg("NATS refuses the credentials")
		}
	default:
		e.Msg("NATS reports an error")
	}
}

// cure is what to do about an error of connecting; empty when its words say it.
func cure(err error) string {
	if err == nil {
		return ": start the server, or correct NATS_URL"
	}
	text := err.Error()
	has := func(s string) bool { return strings.Contains(text, s) }
	switch {
	case errors.Is(err, nats.ErrAuthorization), has("Authorization Violation"), has("authorization"), has("no nkey seed"):
		return ": give it nats.creds, nats.nkey, nats.token or user:password@ in NATS_URL that the server knows"
	case has("unknown authority"):
		return ": set nats.tls_ca to the file of the authority that signed the server's certificate"
	case has("after TLS handshake"), has("certificate required"):
		return ": the server wants a client certificate: set nats.tls_cert and nats.tls_key"
	case errors.Is(err, nats.ErrNoServers), has("connection refused"):
		return ": start the server, or correct NATS_URL"
	}
	return ""
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return " (" + strings.TrimPrefix(err.Error(), "nats: ") + ")"
}

// redact takes user, password and token out of an address list.
func redact(urls string) string {
	if urls == "" {
		return "the embedded server"
	}
	parts := strings.Split(urls, ",")
	for i, p := range parts {
		p = strings.TrimSpace(p)
		if u, err := url.Parse(p); err == nil && u.Host != "" {
			parts[i] = u.Scheme + "://" + u.Host
			continue
		}
		if _, after, ok := strings.Cut(p, "@"); ok {
			p = after
		}
		parts[i] = p
	}
	return strings.Join(parts, ",")
}

// scrub keeps an address with its password out of an error's text.
func scrub(err error, o Options) error {
	s := err.Error()
	for p := range strings.SplitSeq(o.URL, ",") {
		s = strings.ReplaceAll(s, p, redact(p))
	}
	if s == err.Error() {
		return err
	}
	return errors.New(s)
}
