// Package cloudflare asks Cloudflare's API for profiles, and for what must be
// known before: who owns a Durable Object, which version serves.
//
// The profiling call is written by hand: no SDK has it (cloudflare-go v7.9.0),
// and generated clients repeat a request that timed out, which would profile an
// overloaded object twice. The few other calls share its code; cloudflare-go
// for six GET endpoints would add more weight than it saves.
//
// Failures are told apart by Cloudflare's text first, then its code, then the
// HTTP status: the documentation gives texts only. A body is bounded before it
// is read and looked at before it is believed.
//
// It refuses the version `latest` (the newest upload need not be deployed), and
// it refuses to guess an owner: an object that no namespace is known to have is
// a failure that says so. Redirects are not followed, so that the token goes to
// nobody else.
package cloudflare
