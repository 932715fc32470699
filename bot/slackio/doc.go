// Package slackio is Slack's door, in and out.
//
// The Sender takes posts from a Queue and makes Slack show them: each once, in
// order within its thread, the newest content of each. It claims a post in the
// Ledger before it sends and records where it stands afterwards, so that a
// process that dies in between leaves a question and not a second message; the
// question is settled by the key in the message's metadata. Slack being down
// closes one gate for everything; nothing is skipped meanwhile, so order needs
// no repair afterwards.
//
// The Receiver takes what people do in Slack, over signed HTTP or Socket Mode,
// acknowledges it at once and hands it to a Handler as a bot.Request.
//
// It refuses: unsigned, old and oversized requests; a request seen before;
// retrying what Slack refused for a reason; resending a message whose first
// send may have arrived, more than once.
package slackio
