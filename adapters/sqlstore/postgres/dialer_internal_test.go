//go:build linux

package postgres

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

func TestConnectionsEndSoonAfterTheirNetwork(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	conn, err := newDialer(nil).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		t.Fatalf("the connection is a %T", conn)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		for name, want := range map[int]int{unix.TCP_USER_TIMEOUT: int(networkTimeout.Milliseconds()), unix.TCP_KEEPIDLE: int(networkTimeout.Seconds() / 2)} {
			if got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, name); err != nil || got != want {
				t.Errorf("option %d is %d, %v; want %d", name, got, err, want)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
}
