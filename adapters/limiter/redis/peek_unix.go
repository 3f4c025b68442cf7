//go:build unix && !aix

package redis

import (
	"errors"
	"net"
	"syscall"
)

// peeker returns what says whether a connection that awaits nothing is as good as it
// was: it has neither ended nor received anything, which would be an alert, or the
// answer to a question that was given up. It asks the system and not the server.
func peeker(socket net.Conn) (quiet func() bool) {
	never := func() bool { return false }
	system, ok := socket.(syscall.Conn)
	if !ok {
		return never
	}
	raw, err := system.SyscallConn()
	if err != nil {
		return never
	}
	var nothing bool
	var buf [1]byte
	peek := func(fd uintptr) {
		// The descriptor does not block.
		_, _, err := syscall.Recvfrom(int(fd), buf[:], syscall.MSG_PEEK)
		nothing = errors.Is(err, syscall.EAGAIN)
	}
	return func() bool {
		nothing = false
		// Control does not mind a deadline that has passed since the last use, as Read does.
		return raw.Control(peek) == nil && nothing
	}
}
