// Package demo is the main job without an account: the real service on a
// simulated Cloudflare and a simulated Slack over loopback, real recorded
// profiles, and a storm of events in the shapes that Tail Workers send.
//
// Nothing in it knows what the service will say. It feeds events in where a
// Tail Worker does, waits until the workspace has what a responder would look
// for, and reads threads and pictures back as a person would.
package demo
