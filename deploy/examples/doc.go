// Package examples tests the example services below it, one in Go and one in Node,
// end to end against the gateway's real binary: see README.md, and make examples.
package examples
