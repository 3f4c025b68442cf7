//go:build !unaccounted

package run

// Accounted says whether memory, computing and storage are accounted for. Builds with the tag unaccounted are there
// to measure what that costs, and for nothing else: a tenant can bring them down.
const Accounted = true
