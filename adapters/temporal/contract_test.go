package temporal

import (
	"net"
	"os"
	"testing"

	"github.com/sluicehq/sluice/ports/portstest"
)

func TestTemporalIsAnEngine(t *testing.T) {
	t.Parallel()
	newServer(t) // skips the test where there is none
	portstest.Engine(t, func(t *testing.T) portstest.EngineUnderTest {
		s := newServer(t)
		return portstest.EngineUnderTest{
			Open: func(t *testing.T) (portstest.EngineProcess, func()) {
				e := s.open(os.Getenv("SLUICE_TEST_TEMPORAL"))
				t.Cleanup(e.Close)
				return e, e.Close
			},
			Away: s.open(silentServer(t)),
		}
	})
}

// silentServer is the address of a server that takes connections, and says nothing.
func silentServer(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}
