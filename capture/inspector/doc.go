// Package inspector takes the same capture from a workerd or `wrangler dev` on
// this machine, through the DevTools protocol: fixes are proven locally, not by
// load on production.
//
// CPU is sampled at 1 ms, and allocations every 512 KiB with the objects that
// the collector has taken since, which is what Cloudflare's own captures hold
// ("allocations, not retained memory"). What V8 gives as JSON is written as pprof
// of the same form: one record per sample, the value of a CPU sample is the time
// since the one before.
//
// Locally a Durable Object has no profile of its own: its class shares the
// isolate of the Worker that defines it, and that isolate is the target. There
// are no versions either. How many objects a heap sample stands for cannot be
// known from the protocol, so each counts as one.
//
// It refuses to choose between several targets: their names are in the error.
package inspector
