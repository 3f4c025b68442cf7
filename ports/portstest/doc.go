// Package portstest holds one contract suite for each outbound port. Every adapter
// runs the suites of the ports it implements; each case is a sentence of a port's
// comment. No port changes without its suite.
package portstest
