// Package jet is the one engine: NATS JetStream as queue, database and file
// store, embedded in the process or on an external cluster, with the same code
// for both. It implements the small interfaces that triggers, capture and bot
// declare; nothing else in the program speaks NATS.
//
// What it keeps, and why so:
//
//   - events come from one stream through one durable consumer with explicit,
//     bounded acknowledgement. The stream refuses when it is full (DiscardNew),
//     so that a sender is told instead of an event being dropped; what has been
//     handled is trimmed early, so that it is full only of work not done. A
//     stream that somebody else made is used and never altered or trimmed.
//   - jobs stand in a work queue with one message per target: the server
//     refuses the second, which makes a storm one capture with any number of
//     replicas.
//   - the outbox holds one message per key and the latest wins.
//   - incidents, records, budget and small state are key-value buckets that are
//     changed by compare-and-set only. Reads go to the leader when the bucket is
//     replicated: a stale read would only cost a lost compare-and-set, but in
//     loops.
//   - leases are keys with a time to live, renewed with an expected revision.
//
// Pulling is done here and not by the client library's Consume: in v1.55.0 that
// can stop for up to 30 s with work pending. The requests are heart-beaten, and
// a silent one is replaced within about a second. Single messages are asked for
// through an inbox of our own, as the client's Request drops a delivery when two
// requests are under way (see asker).
//
// With replicas, what was stored a moment ago may be delivered, listed or
// watched a moment later, as a consumer can live on a server that is behind.
// Reads of one key, record or file, and every compare-and-set, are current.
//
// What it refuses: a store folder that another process has open, listening
// beyond loopback without a token, an existing stream that cannot do the job
// (with a sentence that says why), and publishing when the disk is nearly full.
// It never asks for persist_mode=async: that loses acknowledged messages.
package jet
