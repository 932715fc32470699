// Package app is the running service: it opens what the configuration names,
// hands each part the parts it needs, and stops them in the reverse order. It
// decides nothing by itself; an event's path is in triggers, capture and bot.
//
// Serve, demo and the tests run the same App, on the same interfaces: what
// differs is only whose addresses the configuration names. A part that fails
// for a reason that can pass (Slack or Cloudflare down, NATS gone) is retried
// by that part and shown by /readyz; Run returns only for what cannot.
package app
