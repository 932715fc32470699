// Command snapflame profiles Cloudflare Workers and Durable Objects the moment
// they are overloaded or run out of memory or CPU time, and puts what it found
// into a Slack thread.
//
//	snapflame demo      the whole thing without any account
//	snapflame serve     the service
//	snapflame help      every command
//
// Errors are one line on standard error, logs go to standard error, results to
// standard output. Exit codes: 0 done, 1 failed, 2 wrong usage or configuration.
// SIGINT and SIGTERM end a command in order; a second one ends it at once.
package main
