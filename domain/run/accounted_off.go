//go:build unaccounted

package run

// Accounted is false: see the other one.
const Accounted = false
