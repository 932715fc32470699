// Package conf reads the configuration: defaults, then a YAML file, then the
// environment, which wins.
//
// Every key stands once, as a field of Config with its default, its meaning and
// its ecosystem name in the tags. The environment variables, `config show`, the
// list of known keys behind "did you mean" and deploy/CONFIGURATION.md all come
// from those tags, so that none of them can disagree with the program.
//
// The YAML is walked node by node instead of being decoded into the struct:
// an unknown key, a wrong type or a value out of its limits is then told with
// file, line, full key and fix, in one line, and YAML and environment share one
// reading of durations, sizes and lists.
//
// It refuses keys it does not know, values that contradict one another, and to
// print a secret: Secret shows itself as [redacted] to fmt, JSON, YAML and logs.
package conf
