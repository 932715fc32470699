// Package capture profiles one Worker or Durable Object, once, at the right
// moment: it plans, waits for its turn within the limits, asks the API, checks
// and stores the bytes before anything else happens to them.
//
// It holds the nouns (Target, Job, Record, Failure, Budget, Plan) and the Runner
// that drives them. It imports no network library: the API is capture/cloudflare,
// the queue and the store are the interfaces of seams.go, time is an argument.
//
// # Why it is so
//
// Asking for a profile is the one step that cannot be taken back: it takes the
// lock of an isolate that may be overloaded, and its answer exists nowhere else.
// So the record says "started" before the request leaves, no request is
// repeated by a client, and a record that still says "started" when its job
// comes back means that the answer died with a process: it is asked for once
// more, after start + duration + spacing, and the thread says so. A second loss
// is the end of it.
//
// All replicas share one Budget, changed by compare-and-set: the spacing of a
// target runs from the end of its last capture; every request counts against
// the hour, refused ones too, as Cloudflare's own limit may count them. A 429 or
// an outage holds everybody back. One lost answer does not, but from then on one
// capture at a time finds out whether it was an outage. A job that must wait is
// told its time and cause, and that time looks past the more urgent jobs before
// it, so that a long queue drains without being scanned again and again.
//
// Clocks are those of the machines. One that is set back makes captures wait, up
// to five minutes of it are believed; one that jumps ahead by more than the
// spacing takes the spacing with it.
//
// # What it refuses
//
// The version "latest", a second try of what may have run without the spacing,
// bytes that are not a whole profile (nothing of them is kept), a follow-up
// beyond the plan, and a baseline that could delay an incident.
package capture
