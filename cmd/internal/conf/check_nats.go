package conf

import (
	"strings"
	"time"
)

func (k *checker) nats() {
	n := k.c.NATS
	if !stream.MatchString(n.Stream) {
		k.fail("nats.stream", "%q is not a stream name; use letters, digits, - and _", n.Stream)
	}
	if len(n.Subjects) == 0 {
		k.fail("nats.subjects", "names no subject; write workers.events.>")
	}
	for _, s := range n.Subjects {
		if !subjectRE.MatchString(s) {
			k.fail("nats.subjects", "%q is not a subject; write words joined by dots, such as workers.events.>", s)
		} else if strings.HasPrefix(s, "snapflame.") || strings.HasPrefix(s, "$") {
			k.fail("nats.subjects", "%q is snapflame's own; ingest another subject", s)
		}
	}
	if n.Replicas < 1 || n.Replicas > 5 {
		k.fail("nats.replicas", "is %d; NATS takes 1 to 5, usually 3", n.Replicas)
	} else if n.Replicas > 1 && !n.External() {
		k.fail("nats.replicas", "is %d, but the embedded server stands alone; set nats.url or nats.replicas: 1", n.Replicas)
	}
	if !n.External() {
		if n.StoreDir == "" {
			k.fail("nats.store_dir", "is empty; name a folder for the embedded server's files")
		}
		if !loopback(n.Listen) && !n.Token.IsSet() {
			k.fail("nats.listen", "%s is reachable from outside and has no token; set nats.token or listen on 127.0.0.1", n.Listen)
		}
	}
	if (n.TLSCert == "") != (n.TLSKey == "") {
		k.fail("nats.tls_cert", "and nats.tls_key belong together; set both or none")
	} else {
		k.files()
	}
	if n.MaxBytes < 64<<20 {
		k.fail("nats.max_bytes", "is %s; use at least 64MiB", n.MaxBytes)
	}
	if n.MaxAge.Duration() < time.Minute {
		k.fail("nats.max_age", "is %s; use at least 1m", n.MaxAge)
	}
}

// files looks at the files that the NATS client will read.
func (k *checker) files() {
	n := k.c.NATS
	for _, f := range []struct{ key, name string }{
		{"nats.creds", n.Creds}, {"nats.nkey", n.NKey}, {"nats.tls_ca", n.TLSCA}, {"nats.tls_cert", n.TLSCert}, {"nats.tls_key", n.TLSKey},
	} {
		if f.name == "" {
			continue
		}
		if _, err := readBounded(f.name); err != nil {
			k.fail(f.key, "%s: %v", f.name, err)
		}
	}
}
