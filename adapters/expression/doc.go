// Package expression compiles what workflows compute with: [Checker] checks expressions
// and templates when a version is published, [Compiler] compiles them for runs. The
// language itself is package language.
//
// In a template, expressions stand between {{ and }}. A text that is one {{ }} gives the
// value itself, any other one a string. In a template that gives a URL, the value of an
// expression at the beginning is taken as it is, and any other one cannot leave the place
// where it stands ([run.URLTemplate]).
package expression
