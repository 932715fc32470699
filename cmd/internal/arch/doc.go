// Package arch holds the architecture as a test: which package may import
// which, what may be called where, how long files and functions may be, what
// stands at the top of the repository. Each rule has its reason beside it.
//
// It is a test rather than a page of prose because prose about layout rots: a
// rule that names a package that is gone fails too. It reads source text only,
// builds nothing and refuses nothing at run time.
package arch
