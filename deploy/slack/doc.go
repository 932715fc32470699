// Package slack holds the manifests of the Slack app, one for Socket Mode and
// one for HTTP, as they are pasted into Slack's page for new apps, and says of
// every permission in them what it is for.
//
// They are embedded so that the doctor can compare what a workspace granted
// with what this very version uses. A manifest that stands only in a document
// drifts from the code; here a test holds the two to each other, and each scope
// to a sentence.
//
// It refuses scopes that nothing calls: no reading of channels, no list of
// people, no reactions. Reading a channel's history is left to those who want
// it (see Extras).
package slack
