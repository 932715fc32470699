// Package report turns the bytes of a pprof file into what an expert would
// have written about them: figures, findings, a comparison, and the folded tree
// that the pictures are drawn from. Profile in, value out: it fetches nothing.
package report
