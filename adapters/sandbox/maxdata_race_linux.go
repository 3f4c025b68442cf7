//go:build race

package sandbox

// maxData is how much memory the process can have, in bytes. The race detector takes several times what the code takes.
const maxData = 4 << 30
