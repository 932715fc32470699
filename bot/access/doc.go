// Package access decides who may read the pages and the API. There are two
// keys: the bearer token of api.token, and links that the bot signs when it
// posts them into Slack. Whoever can read the channel can open the link, and
// nobody else: without a signature there is no page, not even an empty one.
//
// A signed link names one path and expires. Opening it starts a session, a
// signed cookie that reads pages for a working day, because a responder goes on
// from the incident to its captures. A session from a link reads; only the
// token starts captures from a page, for a link does not say who clicked it.
//
// Why HMAC and not stored sessions: any replica checks them, and a restart
// signs nobody out. It refuses tokens in query strings, which end up in logs
// and Referer headers.
package access
