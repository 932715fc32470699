// Package bot holds the conversation: one case per incident, what its thread
// says, and the words people type. It is pure: no Slack, no NATS. A Case is the
// state machine incident → capture → report → thread; the Desk drives it; a
// Card is what a message says, whatever renders it.
package bot
