//go:build noconsole

package console

// New returns nil: the binary has no console.
func New(func() string) Pages { return nil }
