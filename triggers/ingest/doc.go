// Package ingest is the HTTP door of the events queue: Tail Workers, Logpush
// jobs, OTLP destinations and Notifications webhooks post here, and each answer
// says what became of the events. 202 means that JetStream has acknowledged
// them, so a sender may forget them.
//
// It judges nothing: a body is bounded, unpacked, cut into messages that fit
// the queue, and published. What an event means is decided by whoever pulls it,
// so an event takes one path whether it came by HTTP or by NATS, and a bad one
// reaches the dead letters with its reason instead of failing its neighbours.
//
// It refuses everything without a token, bodies beyond MaxBody before they are
// read, and encodings it does not know.
package ingest
