// Package api is the JSON face of the cases: what scripts and dashboards read,
// and one way to start a capture. Its shape is the contract's, written down in
// openapi.yaml, which a test holds to the routes and fields here.
//
// It reads through small interfaces and checks nothing about who asks: package
// access stands in front. It refuses unknown parameters, because a misspelt
// filter that is ignored shows somebody the wrong incidents at 3 am.
package api
