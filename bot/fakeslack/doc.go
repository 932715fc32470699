// Package fakeslack is a Slack workspace that runs in the process: a server
// with state, which refuses what Slack refuses and shows itself as a page.
//
// Tests drive it, the demo is watched through it. It speaks the Web API, file
// uploads in three steps, response URLs, Socket Mode and signed HTTP requests,
// and it knows the rules that break bots in production: limits of Block Kit,
// scopes, threads whose parent is gone, pictures that appear late, trigger ids
// that live for three seconds. Faults are injected per method.
//
// A mention or link that nobody allowed is recorded as a violation: names of
// Workers and functions are chosen by strangers.
//
// It knows nothing of the bot: only Slack's wire format. That is why its block
// limits are written here a second time; were they shared with the renderer,
// one mistake would pass both.
//
// It refuses to guess: a method, a block or a parameter it does not know is
// an error.
package fakeslack
