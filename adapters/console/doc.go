// Package console serves the console's pages: what web/ is built into, which lies in dist/. The tag noconsole leaves it out of
// the binary.
package console
