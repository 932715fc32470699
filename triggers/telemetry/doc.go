// Package telemetry is a source of events for accounts without a Tail Worker:
// it asks Workers Logs every few seconds for records of overloads and exceeded
// limits, and puts each one into the events queue, from where it takes the same
// path as any other event.
//
// # Windows
//
// A poll asks for all that happened from shortly before the end of the last
// window until now, so that no moment lies between two windows. Records become
// visible some seconds after they happened, in no order; once a minute the
// window therefore reaches five minutes back. What was published is remembered
// by the hash of its $metadata.id for as long as it can be read again, and is
// passed over then. When more is published than can be remembered, the window
// is cut off at what was forgotten: a record is rather missed than told twice.
//
// Progress is stored after every page, with compare-and-set, so that another
// replica goes on where this one stopped. The id is also the queue's message
// id: what was published by a process that died before it stored its progress
// is recognised by the queue, for the 30 s that the queue remembers.
//
// # Limits
//
// Cloudflare allows 1,200 calls in five minutes for everything that an account's
// user does, the dashboard included, and refuses everything for the next five
// when they are used up. A poller takes at most a tenth of them, and waits as
// long as a 429 says.
//
// # What it refuses
//
// It judges no record: what one means is decided by whoever pulls the queue.
// It asks for trouble only, never for healthy invocations, whose number has no
// bound here; the hot-object index needs a Tail Worker's load lines. It does not
// fetch what happened more than 15 minutes ago, however long nobody polled: an
// incident bot has nothing to capture of it.
package telemetry
