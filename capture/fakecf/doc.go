// Package fakecf is Cloudflare's API as far as a profiling bot meets it: an
// account with Workers, versions, deployments, Durable Objects and isolates
// that come and go, behind an http.Handler that refuses what the real API
// refuses, with the same texts.
//
// Tests and the demo share it. Its zero value is an empty account that accepts
// any token. Faults are hooks: a status, an HTML page, nothing at all, half a
// gzip stream, a hang, a reset before or after the capture happened. Every
// request and every capture is kept with its times, so that a checker can say
// afterwards whether two captures came too close or the budget was passed.
//
// Cloudflare documents no HTTP status for its five profiling errors and only
// one of their codes is known (10393). The statuses here are deliberately
// unhelpful ones, so that a client that trusts statuses more than texts fails.
//
// It refuses to be lenient: what it has not been told of is a 404, never an
// invented answer. It imports nothing of this module.
package fakecf
