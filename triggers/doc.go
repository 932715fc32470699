// Package triggers turns Workers Observability events into decisions: is this
// record an overload, an exceeded memory or CPU limit, or something that only
// reads like one; which Worker or Durable Object is meant; and what follows.
//
// It holds the nouns (Event, Target, Decision) and the pure rules. It imports
// no network library: messages come through Source, decisions leave through
// Sink, and time is an argument.
//
// An overload is thrown where the object was called. The record that carries it
// therefore usually names the caller, and the caller is never profiled in its
// place: a Decision says by which evidence its target is known (Attribution),
// and is a report without a capture when there is none.
package triggers
