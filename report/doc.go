// Package report turns the bytes of a pprof file into what an expert would
// have written about them: figures, findings, a comparison, and the folded tree
// that the pictures are drawn from. Profile in, value out: it fetches nothing.
//
// # How a file becomes a report
//
// gunzip (bounded), then a scan of the protobuf that counts before it makes any
// table, then a fold: samples whose stacks have the same encoded bytes are one,
// and only the few thousand distinct ones are ever decoded. google/pprof's
// ParseData alone takes three times as long as all of it, and ten times the
// memory for a minute of samples; it stays as the oracle (the fuzz test holds
// the reader to it, CheckValid included).
//
// # What the figures mean
//
// V8 gives the first sample after a wait the whole wait, on whatever frame it
// lands. So the time of one sample is capped (5 ms, times its count), and what
// the cap takes off is said. Busy is what is left without (idle) and (program).
// A function is name, file and line; the line is where it is defined, as V8
// does not say where in it the time went. Inlined functions and most built-ins
// have no frame: "in or called by" is as much as can be said.
//
// # What a comparison means
//
// Samples a millisecond apart belong to one request and are not independent.
// Compare cuts busy time into blocks, takes from the difference between blocks
// how many independent samples a capture is worth, and calls a change only when
// its interval excludes zero against every baseline. testdata/comparison.txt
// has the measured error rates, testdata/bench.txt the speed.
//
// # What it refuses
//
// Anything that is no profile, in one sentence that says what it is and what to
// do (InputError); files beyond the bounds of one capture; comparing CPU with
// heap; interpreting shares of fewer than 100 samples; guessing a source
// position that the map does not give.
package report
