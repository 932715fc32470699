// Package pprofui serves google/pprof's own web interface for stored captures,
// for people who know it: flame graph, top and peek, with focus and filters.
//
// It mounts a copy rebuilt from the report's folded tree: busy samples only,
// capped, merged, one per call path. The stock driver parses its profile again
// on every request, which costs 0.5 GB for an unmerged capture and 3 MB for
// this copy; and the bytes that somebody else sent never reach its parser.
// Names get their module in front, because that interface colours by package
// and a JavaScript profile is one pink surface without it.
//
// What it refuses, each a real hole of the stock handlers in a shared service:
// /source and /disasm (read any file of the machine that a profile names),
// /saveconfig and /deleteconfig (GETs that write one settings file for all
// users), /graph (runs dot without a time limit), /download (hands out the
// rebuilt copy; the stored file is the API's to give), symbolisation, fetching
// by name, and every option by flag, since the driver's settings are global to
// the process.
package pprofui
