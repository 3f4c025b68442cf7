package postgres

import (
	"errors"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// setUserTimeout bounds how long what was sent over TCP may stay unacknowledged
// (TCP_USER_TIMEOUT, RFC 5482 and tcp(7)).
func setUserTimeout(network, _ string, socket syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := socket.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(networkTimeout.Milliseconds()))
	})
	return errors.Join(err, failed)
}
