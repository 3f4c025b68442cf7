//go:build !race

package sandbox

// maxData is how much memory the process can have, in bytes: what Go takes, the greatest
// memory of code, and what it looks at in several copies. Go cannot do with a limit of its
// addresses, of which it reserves many.
const maxData = 256 << 20
