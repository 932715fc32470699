// Package triggers turns Workers Observability events into decisions: is this
// record an overload, an exceeded memory or CPU limit, or something that only
// reads like one; which Worker or Durable Object is meant; and what follows.
//
// It holds the nouns (Event, Target, Decision) and the pure rules. It imports
// no network library: messages come through Source, decisions leave through
// Sink, and time is an argument. The Listener joins the two.
//
// An overload is thrown where the object was called. The record that carries it
// therefore usually names the caller, and the caller is never profiled in its
// place: a Decision says by which evidence its target is known (Attribution),
// and is a report without a capture when there is none. The Index names the
// object that a caller could not, or says that it does not know.
//
// # Reading
//
// A message is one event, an array of them or NDJSON, in six shapes that are
// told apart by their keys. It is checked first, in one pass that allocates
// nothing: valid JSON, at most 64 levels deep. What is read afterwards is
// bounded before it is built: 64 exceptions and 256 log lines of a record, 8 KiB
// of each text. A part that is no event becomes a DecodeError with a typed
// reason, beside the good ones.
//
// The scan notes where the fields of a TraceItem stand, so that the shape that
// comes most is not walked twice. The other shapes are walked by gjson. Measured
// on 1.1 KB (processor time, one core): checking 1.1 µs (encoding/json 5.9,
// gjson 1.4); reading a record with encoding/json 11.3 µs, goccy/go-json 2.0 for
// its top level and 5 with its texts; this package takes three tenths of
// encoding/json's time with everything. goccy/go-json is not used, because each
// free-form part of a record costs another call. OTLP is walked as well: the
// official protojson builds a whole export before it can be bounded, and takes
// hexadecimal trace ids for base64; a test
// holds this reader to it on what both can read.
//
// In a storm most TraceItems are alike but for their times and requests. The
// Listener remembers what was decided of them, by every byte that a decision is
// made from; the like of one joins its incident without being decoded. What is
// counted (time, version, route, colo, size) is read of each: nothing is
// sampled. Tests hold this to decoding and deciding.
//
// # Load lines
//
// The index needs the healthy invocations of Durable Objects too. The Tail
// Worker sums them up, and sends one compact line per object and batch:
//
//	{"snapflame":"load","scriptName":"room-api","scriptVersion":"9f1c…","entrypoint":"RoomObject",
//	 "durableObjectId":"3fa1…","cpuMs":812.5,"wallMs":4000,"count":40,"errors":2,
//	 "from":1796020330000,"to":1796020331000}
//
// cpuMs and wallMs are sums over count invocations, of which errors ended
// otherwise than "ok"; from and to are in milliseconds since 1970. Such a line is an event of
// class none with Count invocations; only the index takes it in.
//
// # What it refuses
//
// It does not guess: an unknown outcome is kept and is of no class; several
// logged ids name nobody; an index without coverage answers nobody. It does not
// validate names: whoever shows one escapes it.
package triggers
