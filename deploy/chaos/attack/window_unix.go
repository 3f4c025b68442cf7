//go:build unix

package attack

import "syscall"

// narrowWindow lets a connection buffer as little as possible, so that what is not read
// stays with the gateway.
func narrowWindow(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) // a larger one only weakens the attack
	})
}
