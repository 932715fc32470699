// Package sourcemap turns positions of a bundle into positions of its sources.
//
// Why an own decoder: go-sourcemap panics on a source index out of range and
// takes characters that are no base 64; a map comes from a deployment and may
// hold anything. A hundred lines refuse both, and keep only what a lookup
// needs: sources and segments, 12 bytes each. The library stays as the oracle
// of the tests.
//
// What it refuses: maps over 32 MiB, index maps with sections, guesses. Where a
// line of the bundle holds code of many lines (it is minified) and the profile
// has no column, it says so instead of taking the first function of the line.
package sourcemap
