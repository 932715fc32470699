// Package app is the running service: it opens what the configuration names,
// hands each part the parts it needs, and stops them in the reverse order. It
// decides nothing by itself. An event's path, to read along:
//
//	triggers.Listener.Run    pulls a batch, decodes and decides
//	bot.Desk.Handle          opens the incident or joins it, queues capture and posts
//	capture.Runner.Run       takes the job within the budget, profiles, stores
//	bot.Desk.CaptureChanged  has the bytes analysed (report), writes the thread's next words
//	slackio.Sender.Run       makes Slack show them
//
// Serve, demo and the tests run the same App, on the same interfaces: what
// differs is only whose addresses the configuration names. A part that fails
// for a reason that can pass (Slack or Cloudflare down, NATS gone) is retried
// by that part and shown by /readyz; Run returns only for what cannot.
package app
