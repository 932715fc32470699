// Package capture profiles one Worker or Durable Object, once, at the right
// moment: it plans, waits for its turn within the limits, asks the API, checks
// and stores the bytes before anything else happens to them.
//
// It holds the nouns (Target, Job, Record, Failure, Budget) and the Runner that
// drives them. It imports no network library: the API is capture/cloudflare,
// the queue and the store are the interfaces of seams.go, time is an argument.
package capture
